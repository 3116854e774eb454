"""Attacks on sorts, extrema, truth values and masks: pairs that agree on most inputs, and must not be called equal."""

from __future__ import annotations

import numpy as np
import pytest

from lowering.ir.program import Program
from tests.semantics.programs import BOOL, EQUAL, F32, I64, Body, Level, judged, launched, level

X, V = "f32[5,7]", "f32[8]"


def pair(k, op: str, x, result: int, **attrs):
    """One result of an extremum or sort of (values, places)."""
    return k.b.op(op, [x, k.b.index(x.type.shape, 1)], axis=1, **attrs).results[result]


def mirrored(k, x):
    last = k.b.constant(6, I64, (5,))
    return k.b("sub", last, pair(k, "reduce", k.b("reverse", x, axes=[1]), 1, combine="argmax"))


def masked_row(shift: bool) -> Body:
    """The place of the maximum, where one row is all -inf."""

    def body(k, x):
        hidden = np.where(np.arange(5)[:, None] == 1, -np.inf, np.zeros((5, 7))).astype(np.float32)
        places = k.b.index((5, 7), 1)
        if shift:
            row = k.b.constant(np.broadcast_to(np.arange(5)[:, None] == 1, (5, 7)).copy(), BOOL)
            places = k.b("select", row, k.b("add", places, k.b.constant(1, I64, (5, 7))), places)
        return k.b.op("reduce", [k.add(x, k.b.constant(hidden, F32)), places], axis=1, combine="argmax").results[1]

    return body


ATTACKS: dict[str, tuple[Body, Body, tuple[str, ...]]] = {
    "the first and the last of equal maxima": (lambda k, x: pair(k, "reduce", x, 1, combine="argmax"), mirrored, (X,)),
    "places of a row that is all -inf": (masked_row(False), masked_row(True), (X,)),
    "ties of a descending sort": (
        lambda k, x: pair(k, "sort", x, 1, order="descending"),
        lambda k, x: k.b("reverse", pair(k, "sort", x, 1), axes=[1]), (X,)),
    "argmax and argmin": (lambda k, x: pair(k, "reduce", x, 1, combine="argmax"),
                          lambda k, x: pair(k, "reduce", x, 1, combine="argmin"), (X,)),
    "argmax of slightly other values": (
        lambda k, x, y: pair(k, "reduce", x, 1, combine="argmax"),
        lambda k, x, y: pair(k, "reduce", k.add(x, k.mul(y, 1e-5)), 1, combine="argmax"), (X, X)),
    "addition of truth values is exclusive": (
        lambda k, x, y: k.add(k.cmp("gt", x, 0.0), k.cmp("gt", y, 0.0)),
        lambda k, x, y: k.b("or", k.cmp("gt", x, 0.0), k.cmp("gt", y, 0.0)), (X, X)),
    "products of truth values at a tie": (
        lambda k, x, y: k.cast(k.mul(k.cmp("gt", x, 0.0), k.cmp("gt", y, 0.0)), "f32"),
        lambda k, x, y: k.mul(k.cast(k.cmp("gt", x, 0.0), "f32"), k.cast(k.cmp("ge", y, 0.0), "f32")), (X, X)),
    "int(x) != 0 and x != 0": (lambda k, x: k.cast(k.cast(k.cast(x, "i32"), "i1"), "f32"),
                               lambda k, x: k.cast(k.cast(x, "i1"), "f32"), (X,)),
    "floor(x) and floor(x + 1e-4)": (lambda k, x: k.b("round", x, mode="floor"),
                                     lambda k, x: k.b("round", k.add(x, 1e-4), mode="floor"), (X,)),
    "ties of a quantisation": (
        lambda k, x: k.cast(k.b("round", k.mul(x, 10.0), mode="even"), "i8", overflow="saturate"),
        lambda k, x: k.cast(k.b("round", k.mul(x, 10.0), mode="away"), "i8", overflow="saturate"), (X,)),
    "saturation of a quantisation": (
        lambda k, x: k.cast(k.b("round", x, mode="even"), "i8", overflow="saturate"),
        lambda k, x: k.cast(k.b("round", x, mode="even"), "i8", overflow="wrap"), (X,)),
    "a threshold of 1e-6 for 0": (lambda k, x: k.where(k.cmp("gt", x, 1e-6), x, 0.0), lambda k, x: k.max(x, 0.0), (X,)),
    "tanh and a clamp": (lambda k, x: k.fn("tanh", x), lambda k, x: k.max(k.min(x, 1.0), -1.0), (X,)),
    "a root and its negative": (lambda k, x: k.fn("sqrt", k.mul(x, x)),
                                lambda k, x: k.b("neg", k.fn("sqrt", k.mul(x, x))), (X,)),
    "a maximum that one lane is missing from": (
        lambda k, x: k.b("reduce", x, axis=1, combine="max"),
        lambda k, x: k.b("reduce", k.part(x, 0, 6), axis=1, combine="max"), (X,)),
    "max(a + b, c + d) and max(a + c, b + d)": (
        lambda k, x: k.max(k.add(k.column(x, 0), k.column(x, 1)), k.add(k.column(x, 2), k.column(x, 3))),
        lambda k, x: k.max(k.add(k.column(x, 0), k.column(x, 2)), k.add(k.column(x, 1), k.column(x, 3))), (X,)),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_the_pair_is_not_called_equal(name: str) -> None:
    a, b, specs = ATTACKS[name]
    assert level(a, b, *specs) not in EQUAL


def ragged(limit: int, n: int = 35, blocks: int = 3) -> Program:
    """3x, block by block, of which lanes from ``limit`` on are read as 0."""

    def body(k, x, out):
        place = k.add(k.lanes(16), k.splat(k.mul(k.pid(), k.int(16)), 16))
        value = k.load(x, place, k.cmp("lt", place, limit), k.b.constant(0.0, F32, (16,)))
        k.store(out, place, k.mul(value, 3.0), k.cmp("lt", place, n))

    return launched(body, f"f32[{n}]", out=f"f32[{n}]", grid=blocks, init=0.0)


def test_one_lane_of_a_ragged_block() -> None:
    assert level(ragged(34), ragged(35), "f32[35]") is Level.DIFFERENT
    assert level(ragged(35), ragged(35), "f32[35]") is Level.BITWISE


def test_lanes_read_beyond_the_end_are_a_finding_even_where_they_are_not_stored() -> None:
    report = judged(ragged(35), ragged(40), "f32[35]")
    assert "out-of-bounds" in {finding.code for finding in report.findings}


def test_a_grid_that_is_one_block_short() -> None:
    assert level(ragged(35, blocks=2), ragged(35), "f32[35]") is Level.DIFFERENT


@pytest.mark.parametrize("sentinel", [-50.0, -1e4])
def test_a_finite_sentinel_is_not_minus_infinity_for_free(sentinel: float) -> None:
    def masked(k, x):
        return k.c.softmax(k.b("concat", x, k.lit(sentinel, x), axis=1), 1)

    def plain(k, x):
        return k.b("concat", k.c.softmax(x, 1), k.lit(0.0, x), axis=1)

    assert level(masked, plain, X) < Level.REASSOCIATED


def test_minus_infinity_is() -> None:
    def masked(k, x):
        return k.sum(k.fn("exp", k.b("concat", x, k.lit(float("-inf"), x), axis=1)))

    assert level(masked, lambda k, x: k.sum(k.fn("exp", x)), X) is Level.REASSOCIATED
