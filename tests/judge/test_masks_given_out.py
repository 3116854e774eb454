"""A mask (-1e30) that is part of an output: no f32 is the decimal, and the nearest one is no contradiction."""

from __future__ import annotations

import pytest

from equivalence.verdicts import Level
from lowering.ir.program import Value
from tests.semantics.programs import Body, Kit, judged

SPEC = "f32[3,4]"


def masked(fill: float) -> Body:
    def body(k: Kit, x: Value) -> Value:
        return k.where(k.b.cmp("ge", k.b.index((3, 4), 0), k.b.index((3, 4), 1)), x, fill)

    return body


@pytest.mark.parametrize("fill", [-1e30, -3.1e20, -1.1e9])
def test_the_same_mask(fill: float) -> None:
    report = judged(masked(fill), masked(fill), SPEC)
    assert report.verdict.level is Level.BITWISE and not report.findings


def test_another_mask_is_another_output() -> None:
    assert judged(masked(-1e30), masked(-1.1e30), SPEC).verdict.level is Level.DIFFERENT
