"""Integers and truth values decided in a narrow format: equal as real functions, and not equal enough."""

from __future__ import annotations

import pytest

from equivalence.verdicts import Level
from tests.semantics.programs import Body, Kit, judged

SPEC = "f32[40,50]"


def binned(scale: float, to: str | None = None) -> Body:
    """scale x cut to an integer, by way of ``to``."""

    def body(k: Kit, x):
        y = k.mul(x, scale) if to is None else k.cast(k.mul(k.cast(x, to), scale), "f32")
        return k.cast(y, "i32", rounding="rtz")

    return body


def above(to: str | None = None) -> Body:
    def body(k: Kit, x):
        return k.cmp("gt", x if to is None else k.cast(x, to), 0.5)

    return body


def lost(a: Body, b: Body) -> tuple[Level, list[str]]:
    report = judged(a, b, SPEC)
    return report.verdict.level, [f.message for f in report.findings if f.code == "precision-lost"]


def test_integers_by_way_of_a_narrow_format() -> None:
    level, [said] = lost(binned(8.0), binned(8.0, "bf16"))
    assert level is Level.REAL and said.startswith("rounding may move") and "of B's out0" in said and "bf16" in said


def test_truth_values_too() -> None:
    level, [said] = lost(above("bf16"), above())
    assert level is Level.REAL and "of A's out0" in said


@pytest.mark.parametrize("to", [None, "bf16"])
def test_alike_on_both_sides_is_no_loss(to: str | None) -> None:
    assert lost(binned(8.0, to), binned(8.0, to))[1] == []


def test_full_precision_loses_nothing() -> None:
    """Another order of the same f32 operations: few elements are near an edge on either side."""

    def divided(k: Kit, x):
        return k.cast(k.div(x, 0.125), "i32", rounding="rtz")

    assert lost(binned(8.0), divided)[1] == []
