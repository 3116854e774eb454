"""What only derived inputs show: outputs that stay unwritten there, branches that follow data and are never taken."""

from __future__ import annotations

import pytest

from lowering.ir.program import Program
from tests.semantics.programs import EQUAL, Level, launched, level

V = "f32[8]"


def stored(below: float | None) -> Program:
    """A copy that leaves out elements whose magnitude is ``below`` or more."""

    def body(k, x, out):
        value = k.load(x, k.lanes(8))
        mask = () if below is None else (k.cmp("lt", k.b("abs", value), below),)
        k.store(out, k.lanes(8), value, *mask)

    return launched(body, V, out=V)


@pytest.mark.parametrize("below", [1e3, 1e6])
def test_an_output_that_large_values_leave_unwritten(below: float) -> None:
    assert level(stored(below), stored(None), V) is Level.DIFFERENT
    assert level(stored(None), stored(below), V) is Level.DIFFERENT


def test_an_output_that_both_leave_unwritten_is_no_equality() -> None:
    assert level(stored(1e3), stored(1e3), V) not in EQUAL
    assert level(stored(None), stored(None), V) is Level.BITWISE


def halved_where_all_are(above: float | None) -> Program:
    """Twice each element, but the element itself where the least of them is ``above`` the threshold: a branch."""

    def body(k, x, out):
        value = k.load(x, k.lanes(8))
        k.store(out, k.lanes(8), k.mul(value, 2.0))
        if above is None:
            return
        least = k.b("reduce", value, axis=0, combine="min")
        then, other = k.b.region([], list), k.b.region([], list)
        with k.b.into(then):
            end = then.ops.pop()
            k.store(out, k.lanes(8), value)
            then.ops.append(end)
        k.b.op("if", [k.cmp("gt", k.mul(least, 1.0 / 3.0), above)], regions=[then, other])

    return launched(body, V, out=V)


def test_a_branch_that_follows_data_is_not_dismissed() -> None:
    """Freeing the comparison moves nothing: control follows the concrete value."""
    for a, b in ((1e5 / 3, None), (None, 1e5 / 3)):
        assert level(halved_where_all_are(a), halved_where_all_are(b), V) not in EQUAL
    assert level(halved_where_all_are(1e5 / 3), halved_where_all_are(1e5 / 3), V) in EQUAL
    assert level(halved_where_all_are(-1e5), halved_where_all_are(None), V) is Level.DIFFERENT
