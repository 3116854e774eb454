"""Ties of roundings to whole numbers: floors, ceilings and halves of values that no rounding moved, and their counts.

The wrong one of a pair differs from the right one at a step alone, where the value is exact in every implementation.
"""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.judge import steps
from equivalence.verdicts import Level
from lowering.ir.types import I32
from tests.semantics.programs import Body, judged, level

X, BINS = ("f32[64]",), 8


def whole(mode: str, value: Body) -> Body:
    """``value`` rounded to a whole number."""
    return lambda k, *x: k.b("round", value(k, *x), mode=mode)


def integers(body: Body) -> Body:
    return lambda k, *x: k.cast(body(k, *x), "i32", rounding="rtz")


def times(factor: float) -> Body:
    return lambda k, x: k.mul(x, factor)


def over(divisor: float) -> Body:
    return lambda k, x: k.div(x, divisor)


def quotient(accuracy: str = "exact", impl: str = "") -> Body:
    return lambda k, x, y: k.b("div", x, y, accuracy=accuracy, impl=impl)


def half_up(value: Body) -> Body:
    return lambda k, *x: k.b("round", k.add(value(k, *x), 0.5), mode="floor")


def closed(value: Body, right: bool = False) -> Body:
    """The bin of a value: closed on the left, or on the right."""

    def body(k, x):
        bins = k.b("round", value(k, x), mode="ceil" if right else "floor")
        return k.cast(k.sub(bins, 1.0) if right else bins, "i32", rounding="rtz")

    return body


def counted(bins: Body) -> Body:
    """How many elements are in each bin."""

    def body(k, x):
        shape = (*x.type.shape, BINS)
        hit = k.b.cmp("eq", k.b.broadcast(bins(k, x), shape, (0,)), k.b.index(shape, 1, I32))
        return k.sum(k.cast(hit, "i32"), axis=0)

    return body


def mean(k, x):
    return k.mul(k.sum(x), 1 / 16)


def largest(k, x):
    scale = k.div(k.b("reduce", k.b("abs", x), axis=1, combine="max"), 127.0)
    return k.div(x, k.b.broadcast(scale, x.type.shape, (0,)))


def even(value: Body) -> Body:
    """Halves up, and one less where that was half way and came out odd."""

    def body(k, x):
        v = value(k, x)
        up = half_up(value)(k, x)
        half = k.mul(up, 0.5)
        tied = k.b("and", k.cmp("eq", k.sub(up, v), 0.5), k.cmp("ne", half, k.b("round", half, mode="floor")))
        return k.where(tied, k.sub(up, 1.0), up)

    return body


def small(k, x, y):
    return k.div(x, k.max(k.min(y, 0.1), 0.01))


def magic(k, x):
    """To the nearest whole number by way of a large one."""
    return k.sub(k.add(k.mul(x, 4.0), 12582912.0), 12582912.0)


def from_below(k, x):
    """A floor made of a truncation."""
    v = k.mul(x, 10.0)
    down = k.b("round", v, mode="trunc")
    return k.where(k.cmp("gt", down, v), k.sub(down, 1.0), down)


def one_less(value: Body) -> Body:
    return lambda k, *x: k.sub(k.b("round", value(k, *x), mode="ceil"), 1.0)


def floor_and_rest(to: str | None = None) -> Body:
    """A floor, in ``to``, and what it leaves of the value in f32."""

    def body(k, x):
        v = k.mul(x, 10.0)
        floor = k.b("round", v if to is None else k.mul(k.cast(x, to), 10.0), mode="floor")
        return k.cast(floor, "f32"), k.sub(v, k.b("round", v, mode="floor"))

    return body


