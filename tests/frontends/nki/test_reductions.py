"""Folds, statistics and scans: sums of small integers are exact in every order; scans go from left to right."""

from __future__ import annotations

import numpy as np
import pytest

from lowering.capture.nki import instructions as isa
from lowering.capture.nki.tile import Tile
from lowering.errors import Unsupported
from lowering.frontends.nki import Model
from tests.frontends.nki.instruction_runs import f32, given, lowered, part, rounded, run, same, tile, value

FOLDS = {
    "add": np.add, "mult": np.multiply, "max": np.maximum, "min": np.minimum, "logical_and": np.logical_and,
    "logical_or": np.logical_or, "logical_xor": np.logical_xor,
}  # fmt: skip


def whole(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    low = 1 if seed < 0 else -2
    return np.random.default_rng(abs(seed)).integers(low, 3, shape).astype(given(1, dtype=dtype).dtype)


def reduced(op: str, shape: tuple[int, ...], axes: tuple[int, ...], dtype: str = "float32", **more):
    def body(x: Tile) -> Tile:
        dst = tile(shape, dtype)
        isa.tensor_reduce(dst, op, x, axes, **more)
        return dst

    return body


@pytest.mark.parametrize("op", FOLDS)
def test_tensor_reduce(op: str) -> None:
    for shape, axes, dtype in (((1, 1), (1,), "float32"), ((128, 9), (1,), "bfloat16"), ((3, 2, 4), (1, 2), "int32"),
                               ((3, 2, 4), (2,), "float32")):  # fmt: skip
        x = whole(*shape, dtype=dtype)
        out = shape[: len(shape) - len(axes)]
        wanted = f32(FOLDS[op].reduce(f32(x).reshape(*out, -1), axis=len(out)))
        got = value(reduced(op, (*out, 1), axes, dtype), x)
        if op in ("max", "min", "mult"):
            got = got + got.dtype.type(0)  # the sign of a zero is open
        same(got, rounded(wanted + np.float32(0), dtype).reshape(*out, 1))


@pytest.mark.parametrize(("op", "wanted"), [
    ("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or), ("bitwise_xor", np.bitwise_xor)])  # fmt: skip
def test_tensor_reduce_on_bits(op: str, wanted: np.ufunc) -> None:
    x = given(128, 7, dtype="int32")
    same(value(reduced(op, (128, 1), (1,), "int32"), x), wanted.reduce(x, axis=1, keepdims=True))


def test_tensor_reduce_negates_and_has_an_open_order() -> None:
    x = whole(4, 6)
    same(value(reduced("add", (4, 1), (1,), negate=True), x), -x.sum(1, keepdims=True))
    (fold,) = [op for op in lowered(reduced("add", (4, 1), (1,)), x).body.ops if op.name == "reduce"]
    assert fold.attrs["order"] == "unordered"
    ascending = np.array([[2.0**24, 1.0, 1.0, 1.0]], np.float32)
    assert value(reduced("add", (1, 1), (1,)), ascending, model=Model(reduce_order="ascending"))[0, 0] == 2.0**24


def test_masked_elements_take_no_part() -> None:
    x, mask = whole(4, 6), np.tri(4, 6, dtype=bool)
    same(value(reduced("add", (4, 1), (1,), data_mask=mask), x), (x * mask).sum(1, keepdims=True))
    wanted = np.where(mask, x, -np.inf).max(1, keepdims=True).astype(np.float32)
    same(value(reduced("max", (4, 1), (1,), data_mask=mask), x) + np.float32(0), wanted + np.float32(0))


@pytest.mark.parametrize("op", ["add", "average", "max", "bitwise_or", "bitwise_and"])
def test_tensor_partition_reduce(op: str) -> None:
    for lanes in (1, 128):
        x = whole(lanes, 5, dtype="int32" if "bit" in op else "float32")

        def body(a: Tile) -> Tile:
            dst = tile((1, 5), a.dtype)
            isa.tensor_partition_reduce(dst, op, a)
            return dst

        bits = {"bitwise_or": np.bitwise_or, "bitwise_and": np.bitwise_and, "max": np.maximum}
        wanted = bits[op].reduce(x, axis=0) if op in bits else x.sum(0)
        wanted = (wanted / np.float32(lanes) if op == "average" else wanted).astype(x.dtype)[None]
        same(value(body, x) + x.dtype.type(0), wanted + x.dtype.type(0))


@pytest.mark.parametrize("command", ["reset_reduce", "reduce", "load_reduce"])
def test_tensor_scalar_reduce(command: str) -> None:
    x, y = whole(128, 6), whole(128, 6, seed=1)

    def body(a: Tile, c: Tile) -> tuple[Tile, ...]:
        dst, first, total = tile(a.shape, "bfloat16"), tile((128, 1)), tile((128, 1))
        isa.tensor_scalar_reduce(dst, a, "mult", 2.0, "add", first)
        isa.tensor_scalar_reduce(dst, c, "subtract", 1.0, "add", total, reverse0=True, reduce_cmd=command,
                                 reduce_init=100.0, negate=True)  # fmt: skip
        return dst, first, total

    ran = run(body, x, y)
    first, second = 2 * x.sum(1, keepdims=True), (1 - y).sum(1, keepdims=True)
    before = {"reset_reduce": 0, "reduce": first, "load_reduce": 100}[command]
    same(ran.values[0], rounded(1 - y, "bfloat16"))
    same(ran.values[1], first)
    same(ran.values[2], -(second + before).astype(np.float32))


def test_bn_stats_and_bn_aggr() -> None:
    """Statistics of chunks, put together, are those of the whole row."""
    x = given(128, 12)

    def body(a: Tile) -> tuple[Tile, ...]:
        stats, dst = tile((128, 12)), tile((128, 2))
        for i in (0, 1):
            chunk = part(a, slice(None), slice(7 * i, 7 + 5 * i))
            isa.bn_stats(part(stats, slice(None), slice(6 * i, 6 * i + 6)), chunk)
        isa.bn_aggr(dst, stats)
        return stats, dst

    stats, dst = run(body, x).values
    columns = []
    for chunk in (x[:, :7], x[:, 7:]):
        for half in (chunk[:, ::2], chunk[:, 1::2]):
            wide = half.astype(np.float64)
            columns += [np.full(128, half.shape[1]), wide.mean(1), wide.var(1) * half.shape[1]]
    assert np.allclose(stats, np.stack(columns, 1), rtol=1e-5, atol=1e-6)
    assert np.allclose(dst, np.stack([x.mean(1, dtype=float), x.var(1, dtype=float)], 1), rtol=1e-5, atol=1e-6)


def test_bn_stats_of_one_element() -> None:
    def body(a: Tile) -> Tile:
        stats = tile((1, 6))
        isa.bn_stats(stats, a)
        return stats

    same(value(body, np.full((1, 1), 3.0, np.float32)), np.array([[1, 3, 0, 0, 0, 0]], np.float32))


OPS = {"add": np.add, "subtract": np.subtract, "mult": np.multiply, "max": np.maximum, "min": np.minimum}


@pytest.mark.parametrize(("op0", "op1", "reverse0", "reverse1"), [
    ("mult", "add", False, False), ("mult", "subtract", False, True), ("subtract", "mult", True, False),
    ("max", "add", False, False), ("add", "min", True, True)])  # fmt: skip
def test_tensor_tensor_scan(op0: str, op1: str, reverse0: bool, reverse1: bool) -> None:
    """r = op1(op0(data0[i], r), data1[i]), every step rounded to f32."""
    for shape, dtype in (((1, 1), "float32"), ((128, 6), "bfloat16"), ((3, 2, 4), "float32")):
        x, y, first = given(*shape, dtype=dtype), given(*shape, dtype=dtype, seed=1), given(shape[0], 1, seed=2)

        def body(a: Tile, c: Tile, init: Tile) -> Tile:
            dst = tile(a.shape, a.dtype)
            isa.tensor_tensor_scan(dst, a, c, init, op0, op1, reverse0, reverse1)
            return dst

        r, a, c = first[:, 0], f32(x).reshape(shape[0], -1), f32(y).reshape(shape[0], -1)
        steps = []
        for i in range(a.shape[1]):
            inner = OPS[op0](*((r, a[:, i]) if reverse0 else (a[:, i], r)))
            r = OPS[op1](*((c[:, i], inner) if reverse1 else (inner, c[:, i])))
            steps.append(r)
        same(value(body, x, y, first), rounded(np.stack(steps, 1), dtype).reshape(shape))


@pytest.mark.parametrize("op1", OPS)
def test_tensor_scalar_cumulative(op1: str) -> None:
    x = given(128, 6)

    def body(a: Tile) -> tuple[Tile, ...]:
        first, second, third = tile(a.shape), tile(a.shape), tile(a.shape)
        isa.tensor_scalar_cumulative(first, a, "mult", op1, 0.5)
        isa.tensor_scalar_cumulative(second, a, "add", op1, 1.0, reduce_cmd="reduce")
        isa.tensor_scalar_cumulative(third, a, "add", op1, 1.0, 3.0, reduce_cmd="load_reduce")
        return first, second, third

    def steps(terms: np.ndarray, acc: np.ndarray) -> np.ndarray:
        found = []
        for i in range(terms.shape[1]):
            acc = OPS[op1](terms[:, i], acc)
            found.append(acc)
        return np.stack(found, 1)

    start = {"add": 0, "subtract": 0, "mult": 1, "max": -np.inf, "min": np.inf}[op1]
    first = steps(x * np.float32(0.5), np.full(128, start, np.float32))
    wanted = first, steps(x + np.float32(1), first[:, -1]), steps(x + np.float32(1), np.full(128, 3, np.float32))
    for got, w in zip(run(body, x).values, wanted, strict=True):
        same(got, w)


def test_a_scan_depends_on_what_comes_before_only() -> None:
    """What is undefined at one place makes what follows undefined, and nothing before it."""

    def body(a: Tile) -> Tile:
        data, dst = tile((2, 5)), tile((2, 5))
        isa.copy(part(data, slice(None), slice(0, 2)), part(a, slice(None), slice(0, 2)), "dve")
        isa.copy(part(data, slice(None), slice(3, 5)), part(a, slice(None), slice(3, 5)), "dve")
        isa.tensor_tensor_scan(dst, data, a, 0.0, "mult", "add")
        return dst

    assert run(body, given(2, 5)).poison[0].tolist() == [[False, False, True, True, True]] * 2


def test_a_reduction_without_a_meaning_is_refused() -> None:
    with pytest.raises(Unsupported, match="subtract"):
        lowered(reduced("subtract", (4, 1), (1,)), whole(4, 3))


def test_bits_are_not_negated() -> None:
    x = np.ones((4, 3), np.int32)
    with pytest.raises(Unsupported, match="tensor_reduce by bitwise_or, negated"):
        lowered(reduced("bitwise_or", (4, 1), (1,), "int32", negate=True), x)
