"""Selections by predicates and places, searches for the eight largest, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lowering.capture.nki import instructions as isa
from lowering.capture.nki.tile import Tile
from lowering.errors import UsageError
from tests.frontends.nki.instruction_runs import BF16, f32, given, lowered, rounded, run, same, tile, value

FP32_MIN = float(np.finfo(np.float32).min)


@pytest.mark.parametrize("reverse", [False, True])
def test_select_reduce(reverse: bool) -> None:
    where, x, y = given(128, 6, dtype="uint8") % 2, given(128, 6, dtype="bfloat16"), given(128, 1, seed=1)

    def body(p: Tile, a: Tile, c: Tile) -> tuple[Tile, ...]:
        dst, top = tile(a.shape, "bfloat16"), tile((128, 1))
        isa.select_reduce(dst, p, a, c, top, "reset_reduce", "max", reverse)
        return dst, top

    ran = run(body, where, x, y)
    wanted = np.where((where != 0) != reverse, f32(x), y)
    same(ran.values[0], rounded(wanted, "bfloat16"))
    same(ran.values[1], wanted.max(1, keepdims=True))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_range_select(dtype: str) -> None:
    """The filling is FP32_MIN, which is -inf in bf16."""
    x = given(128, 9, dtype=dtype)
    low, high = np.arange(128, dtype=np.float32)[:, None] % 5 + 4, np.full((128, 1), 10.0, np.float32)

    def body(a: Tile, b0: Tile, b1: Tile) -> tuple[Tile, ...]:
        dst, top = tile(a.shape, dtype), tile((128, 1))
        isa.range_select(dst, a, "is_ge", "is_lt", b0, b1, "reset_reduce", top, range_start=3, on_false_value=FP32_MIN)
        return dst, top

    index = np.arange(9)[None] + 3
    wanted = np.where((index >= low) & (index < high), f32(x), np.float32(FP32_MIN))
    ran = run(body, x, low, high)
    same(ran.values[0], rounded(wanted, dtype))
    same(ran.values[1], wanted.max(1, keepdims=True))


@pytest.mark.parametrize(
    ("cmp_op", "wanted"), [("is_ge", np.greater_equal), ("is_equal", np.equal), ("is_lt", np.less)]
)
def test_affine_select(cmp_op: str, wanted: np.ufunc) -> None:
    for lanes, counts in ((1, (1,)), (128, (2, 3))):
        x = given(lanes, *counts, dtype="bfloat16")
        pattern = [[-(i + 1), n] for i, n in enumerate(counts)]

        def body(a: Tile, pattern: list[list[int]] = pattern) -> Tile:
            dst = tile(a.shape, "bfloat16")
            isa.affine_select(dst, pattern, 1, a, -1e30, cmp_op, offset=-2)
            return dst

        places = -2 + np.arange(lanes).reshape(-1, *[1] * len(counts))
        for axis, (step, _) in enumerate(pattern):
            places = places + step * np.arange(counts[axis]).reshape(-1, *[1] * (len(counts) - 1 - axis))
        same(value(body, x), np.where(wanted(places, 0), x, rounded(np.float32(-1e30), "bfloat16")))


def test_affine_select_by_a_predicate() -> None:
    x, where = given(4, 6), np.tri(4, 6, dtype=bool)

    def body(a: Tile) -> Tile:
        dst = tile(a.shape)
        isa.affine_select(dst, None, 0, a, 5.0, predicate=where)
        return dst

    same(value(body, x), np.where(where, x, np.float32(5)))


@pytest.mark.parametrize("dtype", ["int32", "float32", "uint8", "bfloat16"])
def test_iota(dtype: str) -> None:
    def body(_: Tile) -> tuple[Tile, ...]:
        first, second = tile((128, 2, 3), dtype), tile((2, 3), dtype)
        isa.iota(first, [[10, 2], [-3, 3]], offset=5, channel_multiplier=7)
        isa.iota(second, None, values=np.arange(6).reshape(2, 3))
        return first, second

    ran = run(body, given(1, 1))
    wanted = 5 + 7 * np.arange(128)[:, None, None] + 10 * np.arange(2)[:, None] - 3 * np.arange(3)
    same(ran.values[0], rounded(f32(wanted), dtype))
    same(ran.values[1], rounded(f32(np.arange(6).reshape(2, 3)), dtype))


def repeated(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).integers(0, 6, shape).astype(np.float32)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_max8(dtype: str) -> None:
    x = given(128, 11, dtype=dtype)

    def body(a: Tile) -> Tile:
        dst = tile((128, 8), dtype)
        isa.max8(dst, a)
        return dst

    same(value(body, x), np.ascontiguousarray(-np.sort(-x, axis=1)[:, :8]))


def places_of(x: np.ndarray, vals: np.ndarray, order: range) -> tuple[np.ndarray, np.ndarray]:
    """The first place of each value among those that no earlier one (in ``order``) took, -1 where there is none."""
    found, free = np.full(vals.shape, -1), np.ones(x.shape, bool)
    for p in range(x.shape[0]):
        for j in order:
            hits = np.flatnonzero((x[p] == vals[p, j]) & free[p])
            if len(hits):
                found[p, j], free[p, hits[0]] = hits[0], False
    return found, free


@pytest.mark.parametrize("dtype", ["uint32", "uint16"])
def test_find_index8(dtype: str) -> None:
    x, vals = repeated(5, 12), repeated(5, 8)

    def body(a: Tile, v: Tile) -> Tile:
        dst = tile((5, 8), dtype)
        isa.find_index8(dst, a, v)
        return dst

    found, _ = places_of(x, vals, range(8))
    assert (found < 0).any()
    same(value(body, x, vals), found.astype(dtype))


def test_match_replace8() -> None:
    x, vals = repeated(5, 12), repeated(5, 8)

    def body(a: Tile, v: Tile) -> tuple[Tile, ...]:
        dst, index = tile(a.shape), tile((5, 8), "uint32")
        isa.match_replace8(dst, a, v, -7.0, index)
        return dst, index

    found, free = places_of(x, vals, range(7, -1, -1))
    ran = run(body, x, vals)
    same(ran.values[0], np.where(free, x, np.float32(-7)))
    same(ran.values[1], found.astype(np.uint32))


def predicates(body: Any, *arrays: np.ndarray) -> set[str]:
    """The dtypes in which a program compares."""
    return {op.operands[0].type.dtype.name for op in lowered(body, *arrays).body.ops if op.name == "cmp"}


@pytest.mark.parametrize("op", ["is_equal", "is_lt", "is_ge"])
def test_integers_in_f32_are_compared_as_integers_where_that_is_the_same(op: str) -> None:
    """A label against column numbers; beyond 2^24 a label is rounded in f32, and stays beyond every column."""
    labels = np.array([[3], [0], [2**24 + 1], [-5], [2**31 - 1]], np.int32)

    def body(label: Tile) -> Tile:
        wide, column, dst = tile((5, 1)), tile((5, 6)), tile((5, 6))
        isa.dma_copy(wide, label)
        isa.iota(column, [[1, 6]])
        isa.tensor_scalar(dst, column, op, wide)
        return dst

    wanted = {"is_equal": np.equal, "is_lt": np.less, "is_ge": np.greater_equal}[op](np.arange(6), labels)
    same(value(body, labels), f32(wanted))
    assert predicates(body, labels) == {"i64"}


def test_large_integers_in_f32_are_compared_as_they_are_rounded() -> None:
    labels = np.array([[2**24 + 1], [2**24 + 2]], np.int32)

    def body(a: Tile) -> Tile:
        dst = tile((2, 1))
        isa.tensor_scalar(dst, a, "is_equal", float(2**24))
        return dst

    assert value(body, labels).tolist() == [[1.0], [0.0]] and predicates(body, labels) == {"f32"}


@pytest.mark.parametrize(("number", "dtype"), [(3.0, "i64"), (-2.0, "i64"), (2.5, "f32")])
def test_integers_are_compared_with_a_number(number: float, dtype: str) -> None:
    x = given(4, 9, dtype="int8") // 20

    def body(a: Tile) -> Tile:
        dst = tile(a.shape)
        isa.tensor_scalar(dst, a, "is_ge", number)
        return dst

    same(value(body, x), f32(x >= number))
    assert predicates(body, x) == {dtype}


@pytest.mark.parametrize(("lanes", "columns", "count", "k"), [(16, 3, 42, 8), (128, 2, 32, 20), (32, 40, 600, 33)])
def test_topk(lanes: int, columns: int, count: int, k: int) -> None:
    """Groups of 16 partitions, elements taken partition first; results lie alike, others are not written."""
    rng = np.random.default_rng(k)
    x = np.array([rng.permutation(lanes * columns)], np.float32).reshape(lanes, columns) / 8  # no two are equal ...
    x = x.astype(BF16 if lanes * columns <= 256 else np.float32)  # ... in bf16 as far as it has so many numbers
    wide = "bfloat16" if x.dtype != np.float32 else "float32"

    def body(a: Tile) -> tuple[Tile, ...]:
        best, places = tile((lanes, k), wide), tile((lanes, k), "uint32")
        isa.topk(best, places, a, count)
        return best, places

    ran = run(body, x)
    used = -(-k // 16)
    for group in range(lanes // 16):
        snake = x[16 * group : 16 * group + 16].T.ravel()[:count]
        order = np.argsort(snake)[-k:]
        lies = slice(16 * group, 16 * group + 16)
        got = [value[lies, :used].T.ravel()[:k] for value in ran.values]
        same(got[0], snake[order])
        same(got[1], order.astype(np.uint32))
        for poison in ran.poison:
            assert not poison[lies, :used].T.ravel()[:k].any()
            assert poison[lies, :used].T.ravel()[k:].all() and poison[lies, used:].all()


def test_topk_of_too_many_is_refused() -> None:
    x = given(16, 2, dtype="bfloat16")
    with pytest.raises(UsageError, match="topk: val_dst"):
        run(lambda a: (isa.topk(tile((16, 40), "bfloat16"), tile((16, 40), "uint32"), a, 32), a)[1], x)
    with pytest.raises(UsageError, match="groups are of 16 partitions"):
        run(lambda a: (isa.topk(tile((8, 4), "bfloat16"), tile((8, 4), "uint32"), part8(a), 16), a)[1], x)


def part8(x: Tile) -> Tile:
    return x.remade((8, x.shape[1]), x.strides)