APART: dict[str, tuple[Body, Body, tuple[str, ...]]] = {
    "bins closed on the right": (counted(closed(times(4.0))), counted(closed(times(4.0), right=True)), X),
    "bins of an inexact product": (closed(times(0.3)), closed(times(0.3), right=True), X),
    "a floor and a ceiling of a quotient": (whole("floor", over(0.3)), one_less(over(0.3)), X),
    "halves of a product up": (integers(whole("even", times(16.0))), integers(half_up(times(16.0))), X),
    "halves of a quotient up": (whole("even", quotient()), half_up(quotient()), X + X),
    "halves of an inexact product up": (whole("even", times(0.1)), half_up(times(0.1)), X),
    "halves of a row over its largest": (whole("even", largest), half_up(largest), ("f32[16,32]",)),
    "halves of a mean up": (whole("even", mean), half_up(mean), ("f32[16,32]",)),
    "halves of a quotient by small numbers up": (whole("even", small), half_up(small), X + X),
    "halves of coarse numbers up": (whole("even", times(16.0)), half_up(times(16.0)), ("bf16[8,64]",)),
    "halves of an approximate quotient away from zero": (
        whole("even", quotient("approx", "xla")), whole("away", quotient("approx", "cuda-fast")), X + X),
}  # fmt: skip


@pytest.mark.parametrize("name", APART)
def test_other_steps_are_different(name: str) -> None:
    a, b, specs = APART[name]
    assert level(a, b, *specs) is Level.DIFFERENT


SAME: dict[str, tuple[Body, Body, tuple[str, ...]]] = {
    "bins of a product and of a quotient": (counted(closed(times(4.0))), counted(closed(over(0.25))), X),
    "bins of inexact ones": (counted(closed(times(10.0))), counted(closed(over(0.1))), X),
    "a floor of inexact ones": (whole("floor", times(10.0)), whole("floor", over(0.1)), X),
    "the nearest by way of a large number": (whole("even", times(4.0)), magic, X),
    "a floor made of a truncation": (whole("floor", times(10.0)), from_below, X),
    "a floor and a ceiling turned round": (
        whole("floor", times(0.3)), lambda k, x: k.b("neg", whole("ceil", times(-0.3))(k, x)), X),
    "halves to even by way of halves up": (whole("even", times(0.1)), even(times(0.1)), X),
    "a floor in f64 beside one in f32": (floor_and_rest(), floor_and_rest("f64"), X),
    "halves of a quotient and of a product with a reciprocal": (
        whole("even", quotient("approx", "xla")),
        whole("even", lambda k, x, y: k.mul(x, k.div(k.lit(1.0, y), y))), X + X),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_equal_steps_are_not_different(name: str) -> None:
    a, b, specs = SAME[name]
    assert level(a, b, *specs) is not Level.DIFFERENT


def test_inputs_are_multiples_of_half_a_step() -> None:
    given = {"x": np.linspace(-3, 3, 40, dtype=np.float32), "s": np.linspace(0.2, 0.3, 40, dtype=np.float32)}
    assert steps.lengths([4.0, 0.3], [0.25])[:3] == [1.0, 4.0, 0.25]
    first = next(steps.sets(given, [4.0], 0))
    assert (np.rint(first["x"] * 2) == first["x"] * 2).all() and (first["s"] == 0.25).all()
    assert (np.abs(first["x"] % 1) == 0.5).any()


def test_given_values_at_the_edges_of_bins() -> None:
    data = {"x0": (np.arange(40, dtype=np.float32) ** 2 % 23) / 16}
    a, b = counted(closed(times(4.0))), counted(closed(times(4.0), right=True))
    report = judged(a, b, "f32[40]", data=data)
    assert report.verdict.level is Level.DIFFERENT and "given" in report.verdict.reason
    assert "explains at most 0)" in report.verdict.reason


def masked(value: Body, right: bool) -> Body:
    """Bins of the first half; the other half is in doubt, and left out."""

    def body(k, x):
        first = k.b.cmp("lt", k.b.index(x.type.shape, 0, I32), k.b.constant(32, I32, x.type.shape))
        sure, doubtful = (closed(v, right=r)(k, x) for v, r in ((times(4.0), right), (value, False)))
        shape = (*x.type.shape, BINS)
        bins = k.b.broadcast(k.b("select", first, sure, doubtful), shape, (0,))
        hit = k.b("and", k.b.cmp("eq", bins, k.b.index(shape, 1, I32)), k.b.broadcast(first, shape, (0,)))
        return k.sum(k.cast(hit, "i32"), axis=0)

    return body


def test_what_is_masked_leaves_no_doubt() -> None:
    data = {"x0": np.repeat(np.array([0.75, 0.3], np.float32), 32)}
    report = judged(masked(times(10.0), False), masked(over(0.1), True), "f32[64]", data=data)
    assert report.verdict.reason.endswith("(given inputs; rounding explains at most 0)")
