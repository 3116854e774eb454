"""DMA, shuffles, gathers and scatters: elements move untouched, and those that no index reaches stay as they are."""

from __future__ import annotations

import numpy as np
import pytest

from lowering.capture.nki import instructions as isa
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import HBM, Indirect
from lowering.errors import Unsupported
from tests.frontends.nki.instruction_runs import BF16, f32, given, lowered, part, rounded, run, same, tile, value


def chosen(x: Tile, index: Tile, kind: str = "vector", step: int = 0, dim: int = 0, rows: int = 0) -> Tile:
    """The rows of x that ``index`` holds; or x moved by index * step."""
    base = x if not rows else x.remade((rows, *x.shape[1:]), x.strides)
    made = base.remade(base.shape, base.strides)
    made._indirect = Indirect(made.ref, index.ref, dim, kind, step)
    return made


@pytest.mark.parametrize(("source", "dtype"), [("float32", "bfloat16"), ("bfloat16", "bfloat16"), ("int32", "int16")])
def test_dma_copy(source: str, dtype: str) -> None:
    x = given(6, 4, dtype=source)

    def body(a: Tile) -> Tile:
        dst = tile((3, 8), dtype, HBM)
        isa.dma_copy(dst, a)
        return dst

    same(value(body, x), rounded(f32(x), dtype).reshape(3, 8))


def test_dma_copy_that_adds() -> None:
    old, x = given(6, 4, dtype="bfloat16"), given(6, 4, seed=1)

    def body(dst: Tile, a: Tile) -> Tile:
        isa.dma_copy(dst, a, rmw="add")
        return dst

    same(value(body, old, x), rounded(f32(old) + x, "bfloat16"))


def test_rows_are_gathered() -> None:
    x, index = given(9, 4, dtype="bfloat16"), np.array([[3], [3], [8], [0], [1]], np.int32)

    def body(table: Tile, i: Tile) -> Tile:
        dst = tile((5, 4), "bfloat16")
        isa.dma_copy(dst, chosen(table, i, rows=5))
        return dst

    same(value(body, x, index), x[index[:, 0]])


def test_a_view_is_moved_by_one_number() -> None:
    x, index = given(9, 4), np.array([[2]], np.int32)

    def body(table: Tile, i: Tile) -> Tile:
        dst = tile((3, 4))
        isa.dma_copy(dst, chosen(table, i, "scalar", step=8, rows=3))
        return dst

    same(value(body, x, index), x[4:7])


def test_rows_out_of_bounds_are_undefined_or_skipped() -> None:
    x, index, old = given(3, 4), np.array([[0], [5], [2]], np.int32), given(3, 4, seed=1)

    def gathered(oob: str):
        def body(table: Tile, i: Tile, dst: Tile) -> Tile:
            isa.dma_copy(dst, chosen(table, i), oob=oob)
            return dst

        return body

    assert run(gathered("error"), x, index, old).poison[0].any(1).tolist() == [False, True, False]
    same(value(gathered("skip"), x, index, old), np.stack([x[0], old[1], x[2]]))
    narrow = given(3, 4, dtype="bfloat16")
    kept = value(gathered("skip"), narrow, index, old)
    same(kept, np.stack([f32(narrow[0]), old[1], f32(narrow[2])]))  # what dst keeps is not rounded


def test_rows_are_scattered() -> None:
    old, x, index = given(6, 4), given(3, 4, seed=1), np.array([[4], [0], [7]], np.int32)

    def body(dst: Tile, a: Tile, i: Tile) -> Tile:
        isa.dma_copy(chosen(dst, i, rows=3), a)
        return dst

    wanted = old.copy()
    wanted[[4, 0]] = x[:2]  # row 7 is outside
    same(value(body, old, x, index), wanted)


@pytest.mark.parametrize("unique", [True, False])
def test_rows_are_added(unique: bool) -> None:
    old, x = given(6, 4), np.random.default_rng(0).integers(-9, 9, (3, 4)).astype(np.float32)
    old = np.round(old)
    index = np.array([[4], [0], [3]] if unique else [[4], [0], [4]], np.int32)

    def body(dst: Tile, a: Tile, i: Tile) -> Tile:
        isa.dma_copy(chosen(dst, i, rows=3), a, rmw="add", unique=unique)
        return dst

    wanted = old.copy()
    np.add.at(wanted, index[:, 0], x)
    same(value(body, old, x, index), wanted)


