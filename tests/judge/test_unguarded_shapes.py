"""What fails at other shapes than the given ones: an error where B alone does, scope where A does or sizes part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equivalence.judge import judge
from equivalence.verdicts import Level, Report
from irverify.exits import exit_code_of
from lowering.ir.builder import Builder
from lowering.ir.program import Program
from lowering.ir.types import F32, I32, TensorType
from tests.semantics.programs import arrays, options


def twice(rows: tuple[int, int], written: int) -> Program:
    """x0 + x0; what lies behind the first ``written`` elements is what its memory held."""
    b = Builder()
    x, y = (b.value(TensorType(F32, (n,))) for n in rows)
    b.block.args = [x, y]
    inside = b.cmp("lt", b.index(x.type.shape, 0, I32), b.constant(written, I32, x.type.shape))
    garbage = b("undefined", to="f32", shape=x.type.shape)
    return Program(b.block, ["x0", "x1"], [("out0", b("select", inside, b("add", x, x), garbage))])


def compared(at: tuple[int, int], a: int, b: int) -> Report:
    """At 8 elements, which either side writes in full, then at ``at``."""
    every = [((8, 8), 8, 8), (at, a, b)]
    with np.errstate(all="ignore"):
        return judge(
            [twice(rows, written) for rows, written, _ in every],
            [twice(rows, written) for rows, _, written in every],
            [arrays(1, *(f"f32[{n}]" for n in rows)) for rows, *_ in every],
            options(),
        )


def said(report: Report) -> list[tuple[str, str]]:
    return [(found.code, found.severity) for found in report.findings if found.code.endswith("-shape")]


def test_what_b_alone_leaves_undefined_is_its_error() -> None:
    report = compared((9, 9), 9, 8)
    assert report.verdict.level is Level.BITWISE and exit_code_of(_required(report)) == 1
    assert said(report) == [("unguarded-shape", "error")]


@pytest.mark.parametrize(("at", "a", "b"), [((9, 9), 8, 9), ((9, 9), 8, 8), ((9, 5), 9, 8)])
def test_what_a_does_too_or_sizes_that_part_are_scope(at: tuple[int, int], a: int, b: int) -> None:
    report = compared(at, a, b)
    assert report.verdict.level is Level.BITWISE and exit_code_of(_required(report)) == 0
    assert said(report) == [("specialised-shape", "warning")]


def test_nothing_is_said_where_all_is_written() -> None:
    assert said(compared((9, 9), 9, 9)) == []


def _required(report: Any) -> Report:
    report.require = Level.REAL
    return report
