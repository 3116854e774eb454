"""The Tensor engine: products of integers, exact in every order; what PSUM accumulates; transposes move elements."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from lowering.capture.nki import instructions as isa
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import PSUM
from lowering.errors import Unsupported
from tests.frontends.nki.instruction_runs import BF16, given, lowered, part, run, same, tile, traced, value


def small(*shape: int, dtype: type = np.float32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).integers(-4, 5, shape).astype(dtype)


def product(passes: int = 1, dtype: str = "float32", **more):
    def body(*operands: Tile) -> Tile:
        dst = tile((operands[0].shape[-1], operands[1].shape[-1]), dtype, PSUM)
        for i in range(passes):
            isa.nc_matmul(dst, operands[2 * i], operands[2 * i + 1], **more)
        return dst

    return body


@pytest.mark.parametrize("dtype", [np.float32, BF16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3])
@pytest.mark.parametrize(("k", "m", "n"), [(1, 1, 1), (128, 128, 65), (7, 3, 5)])
def test_a_product(k: int, m: int, n: int, dtype: type) -> None:
    x, y = small(k, m, dtype=dtype), small(k, n, dtype=dtype, seed=1)
    same(value(product(), x, y), x.astype(np.float32).T @ y.astype(np.float32))


def test_operands_of_two_narrow_dtypes() -> None:
    x, y = small(5, 3, dtype=BF16), small(5, 4, dtype=np.float16, seed=1)
    same(value(product(), x, y), x.astype(np.float32).T @ y.astype(np.float32))


@pytest.mark.parametrize("asked", [None, False, True])
def test_the_first_pass_overwrites_and_later_ones_add(asked: bool | None) -> None:
    arrays = [small(6, n, seed=i) for i, n in enumerate((3, 4, 3, 4))]
    ran = run(product(2, accumulate=asked), *arrays)
    first, second = arrays[0].T @ arrays[1], arrays[2].T @ arrays[3]
    if asked is True:  # onto memory that nothing was written to
        assert ran.poison[0].all()
    else:
        same(ran.values[0], second if asked is False else first + second)


def test_passes_are_added_in_their_order() -> None:
    """2^24 + 1 + 1 in f32 is 2^24 from the left; the sum of the two ones first would give 2^24 + 2."""
    one, arrays = np.ones((1, 1), np.float32), []
    for x in (2.0**24, 1.0, 1.0):
        arrays += [np.full((1, 1), x, np.float32), one]
    assert value(product(3), *arrays)[0, 0] == 2.0**24


def test_a_pass_over_old_and_new_places() -> None:
    """Where a location was written before the pass adds, elsewhere it overwrites."""

    def body(x: Tile, y: Tile, w: Tile) -> Tile:
        dst = tile((3, 6), space=PSUM)
        isa.nc_matmul(part(dst, slice(None), slice(0, 4)), x, y)
        isa.nc_matmul(part(dst, slice(None), slice(2, 6)), x, w)
        return dst

    x, y, w = small(5, 3), small(5, 4, seed=1), small(5, 4, seed=2)
    wanted = np.zeros((3, 6), np.float32)
    wanted[:, :4] += x.T @ y
    wanted[:, 2:] += x.T @ w
    same(value(body, x, y, w), wanted)


def test_double_row_contracts_partitions_and_pairs() -> None:
    x, y = small(5, 2, 3, dtype=ml_dtypes.float8_e5m2), small(5, 2, 4, dtype=ml_dtypes.float8_e5m2, seed=1)
    wanted = np.einsum("kjm,kjn->mn", x.astype(np.float32), y.astype(np.float32))
    same(value(product(perf_mode="double_row"), x, y), wanted)


def test_psum_in_bf16_is_rounded_after_every_pass() -> None:
    arrays = []
    for x in (256.0, 1.0, 1.0):
        arrays += [np.full((1, 1), x, np.float32), np.ones((1, 1), np.float32)]
    assert value(product(3, "bfloat16"), *arrays)[0, 0] == 256
    assert value(product(3), *arrays)[0, 0] == 258


def test_tfloat32_operands_are_rounded_to_ten_fraction_bits() -> None:
    def body(x: Tile, y: Tile) -> Tile:
        dst = tile((1, 1), space=PSUM)
        isa.nc_matmul(dst, x.remade(x.shape, x.strides, dtype="tfloat32"), y.remade(y.shape, y.strides, dtype=kind))
        return dst

    x, kind = np.array([[1 + 2.0**-11 + 2.0**-20]], np.float32), "tfloat32"
    assert value(body, x, np.ones((1, 1), np.float32))[0, 0] == 1 + 2.0**-10
    kind = "float32"
    with pytest.raises(Unsupported, match="tfloat32 operand and another"):
        lowered(body, x, x)


def test_a_mask_bars_rows_of_a_product() -> None:
    mask = np.broadcast_to(np.arange(4)[:, None] < 3, (4, 5))

    def body(old: Tile, x: Tile, y: Tile) -> Tile:
        isa.nc_matmul(old, x, y, accumulate=False, mask=mask)
        return old

    old, x, y = given(4, 5), small(6, 4), small(6, 5, seed=1)
    same(value(body, old, x, y), np.where(mask, x.T @ y, old))


def test_an_order_and_assumptions_are_said() -> None:
    program = lowered(product(), small(8, 3), small(8, 4))
    (dot,) = [op for op in program.body.ops if op.name == "dot"]
    assert dot.attrs["order"] == "unordered" and dot.attrs["impl"] == "nki" and dot.attrs["precision"] == "ieee"
    assert any("products in the PE are not rounded" in note for note in program.notes)
    assert any("f32 product in the PE" in note for note in program.notes)
    narrow = lowered(product(), small(8, 3, dtype=BF16), small(8, 4, dtype=BF16))
    assert not any("f32 product in the PE" in note for note in narrow.notes)


@pytest.mark.parametrize("shape", [(1, 1), (128, 5), (7, 3, 2)])
def test_transpose(shape: tuple[int, ...]) -> None:
    x = given(*shape, dtype="bfloat16")

    def body(a: Tile) -> Tile:
        dst = tile((x[0].size, shape[0]), "bfloat16")
        isa.nc_transpose(dst, a)
        return dst

    same(value(body, x), np.ascontiguousarray(x.reshape(shape[0], -1).T))


def test_a_transpose_on_the_tensor_engine_by_an_identity() -> None:
    x = given(6, 4)
    same(value(product(is_transpose=True), x, np.eye(6, dtype=np.float32)), np.ascontiguousarray(x.T))


@pytest.mark.parametrize(("shape", "axes"), [((3, 4), (1, 0)), ((2, 3, 4), (2, 1, 0)), ((2, 3, 4, 5), (3, 1, 2, 0))])
def test_dma_transpose(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = given(*shape, dtype="int16")

    def body(a: Tile) -> Tile:
        dst = tile(tuple(shape[i] for i in axes), "int16")
        isa.dma_transpose(dst, a)
        return dst

    same(value(body, x), np.ascontiguousarray(x.transpose(axes)))


def test_only_the_tensor_engine_reads_tfloat32() -> None:
    """A copy to f32 would show whether the tile holds 10 or 23 fraction bits."""

    def body(x: Tile) -> Tile:
        narrow, moved, out = tile(x.shape, "tfloat32"), tile(x.shape, "tfloat32"), tile(x.shape)
        isa.copy(narrow, x, "dve")
        isa.copy(moved, narrow, "dve")
        isa.copy(out, moved, "dve")
        return out

    with pytest.raises(Unsupported, match="nc_copy of a tfloat32 tile"):
        lowered(body, given(4, 3))


@pytest.mark.parametrize(
    ("place", "adds"), [((0, 0), True), ((0, 16), "some"), ((4, 0), "some"), ((8, 0), False), ((0, 32), False)]
)
def test_what_a_pass_adds_to_is_told_by_place(place: tuple[int, int], adds: Any) -> None:
    """Two tiles of PSUM at addresses of the source: where the second overlaps the first, a sum goes on."""
    x, y = small(4, 8), small(4, 8, seed=1)

    def body(a: Tile, c: Tile) -> tuple[Tile, Tile]:
        first = Tile.new(PSUM, (8, 8), "float32", pinned=(0, 0))
        second = Tile.new(PSUM, (8, 8), "float32", pinned=place)
        isa.nc_matmul(first, a, c)
        isa.nc_matmul(second, a, c)
        return first, second

    trace = traced(body, x, y)
    flag = trace.instrs[1].attrs["accumulate"]
    assert isinstance(flag, np.ndarray) if adds == "some" else flag is adds
    ran, one = run(body, x, y), x.T @ y
    memory = np.zeros((24, 24), np.float32)
    memory[:8, :8] = one
    lanes, columns = slice(place[0], place[0] + 8), slice(place[1] // 4, place[1] // 4 + 8)
    memory[lanes, columns] += one
    same(ran.values[0], memory[:8, :8])
    same(ran.values[1], memory[lanes, columns])
