"""Inputs that are all zero or all equal show what ties make of a decision; they never make a pair equal.

There computed values tie though their residues differ, so a mismatch of residues says nothing; and what such inputs
alone have shown is then not seen.
"""

from __future__ import annotations

import pytest

from tests.semantics.programs import EQUAL, Body, level

X = "f32[5,7]"


def at_zero(value: float) -> Body:
    """Zero is replaced by a value."""

    def body(k, x):
        return k.where(k.cmp("eq", x, 0.0), k.lit(value, x), x)

    return body


def at_equal_rows(value: float) -> Body:
    """A row of equal elements is replaced by a value."""

    def body(k, x):
        most, least = (k.b("reduce", x, axis=1, combine=combine) for combine in ("max", "min"))
        flat = k.b.broadcast(k.cmp("eq", most, least), (5, 7), [0])
        return k.where(flat, k.lit(value, x), x)

    return body


@pytest.mark.parametrize("make", [at_zero, at_equal_rows])
def test_a_difference_only_there_is_found(make) -> None:
    found = level(make(1.0), make(2.0), X)
    assert found not in EQUAL


@pytest.mark.parametrize("make", [at_zero, at_equal_rows])
def test_no_alarm_without_a_difference(make) -> None:
    assert level(make(1.0), make(1.0), X) in EQUAL


@pytest.mark.parametrize("factor", [2.0, 3.0])
def test_far_inputs_are_compared_by_residues(factor: float) -> None:
    """Samples far from the given inputs may be noise; their residues are not."""

    def body(k, x, y, factor=factor):
        far = k.cmp("gt", k.b("abs", k.mul(x, y)), 900.0)
        return k.where(far, k.mul(k.sub(k.mul(x, x), k.mul(y, y)), factor), x)

    def factored(k, x, y):
        far = k.cmp("gt", k.b("abs", k.mul(y, x)), 900.0)
        return k.where(far, k.mul(k.mul(k.sub(x, y), k.add(x, y)), 2.0), x)

    assert (level(body, factored, X, X) in EQUAL) is (factor == 2.0)
