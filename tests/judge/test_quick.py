"""The quick comparison of autotune configurations, and runs that are given up."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.evaluator import Limits, Machine
from equivalence.evaluator.frame import OutOfTime
from equivalence.judge.quick import same_terms
from lowering.ir.builder import Builder
from lowering.ir.program import Block, Program
from lowering.ir.types import F32, TensorType

X = np.linspace(-1, 2, 64, dtype=np.float32)


def total(pieces: int, scale: float = 1.0) -> Program:
    """The sum of x in ``pieces`` partial sums, times ``scale`` in the last one."""
    b = Builder()
    x = b.value(TensorType(F32, (64,)))
    b.block = Block([x])
    rows = b("reduce", b("reshape", x, shape=(pieces, 64 // pieces)), axis=1, combine="add")
    rows = b("mul", rows, b.like(scale, rows)) if scale != 1.0 else rows
    return Program(b.block, ["x"], [("out0", b("reduce", rows, axis=0, combine="add"))])


def test_another_grouping_has_the_same_terms() -> None:
    assert same_terms(total(4), total(8), {"x": X}, 0)


def test_another_factor_has_not() -> None:
    assert not same_terms(total(4), total(4, 1.5), {"x": X}, 0)


def test_a_run_past_its_deadline_is_given_up() -> None:
    program = total(4)
    body = Builder()
    with body.into(program.body):
        for _ in range(64):
            body.op("constant", to="f32", value=1.0)
    with pytest.raises(OutOfTime, match="--timeout"):
        Machine(program, (), limits=Limits(deadline=0.0)).run({"x": X})
