"""Faces are closed where another operation sees them: sums inside maxima and maxima inside sums."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from equivalence.evaluator import Machine
from equivalence.interpretations.reassociated import Reassociated
from lowering.ir.builder import Builder
from lowering.ir.program import Block, Program
from lowering.ir.types import F32, TensorType

NAMES = ["a", "b", "c", "d"]
SWAPPED = [("a", "c"), ("b", "d")]
STRAIGHT = [("a", "b"), ("c", "d")]


def word(outer: str, inner: str, groups: list[tuple[str, str]]) -> int:
    b = Builder()
    values = {name: b.value(TensorType(F32, (1,))) for name in NAMES}
    b.block = Block(list(values.values()))
    result = b(outer, *(b(inner, values[x], values[y]) for x, y in groups))
    program = Program(b.block, NAMES, [("out0", result)])
    inputs = {name: np.ones(1, np.float32) for name in NAMES}
    planes = Machine(program, [Reassociated(0)]).run(inputs).outputs["out0"].planes
    assert planes is not None
    return int(planes["reassociated"].reshape(-1)[0])


@pytest.mark.parametrize(("outer", "inner"), itertools.permutations(["add", "max", "min"], 2))
def test_terms_do_not_cross_operations(outer: str, inner: str) -> None:
    assert word(outer, inner, STRAIGHT) != word(outer, inner, SWAPPED)


@pytest.mark.parametrize("op", ["add", "max", "min"])
def test_one_operation_forgets_its_order(op: str) -> None:
    assert word(op, op, STRAIGHT) == word(op, op, SWAPPED)
