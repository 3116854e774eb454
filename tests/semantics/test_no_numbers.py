"""Rows that are 0/0 on both sides are out of scope; what is 0/0 on one side, or nearly everywhere, is not."""

from __future__ import annotations

import math

import numpy as np

from equivalence.verdicts import Level
from lowering.ir.program import Value
from tests.semantics.programs import EQUAL, I32, Body, Kit, arrays, judged, level

T = "f32[5,7]"


def row(k: Kit, x: Value, combine: str) -> Value:
    return k.b.broadcast(k.b("reduce", x, axis=1, combine=combine), (5, 7), [0])


def masked(limit: float = 0.0) -> Body:
    """A softmax over the lanes whose y is above ``limit``."""

    def body(k: Kit, x: Value, y: Value) -> Value:
        return k.c.softmax(k.where(k.cmp("gt", y, limit), x, -math.inf), 1)

    return body


def factor(limit: float = 0.0, above: bool = True, guarded: bool = False, late: bool = False) -> Body:
    """The same with the mask as a factor of 0 or 1; ``late``: only after the sum."""

    def body(k: Kit, x: Value, y: Value) -> Value:
        kept = k.cmp("gt", y, limit)
        low = k.where(kept, x, -1e9)
        powers = k.fn("exp", k.sub(low if above else x, row(k, low if above else x, "max")))
        terms = k.mul(powers, k.cast(kept, "f32"))
        total = row(k, powers if late else terms, "add")
        return k.div(terms, k.max(total, 1e-30) if guarded else total)

    return body


def given(seed: int = 3) -> dict[str, np.ndarray]:
    """Some of the rows keep nothing."""
    data = arrays(seed, T, T)
    data["x0"] = np.clip(data["x0"], -1, 1)
    data["x1"][1] = -np.abs(data["x1"][1])
    return data


def test_a_mask_as_a_factor() -> None:
    assert level(masked(), factor(), T, T, data=given()) in EQUAL
    assert level(masked(), factor(), T, T) in EQUAL


def test_another_mask_or_place_of_it() -> None:
    for other in (factor(limit=0.25), factor(above=False, late=True)):
        assert level(masked(), other, T, T, data=given()) is Level.DIFFERENT


def test_a_row_that_one_side_guards() -> None:
    assert level(masked(), factor(guarded=True), T, T, data=given()) is Level.DIFFERENT


def test_too_few_numbers_show_nothing() -> None:
    data = given()
    data["x1"][1:] = -np.abs(data["x1"][1:])
    assert level(masked(), factor(), T, T, data=data) not in EQUAL


def test_an_outcome_that_only_reaches_what_is_no_number() -> None:
    def scaled(scale: float, other: float) -> Body:
        def body(k: Kit, x: Value) -> Value:
            high = k.cmp("gt", x, 50.0)
            nothing = k.where(high, k.sub(x, x), x)
            return k.mul(k.div(nothing, nothing), k.where(high, k.lit(other, x), k.lit(scale, x)))

        return body

    assert judged(scaled(2.0, 3.0), scaled(2.0, 4.0), T).verdict.level is Level.UNDECIDED


def test_what_integers_keep_from_being_numbers_was_never_compared() -> None:
    """Rows of length 0 stay so on every input; a mask of data, or of truth values, is drawn anew."""

    def rows(late: float) -> Body:
        def body(k: Kit, x: Value, lengths: Value) -> Value:
            some = k.cast(k.cmp("gt", k.b.broadcast(lengths, (5, 7), [0]), 0), "f32")
            late_row = k.cmp("ge", k.b.index((5, 7), 0, I32), 3)
            return k.mul(k.mul(x, k.div(some, some)), k.where(late_row, k.lit(late, x), k.lit(2.0, x)))

        return body

    data = {"x0": arrays(3, T)["x0"], "x1": np.array([2, 1, 3, 0, 0], np.int32)}
    assert level(rows(2.0), rows(3.0), T, "i32[5]", data=data) not in EQUAL
    assert level(rows(2.0), lambda k, *xs: k.mul(rows(2.0)(k, *xs), 1.0), T, "i32[5]", data=data) in EQUAL
