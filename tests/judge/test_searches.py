"""Inputs that are looked for: lanes where blocks meet, points where decisions turn, sizes that nobody declared."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.judge import beyond, boundaries, inputs
from equivalence.verdicts import Level
from lowering.ir.program import Value
from tests.semantics.programs import EQUAL, Body, Kit, judged, level

X = np.random.default_rng(0).standard_normal((8, 3000)).astype(np.float32)


def test_every_lane_beside_which_blocks_meet_has_its_turn() -> None:
    seen = {int(np.argmax(row)) for arrays in beyond.edges({"x": X}, [700]) for row in arrays["x"]}
    assert {0, 699, 700, 1399, 1400, 2099, 2100, 2799, 2800, 2999} <= seen
    lowest = {int(np.argmin(row)) for arrays in beyond.edges({"x": X}, [700]) for row in arrays["x"]}
    assert {0, 699, 2999} <= lowest


def all_above(forgets: int) -> Body:
    """The sum of the rows whose elements are all above -5, looked at in blocks that may forget their last lanes."""

    def body(k: Kit, x: Value) -> Value:
        blocks = [k.part(x, start, min(start + 700 - forgets, 3000)) for start in range(0, 3000, 700)]
        holds = [k.b("reduce", k.cmp("gt", part, -5.0), axis=1, combine="and") for part in blocks]
        every = holds[0]
        for one in holds[1:]:
            every = k.b("and", every, one)
        return k.where(every, k.sum(x), 0.0)

    return body


def test_a_block_that_forgets_its_last_lane() -> None:
    given = {"x0": X}
    assert judged(all_above(0), all_above(1), "f32[8,3000]", data=given).verdict.level is Level.DIFFERENT
    assert judged(all_above(0), all_above(0), "f32[8,3000]", data=given).verdict.level in EQUAL


PAIR = "f32[16,64]", "f32[16,64]"


def product_above(factor: float, threshold: float = 0.5) -> Body:
    def body(k: Kit, x: Value, y: Value) -> Value:
        return k.cmp("gt", k.mul(k.sum(k.mul(x, y)), factor), threshold)

    return body


@pytest.mark.parametrize(("factor", "threshold"), [(1.001, 0.5), (1.0, 0.5005)])
def test_what_is_compared_is_a_part_in_a_thousand_off(factor: float, threshold: float) -> None:
    assert level(product_above(1.0), product_above(factor, threshold), *PAIR) is Level.DIFFERENT


def test_the_same_comparison_in_another_form() -> None:
    assert level(product_above(1.0), product_above(3.0, 1.5), *PAIR) in EQUAL


def nearest(weight: float) -> Body:
    """Which row of y is nearest to each row of x."""

    def body(k: Kit, x: Value, y: Value) -> Value:
        products = k.b("dot", x, k.b("transpose", y, perm=(1, 0)), acc="f32")
        sizes = k.b.broadcast(k.mul(k.sum(k.mul(y, y)), weight), (16, 16), [1])
        apart = k.sub(sizes, k.mul(products, 2.0))
        return k.b.op("reduce", [apart, k.b.index((16, 16), 1)], axis=1, combine="argmin").results[1]

    return body


def test_a_coefficient_before_an_argmin() -> None:
    assert level(nearest(1.0), nearest(0.999), *PAIR) is Level.DIFFERENT
    assert level(nearest(1.0), nearest(1.0), *PAIR) in EQUAL


def test_the_way_between_two_inputs_keeps_integers() -> None:
    one, other = {"x": np.zeros(3, np.float32), "i": np.arange(3)}, {"x": np.ones(3, np.float32)}
    other["i"] = one["i"]
    half = boundaries.between(one, other, 0.5)
    assert (half["x"] == 0.5).all() and half["i"] is one["i"]


def test_products_far_below_zero() -> None:
    made = inputs.make(inputs.OPPOSITE, {"q": X, "k": X[::-1].copy(), "v": X}, 0)
    assert (made["q"] >= 0).all() and (made["k"] <= 0).all() and (made["v"] >= 0).all()


def started(start: float | None) -> Body:
    """log sum exp about a running maximum that starts too high for rows that are far below it."""

    def body(k: Kit, x: Value) -> Value:
        top = k.b("reduce", x, axis=1, combine="max")
        top = top if start is None else k.max(top, start)
        shifted = k.fn("exp", k.sub(x, k.c.spread(top, x, 1)))
        return k.add(k.fn("log", k.sum(shifted)), top)

    return body


def test_a_maximum_that_starts_at_zero() -> None:
    assert level(started(None), started(0.0), "f32[30,40]") is Level.DIFFERENT
    assert level(started(None), started(-1e30), "f32[30,40]") in EQUAL


def exponentials(shift: bool) -> Body:
    def body(k: Kit, x: Value) -> Value:
        y = k.sub(x, k.c.spread(k.b("reduce", x, axis=1, combine="max"), x, 1)) if shift else x
        e = k.fn("exp", y)
        return k.div(e, k.c.spread(k.sum(e), x, 1))

    return body


def test_inputs_from_a_unit_interval_that_nobody_declared() -> None:
    given = {"x0": np.random.default_rng(0).random((30, 40)).astype(np.float32)}
    declared = ("f32[30,40] in [0,1)",)
    assert judged(exponentials(True), exponentials(False), "f32[30,40]", data=given).verdict.level is Level.DIFFERENT
    report = judged(exponentials(True), exponentials(False), "f32[30,40]", data=given, inputs=declared)
    assert report.verdict.level in EQUAL


def test_decisions_that_only_a_large_set_of_shapes_comes_to() -> None:
    """A clamp of the last columns of wide rows, which no input reaches, is not passed over."""

    def clamped(x_columns: int, k: Kit, x: Value, s: Value) -> Value:
        y = k.mul(x, 2.0)
        if x_columns <= 30000:
            return y
        limit = k.fn("exp", k.add(k.mul(s, s), 20.0))
        low = k.part(y, 0, 30000)
        high = k.part(y, 30000, x_columns)
        return k.b("concat", low, k.b("min", high, k.b.broadcast(limit, high.type.shape, [1])), axis=1)

    def body(k: Kit, x: Value, s: Value) -> Value:
        return clamped(x.type.shape[1], k, x, s)

    wide = "f32[2,40000]", "f32[1]"
    report = judged(lambda k, x, s: k.mul(x, 2.0), body, *wide)
    assert report.verdict.level not in EQUAL
