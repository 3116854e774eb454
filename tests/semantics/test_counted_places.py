"""Places found by comparing and counting, against sorts and named extrema: ties are left to the tests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from lowering.ir.program import Value
from lowering.ir.types import I64
from tests.semantics.programs import EQUAL, Body, Kit, Level, level

X = "f32[4,7]"
N = 7


def named(k: Kit, x: Value) -> Value:
    return k.b.op("reduce", [x, k.b.index(x.type.shape, 1, I64)], axis=1, combine="argmax").results[1]


def compared(reach: Callable[[Kit, Value], Value], padded: bool = False) -> Body:
    """The least place whose value is the largest one; ``padded``: in a block with a lane of -inf."""

    def body(k: Kit, x: Value) -> Value:
        if padded:
            x = k.b("pad", x, k.b.constant(-np.inf, x.type.dtype), low=(0, 0), high=(0, 1), interior=(0, 0))
        top = k.b.broadcast(k.b("reduce", x, axis=1, combine="max"), x.type.shape, (0,))
        place = k.b.index(x.type.shape, 1, I64)
        return k.b("reduce", k.where(k.cmp("ge", x, reach(k, top)), place, 2 * N), axis=1, combine="min")

    return body


@pytest.mark.parametrize("padded", [False, True])
def test_the_least_place_of_the_maximum(padded: bool) -> None:
    assert level(named, compared(lambda k, top: top, padded), X) is Level.REAL


@pytest.mark.parametrize("below", [1e-3, 1e-5])
def test_the_least_place_of_almost_the_maximum(below: float) -> None:
    assert level(named, compared(lambda k, top: k.sub(top, below)), X) not in EQUAL


def test_a_literal_that_clamps_a_count_must_be_seen() -> None:
    """Never more than 7 positive ones: min(count, 8) is the count, and 6 is seen to be another program."""

    def clamped(most: int) -> Body:
        def body(k: Kit, x: Value) -> Value:
            count = k.b("reduce", k.cast(k.cmp("gt", x, 0.0), "i64"), axis=1, combine="add")
            return k.min(count, most)

        return body

    assert level(clamped(N), clamped(6), X) not in EQUAL


def sort(k: Kit, x: Value) -> Value:
    return k.b("sort", x, axis=1, order="ascending", stable=True)


def ranked(tie: str, scattered: bool = False) -> Body:
    """Each value at its rank: how many are less, or equal and before it."""

    def body(k: Kit, x: Value) -> Value:
        rows, n = x.type.shape
        full = (rows, n, n)
        other, own = k.b.broadcast(x, full, (0, 2)), k.b.broadcast(x, full, (0, 1))
        before = k.cmp(tie, k.b.index(full, 2, I64), k.b.index(full, 1, I64))
        less = k.b("or", k.cmp("lt", other, own), k.b("and", k.cmp("eq", other, own), before))
        rank = k.b("reduce", k.cast(less, "i64"), axis=2, combine="add")
        if scattered:
            zeros = k.b.constant(0.0, x.type.dtype, (rows, n))
            return k.b("scatter", zeros, x, k.b.index((rows, n), 0, I64), rank, combine="set", order="sequential")
        hot = k.cmp("eq", k.b.broadcast(rank, full, (0, 1)), k.b.index(full, 2, I64))
        return k.b("reduce", k.mul(own, k.cast(hot, "f32")), axis=1, combine="add")

    return body


@pytest.mark.parametrize("scattered", [False, True])
def test_a_rank_by_counting_sorts(scattered: bool) -> None:
    assert level(sort, ranked("lt", scattered), X) is Level.REAL


@pytest.mark.parametrize("scattered", [False, True])
def test_a_rank_that_counts_itself_does_not(scattered: bool) -> None:
    assert level(sort, ranked("le", scattered), X) is Level.DIFFERENT


def test_a_rank_that_leaves_equal_values_at_one_place_does_not() -> None:
    """Right but where two values are equal: what `real` leaves to the tests, they find."""

    def body(k: Kit, x: Value) -> Value:
        full = (*x.type.shape, N)
        own = k.b.broadcast(x, full, (0, 1))
        rank = k.b("reduce", k.cast(k.cmp("lt", k.b.broadcast(x, full, (0, 2)), own), "i64"), axis=2, combine="add")
        hot = k.cmp("eq", k.b.broadcast(rank, full, (0, 1)), k.b.index(full, 2, I64))
        return k.b("reduce", k.mul(own, k.cast(hot, "f32")), axis=1, combine="add")

    assert level(sort, body, X) is Level.DIFFERENT


def masked_mean(least: float) -> Body:
    def body(k: Kit, x: Value, mask: Value) -> Value:
        m = k.cast(mask, "f32")
        return k.div(k.sum(k.mul(x, m)), k.max(k.sum(m), least))

    return body


def guarded(k: Kit, x: Value, mask: Value) -> Value:
    m = k.cast(mask, "f32")
    count = k.sum(m)
    return k.div(k.sum(k.mul(x, m)), k.where(k.cmp("gt", count, 0.0), count, 1.0))


@pytest.mark.parametrize(("least", "equal"), [(1.0, True), (2.0, False)])
def test_an_integer_mask_is_empty_some_time(least: float, equal: bool) -> None:
    rng = np.random.default_rng(3)
    data = {"x0": rng.standard_normal((4, 7)).astype(np.float32), "x1": rng.integers(0, 2, (4, 7))}
    data["x1"][:, :3] = 1
    assert (level(masked_mean(least), guarded, X, "i64[4,7]", data=data) in EQUAL) is equal