@pytest.mark.parametrize("lanes", [16, 48])
def test_a_group_of_partitions_shares_its_columns(lanes: int) -> None:
    """Element j in partition p is at column index[p // 16 * 16 + j % 16, j // 16]."""
    x, index = given(lanes, 40), np.random.default_rng(0).integers(0, 40, (lanes, 2)).astype(np.int32)

    def body(a: Tile, i: Tile) -> Tile:
        dst = tile((lanes, 20))
        isa.dma_copy(dst, chosen(a.remade((lanes, 20), a.strides), i, "free", step=16, dim=1))
        return dst

    p, j = np.indices((lanes, 20))
    same(value(body, x, index), x[p, index[p // 16 * 16 + j % 16, j // 16]])


def test_a_column_beyond_the_partition_is_no_particular_value() -> None:
    """It is not the next partition's."""
    data, index = given(16, 10), np.full((16, 1), 3, np.uint16)
    index[5:7, 0] = 10, 9

    def body(a: Tile, i: Tile) -> Tile:
        dst = tile((16, 16))
        isa.copy(dst, chosen(a.remade((16, 16), a.strides), i, "free", step=16, dim=1), "dve")
        return dst

    ran = run(body, data, index)
    columns = index[np.arange(16) % 16, 0]
    assert np.array_equal(ran.poison[0], np.broadcast_to(columns > 9, (16, 16)))
    inside = columns <= 9
    same(ran.values[0][:, inside], data[:, columns[inside]])


def test_an_index_of_a_kind_without_a_meaning_is_refused() -> None:
    def body(a: Tile, i: Tile) -> Tile:
        dst = tile((3, 4))
        isa.dma_copy(dst, chosen(a, i, "diagonal"))
        return dst

    with pytest.raises(Unsupported, match="of kind diagonal"):
        lowered(body, given(3, 4), np.zeros((3, 1), np.int32))


@pytest.mark.parametrize("count", [1, 3])
def test_dma_compute(count: int) -> None:
    arrays = [np.round(given(6, 4, seed=i, scale=8.0)).astype(BF16) for i in range(count)]
    scales = [2.0, 1.0, -0.5][:count]

    def body(*tiles: Tile) -> Tile:
        dst = tile((6, 4), "bfloat16")
        isa.dma_compute(dst, list(tiles), "add", scales)
        return dst

    wanted = sum(f32(x) * np.float32(s) for x, s in zip(arrays, scales, strict=True))
    same(value(body, *arrays) + BF16(0), rounded(np.asarray(wanted), "bfloat16") + BF16(0))


@pytest.mark.parametrize("lanes", [32, 64])
def test_shuffle(lanes: int) -> None:
    mask = [(5 * i + 3) % 32 for i in range(30)] + [255, 255]
    old, x = given(lanes, 3, dtype="bfloat16"), given(lanes, 3, dtype="bfloat16", seed=1)

    def body(dst: Tile, a: Tile) -> Tile:
        isa.shuffle(dst, a, mask)
        return dst

    wanted = old.copy()
    for p in range(lanes):
        if mask[p % 32] != 255:
            wanted[p] = x[p // 32 * 32 + mask[p % 32]]
    same(value(body, old, x), wanted)


def test_n_gather() -> None:
    x, index = given(128, 9), np.random.default_rng(0).integers(0, 9, (128, 5)).astype(np.uint32)

    def body(a: Tile, i: Tile) -> Tile:
        dst = tile((128, 5))
        isa.n_gather(dst, a, i)
        return dst

    same(value(body, x, index), np.take_along_axis(x, index.astype(np.int64), 1))


@pytest.mark.parametrize(("run_length", "valid"), [(1, None), (1, 20), (2, 10)])
def test_local_gather(run_length: int, valid: int | None) -> None:
    """In each group of 16 partitions, its indices taken partition first, for every partition of the group."""
    x = given(32, 12, dtype="bfloat16")
    index = np.random.default_rng(0).integers(0, 12 // run_length, (32, 2)).astype(np.uint16)
    count = valid or 32

    def body(a: Tile, i: Tile) -> Tile:
        dst = tile((32, count * run_length), "bfloat16")
        isa.local_gather(dst, a, i, run_length, valid)
        return dst

    wanted = np.zeros((32, count, run_length), BF16)
    for group in (0, 16):
        flat = index[group : group + 16].flatten(order="F")[:count]
        wanted[group : group + 16] = x[group : group + 16].reshape(16, -1, run_length)[:, flat]
    index *= np.uint16(run_length)  # counts elements
    same(value(body, x, index), wanted.reshape(32, -1))


def test_what_a_view_has_not_reached_is_undefined() -> None:
    """Two stores into halves, with a gap of one column."""

    def body(a: Tile) -> Tile:
        dst = tile((4, 7))
        isa.dma_copy(part(dst, slice(None), slice(0, 3)), a)
        isa.dma_copy(part(dst, slice(None), slice(4, 7)), a)
        return dst

    x = given(4, 3)
    ran = run(body, x)
    assert ran.poison[0].tolist() == [[False] * 3 + [True] + [False] * 3] * 4
    same(ran.values[0][:, 4:], x)


def test_random_numbers_are_fresh_each_time() -> None:
    def body(a: Tile) -> tuple[Tile, ...]:
        first, second, bits, uniform = tile(a.shape), tile(a.shape), tile(a.shape, "uint32"), tile(a.shape, "bfloat16")
        isa.dropout(first, a, 0.5)
        isa.dropout(second, a, 0.5)
        isa.rng(bits)
        isa.rand2(uniform, -2.0, 3.0)
        return first, second, bits, uniform

    x = given(64, 8)
    first, second, bits, uniform = run(body, x).values
    assert ((first == x) | (first == 0)).all() and (first == 0).any() and (first == x).any()
    assert (first != second).any() and len(np.unique(bits)) > 400
    assert (f32(uniform) >= -2).all() and (f32(uniform) <= 3).all()


def test_the_state_of_a_generator_is_its_seeds_until_a_number_is_drawn() -> None:
    seeds = given(128, 6, dtype="uint32")

    def body(a: Tile) -> tuple[Tile, ...]:
        states = [tile(a.shape, "uint32") for _ in range(5)]
        isa.rand_set_state(a)
        isa.rand_get_state(states[0])
        isa.rng(tile((128, 4), "uint32"), "dve")  # the other engine has another generator
        isa.rand_get_state(states[1])
        isa.rng(tile((128, 4), "uint32"), "pool")
        isa.rand_get_state(states[2])
        isa.rand_get_state(states[3])
        isa.rand_get_state(states[4], "dve")
        return tuple(states)

    ran = run(body, seeds)
    same(ran.values[0], seeds)
    same(ran.values[1], seeds)
    same(ran.values[2], ran.values[3])
    assert (ran.values[2] != seeds).mean() > 0.9 and (ran.values[4] != ran.values[3]).mean() > 0.9
    assert any("right after rand_set_state" in note for note in ran.program.notes)


def test_tiles_written_in_slices_stay_values_until_a_write_overlaps_them() -> None:
    x = given(4, 6)

    def body(a: Tile, overlap: bool = False) -> Tile:
        both, dst = tile((4, 12)), tile((4, 12))
        for i in (0, 1):
            isa.tensor_scalar(part(both, slice(None), slice(6 * i, 6 * i + 6)), a, "add", float(i))
        if overlap:
            isa.memset(part(both, slice(1, 2), slice(4, 8)), 9.0)
        for i in (0, 1):
            isa.copy(part(dst, slice(None), slice(6 * i, 6 * i + 6)), part(both, slice(None), slice(6 * i, 6 * i + 6)),
                     "dve")  # fmt: skip
        return dst

    wanted = np.concatenate([x, x + np.float32(1)], 1)
    same(value(body, x), wanted)
    assert [op.name for op in lowered(body, x).body.ops].count("read") == 1  # of the whole result
    wanted[1, 4:8] = 9
    same(value(lambda a: body(a, True), x), wanted)
