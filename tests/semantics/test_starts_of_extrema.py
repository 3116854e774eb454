"""Running extrema from a number: the last one of the format is no bound, any other is one that some input passes."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.verdicts import Level
from lowering.ir.program import Value
from tests.semantics.programs import Body, Kit, judged, level

X = "f32[5,7]"
LOWEST = float(np.finfo(np.float32).min)


def extremum(kind: str) -> Body:
    return lambda k, x: k.b("reduce", x, axis=1, combine=kind)


def running(kind: str, start: float) -> Body:
    """Column by column, from ``start``."""

    def body(k: Kit, x: Value) -> Value:
        columns = k.columns(x)
        total = k.lit(start, columns[0])
        for column in columns:
            total = k.b(kind, total, column)
        return total

    return body


def padded(kind: str, value: float) -> Body:
    def body(k: Kit, x: Value) -> Value:
        wide = k.b("concat", x, k.b.constant(value, x.type.dtype, (5, 3)), axis=1)
        return k.b("reduce", wide, axis=1, combine=kind)

    return body


@pytest.mark.parametrize("start", [running, padded])
def test_the_last_number_of_the_format(start) -> None:
    assert level(extremum("max"), start("max", LOWEST), X) is Level.REAL
    assert level(extremum("min"), start("min", -LOWEST), X) is Level.REAL


@pytest.mark.parametrize("value", [-9984.0, -1e4, -1e30, LOWEST / 2])
def test_any_other_number_has_inputs_below_it(value: float) -> None:
    report = judged(extremum("max"), running("max", value), X)
    assert report.verdict.level is Level.DIFFERENT
    assert report.witness is not None and float(report.witness.inputs["x0"][report.witness.index].max()) < value


def test_the_wrong_end() -> None:
    assert level(extremum("min"), running("min", LOWEST), X) is Level.DIFFERENT
    assert level(extremum("max"), running("max", -LOWEST), X) is Level.DIFFERENT


def test_the_last_number_of_a_narrower_format() -> None:
    """bf16 ends before f32 does."""
    assert level(extremum("max"), running("max", -3.3895313892515355e38), X) not in (Level.REAL, Level.REASSOCIATED)


def test_both_sides_from_one_number() -> None:
    assert level(padded("max", -1e4), running("max", -1e4), X) is Level.REAL


def test_a_mask_below_the_start_counts() -> None:
    """Lanes of minus infinity alone: one side gives the start, the other minus infinity."""

    def masked(body: Body) -> Body:
        return lambda k, x, y: body(k, k.where(k.cmp("gt", y, 0.0), x, -np.inf))

    assert level(masked(extremum("max")), masked(running("max", LOWEST)), X, X) is Level.DIFFERENT
