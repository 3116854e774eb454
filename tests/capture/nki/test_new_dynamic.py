"""What only the device knows chooses elements: gathers, scatters and moved views, on numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lowering.capture.nki import isa_new as nisa
from lowering.capture.nki import language_new as nl
from tests.capture.nki.new_api import hbm, kernel, ps, refused, sb, unmodelled, values

TABLE = np.arange(10 * 6, dtype=np.float32).reshape(10, 6)
ROWS = np.array([[3], [0], [9], [3]], np.int32)
ONE = np.array([[4]], np.int32)


def _in_hbm(x: Any) -> Any:
    place = hbm(*x.shape, dtype=x.dtype)
    nisa.dma_copy(place, x)
    return place


def gather(table: Any, rows: Any) -> Any:
    out = sb(4, 6)
    nisa.dma_copy(out, _in_hbm(table).ap([[6, 4], [1, 6]], vector_offset=rows))
    return out


def gather_part(table: Any, rows: Any) -> Any:
    out = sb(4, 3)
    nisa.dma_copy(out, _in_hbm(table).ap([[6, 4], [1, 3]], offset=2, vector_offset=rows))
    return out


def gather_by_view(table: Any, rows: Any) -> Any:
    out = sb(4, 2)
    nisa.dma_copy(out, _in_hbm(table).vector_select(0, rows)[:, 1:3])
    return out


def scatter(table: Any, rows: Any) -> Any:
    place, out = _in_hbm(table), sb(10, 6)
    four = nl.full((4, 6), -1.0, nl.float32)
    nisa.dma_copy(place.ap([[6, 4], [1, 6]], vector_offset=rows), four)
    nisa.dma_copy(out, place)
    return out


def gather_of_blocks(table: Any, rows: Any) -> Any:
    """Rows of a table of another shape: the stride of the pattern is that of dimension 1."""
    out = sb(4, 6)
    blocks = _in_hbm(table).reshape((2, 5, 6))
    nisa.dma_copy(out, blocks.ap([[6, 4], [1, 6]], vector_offset=rows, indirect_dim=1))
    return out


def moved_by_half_rows(table: Any, place: Any) -> Any:
    """A shape that is given to have a dimension of the wanted stride."""
    out = sb(1, 6)
    halves = _in_hbm(table).reshape((20, 3))
    nisa.dma_copy(out, halves.ap([[6, 1], [1, 6]], scalar_offset=place, indirect_dim=0))
    return out


def moved(table: Any, place: Any) -> Any:
    out = sb(2, 6)
    nisa.dma_copy(out, _in_hbm(table).ap([[6, 2], [1, 6]], scalar_offset=place))
    return out


def selected(table: Any, place: Any) -> Any:
    out = sb(1, 6)
    nisa.dma_copy(out, _in_hbm(table).select(0, place))
    return out


def by_register(table: Any, place: Any) -> Any:
    """The register keeps what it was when it was loaded."""
    register, out = nisa.register_alloc(), sb(10, 2)
    nisa.register_load(register, place)
    nisa.memset(place, 0)
    nisa.tensor_copy(out, table[:, nl.ds(register, 2)])
    return out


def stored(table: Any, place: Any) -> Any:
    register, out = nisa.register_alloc(), sb(1, 1, dtype="int32")
    nisa.register_load(register, place)
    nisa.register_store(out, register)
    return out


def _scattered() -> np.ndarray:
    after = TABLE.copy()
    after[ROWS[:, 0]] = -1
    return after


WIDE = np.arange(32 * 40, dtype=np.float32).reshape(32, 40)
COLUMNS = np.random.default_rng(1).integers(0, 40, (32, 2)).astype(np.uint16)


def of_groups(data: Any, index: Any) -> Any:
    out = sb(32, 20)
    nisa.tensor_copy(out, data.indirect(index, num_elem=20))
    return out


def test_columns_that_a_group_of_partitions_shares() -> None:
    wanted = np.empty((32, 20), np.float32)
    for p in range(32):
        for j in range(20):
            wanted[p, j] = WIDE[p, COLUMNS[p // 16 * 16 + j % 16, j // 16]]
    assert np.array_equal(values(of_groups, WIDE, COLUMNS), wanted)
    with kernel():
        with refused("indices in 8 partitions"):
            sb(8, 40).indirect(sb(8, 2, dtype="uint16"))
        with unmodelled("an operand of nc_matmul"):
            nisa.nc_matmul(ps(20, 8), sb(16, 40).indirect(sb(16, 2, dtype="uint16"), 20), sb(16, 8))


def by_float(table: Any, place: Any) -> Any:
    register, wide, out = nisa.register_alloc(None), nl.copy(place, dtype=nl.float32), sb(10, 2)
    nisa.register_load(register, wide)
    nisa.tensor_copy(out, table[:, nl.ds(register, 2)])
    return out


def reversed_columns(table: Any, place: Any) -> Any:
    out = sb(10, 6)
    nisa.tensor_copy(out, table.ap([[6, 10], [-1, 6]], offset=5))
    return out


def one_partition_to_all(table: Any, place: Any) -> Any:
    out = sb(32, 6)
    nisa.nc_stream_shuffle(out, table[2:3], [0] * 32)
    return out


CASES: list[tuple[Callable[..., Any], np.ndarray, np.ndarray]] = [
    (gather, ROWS, TABLE[ROWS[:, 0]]),
    (gather_part, ROWS, TABLE[ROWS[:, 0], 2:5]),
    (gather_by_view, ROWS, TABLE[ROWS[:, 0], 1:3]),
    (scatter, ROWS, _scattered()),
    (gather_of_blocks, ROWS, TABLE[ROWS[:, 0]]),
    (moved, ONE, TABLE[4:6]),
    (moved_by_half_rows, ONE, TABLE[2:3]),
    (selected, ONE, TABLE[4:5]),
    (by_register, ONE, TABLE[:, 4:6]),
    (stored, ONE, ONE),
    (by_float, ONE, TABLE[:, 4:6]),
    (reversed_columns, ONE, TABLE[:, ::-1]),
    (one_partition_to_all, ONE, np.broadcast_to(TABLE[2], (32, 6))),
]


@pytest.mark.parametrize(("body", "index", "wanted"), CASES, ids=[case[0].__name__ for case in CASES])
def test_elements_that_the_device_chooses(body: Callable[..., Any], index: np.ndarray, wanted: np.ndarray) -> None:
    assert np.array_equal(values(body, TABLE, index), wanted)


def test_a_second_index_is_refused() -> None:
    with kernel():
        data, index, register = sb(8, 64), sb(1, 1, dtype="int32"), nisa.register_alloc()
        nisa.register_load(register, index)
        moved = data[:, nl.ds(register, 8)]
        with refused("one index that only the device knows, and not two"):
            moved.ap([[64, 8], [1, 8]], scalar_offset=index)
        with refused("of a tensor of 512 elements"):
            data.ap([[64, 8], [1, 8]], scalar_offset=8)


def test_a_product_in_a_tile_of_another_dtype_is_refused() -> None:
    with kernel():
        narrow = ps(128, 512).view("bfloat16")
        with unmodelled("a product that is written to a float32 tile as bfloat16"):
            nisa.nc_matmul(narrow[:, 512:1024], sb(128, 128), sb(128, 512))


def test_rows_beyond_a_part_of_a_table_are_out_of_bounds() -> None:
    """The table goes on there in memory; the view does not."""

    def skipping(table: Any, rows: Any) -> Any:
        out = nl.full((4, 6), -1.0, nl.float32)
        nisa.dma_copy(out, _in_hbm(table)[0:8].vector_select(0, rows), oob_mode=nisa.oob_mode.skip)
        return out

    def scattering(table: Any, rows: Any) -> Any:
        place, out = _in_hbm(table), sb(10, 6)
        nisa.dma_copy(place[0:8].vector_select(0, rows), nl.full((4, 6), -1.0, nl.float32))
        nisa.dma_copy(out, place)
        return out

    want = TABLE[ROWS[:, 0]]
    want[2] = -1
    assert np.array_equal(values(skipping, TABLE, ROWS), want)
    after = TABLE.copy()
    after[[3, 0]] = -1
    assert np.array_equal(values(scattering, TABLE, ROWS), after)


def test_loops_whose_turns_only_the_device_counts_are_told_with_their_line() -> None:
    def loaded() -> Any:
        register = nisa.register_alloc()
        nisa.register_load(register, sb(1, 1, dtype="int32"))
        return register

    with kernel() as trace:
        for stop in (loaded(), sb(1, 1, dtype="int32")):
            with unmodelled("nl.dynamic_range with a bound that only the device knows", "as a Python number"):
                list(nl.dynamic_range(0, stop))
        with unmodelled("nl.fori_loop with a bound that only the device knows"):
            nl.fori_loop(loaded(), 4, lambda i: None)
        with unmodelled("nl.while_loop whose number of turns only the device knows"):
            nl.while_loop(loaded(), lambda register: None)
        known = nisa.register_alloc(3)
        assert list(nl.dynamic_range(0, known)) == [0, 1, 2]
        left = nisa.register_alloc(2)
        nl.while_loop(left, lambda register: nisa.register_move(register, register - 1))
        assert [instr.op for instr in trace.instrs] == ["tensor_load"] * 3
