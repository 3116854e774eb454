"""Machine integers: programs that agree until one of them overflows, which no small input shows."""

from __future__ import annotations

import pytest

from equivalence.judge import magnitudes
from equivalence.judge.runs import Pair, Runner
from tests.semantics.programs import EQUAL, Body, Level, arrays, judged, level, program

X = "f32[64]"


def whole(k, x, to: str):
    return k.cast(k.b("round", x, mode="even"), to)


def squared(to: str) -> Body:
    return lambda k, x: k.cast(k.b("mul", whole(k, x, to), whole(k, x, to)), "f32")


def summed(to: str) -> Body:
    return lambda k, x: k.cast(k.sum(whole(k, k.mul(x, 1000.0), to)), "f32")


def rounded(to: str) -> Body:
    return lambda k, x: k.mul(k.cast(whole(k, k.mul(x, 50.0), to), "f32"), 0.02)


def counted(to: str) -> Body:
    return lambda k, x: k.cast(k.sum(k.cast(k.cmp("gt", x, 1.0), to)), "f32")


APART: dict[str, tuple[Body, Body, str]] = {
    "squares in i32 and i64": (squared("i32"), squared("i64"), X),
    "squares in i16 and i32": (squared("i16"), squared("i32"), X),
    "sums in i32 and i64": (summed("i32"), summed("i64"), "f32[4,64]"),
    "whole numbers in i16 and i32": (rounded("i16"), rounded("i32"), X),
    "a count in i8 and i32": (counted("i8"), counted("i32"), "f32[4,200]"),
}


@pytest.mark.parametrize("name", APART)
def test_narrower_integers_are_different(name: str) -> None:
    a, b, spec = APART[name]
    report = judged(a, b, spec)
    assert report.verdict.level is Level.DIFFERENT
    assert report.witness is not None


@pytest.mark.parametrize("to", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("source", [squared, summed, rounded])
def test_the_same_integers_are_equal(source, to: str) -> None:
    assert level(source(to), source(to), "f32[4,64]") in EQUAL


def largest(a: Body, b: Body) -> list[float]:
    pair = Pair(program(a, X), program(b, X), arrays(1, X))
    return [float(made["x0"].max()) for made in magnitudes.sets(pair, Runner(), 0, frozenset())]


def test_sizes_that_neither_side_converts_are_left_out() -> None:
    """Whoever converts what an integer does not hold may get anything, on either side."""
    assert largest(summed("i32"), summed("i32")) == [5e4, 1e5]
    assert largest(summed("i32"), summed("i64")) == [5e4, 1e5, 1e9, 3e9]
    assert largest(rounded("i16"), rounded("i16")) == [200.0]


def test_declared_ranges_are_kept() -> None:
    pair = Pair(program(summed("i32"), X), program(summed("i64"), X), arrays(1, X))
    assert not list(magnitudes.sets(pair, Runner(), 0, frozenset(["x0"])))


def test_sizes_follow_the_programs_integers() -> None:
    def pair(a: Body, b: Body) -> Pair:
        return Pair(program(a, X), program(b, X), arrays(1, X))

    assert magnitudes.of(pair(lambda k, x: x, lambda k, x: k.mul(x, 2.0))) == []
    assert magnitudes.of(pair(squared("i64"), squared("i32"))) == list(magnitudes.SIZES[32])
    assert magnitudes.of(pair(rounded("i16"), squared("i64"))) == list(magnitudes.SIZES[16])


def test_places_out_of_a_table_show_nothing() -> None:
    """A table of 8 read at a place made of x, as it may be where x is known to be small."""

    def taken(to: str) -> Body:
        def body(k, x, table):
            place = k.cast(k.b("round", k.b("abs", x), mode="floor"), to)
            return k.b("gather", table, k.cast(place, "i64"))

        return body

    data = arrays(1, X, "f32[8]")
    pair = Pair(program(taken("i32"), X, "f32[8]"), program(taken("i64"), X, "f32[8]"), data)
    assert not list(magnitudes.sets(pair, Runner(), 0, frozenset()))
