"""Beta-1: keywords, masks of scans, repeated rows, tensors of a grid, and what its reading rests on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lowering.errors import Unsupported, UsageError
from tests.capture.nki.beta1 import captured, evaluated, result, whole_numbers

ONE = """
@nki.jit(platform_target={target!r})
def kernel(x):
    out = nl.ndarray((8, 6), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.arange(8)[:, None], nl.arange(6)[None, :]
    tile = nl.load(x)
    {line}
    nl.store(out, tile)
    return out
"""


def one(line: str, target: str = "trn2") -> str:
    return ONE.format(line=line, target=target)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "tile = nisa.activation(op=np.exp, data=tile, scael=2.0)",
            "nisa.activation has no keyword scael: scale is meant?",
        ),
        ("tile = nisa.tensor_scalar(tile, np.add, 1.0, operand_1=2.0)", "operand_1: operand1 is meant?"),
        ("tile = nisa.tensor_reduce(np.add, tile, axis=[1], keepdim=True)", "keepdim: keepdims is meant?"),
        ("tile = nisa.tensor_copy(tile, xyzzy=1)", "nisa.tensor_copy has no keyword xyzzy: Its keywords are dtype, "),
    ],
)
def test_a_keyword_that_is_not_documented(line: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        captured(tmp_path, one(line), x=whole_numbers(8, 6))
    assert message in str(caught.value) and "kernel.py:13: " in str(caught.value)


def test_keywords_that_kernels_use_without_documentation_are_taken(tmp_path: Path) -> None:
    x = whole_numbers(8, 6)
    line = "tile = nisa.activation(op=np.square, data=tile, scale=2.0, buffer=nl.sbuf, name='a')"
    assert np.array_equal(result(tmp_path, one(line), x=x), (2 * x) ** 2)


def test_a_mask_of_a_scan_may_leave_out_what_comes_last(tmp_path: Path) -> None:
    x = whole_numbers(8, 6)
    masked = "y = nisa.tensor_tensor_scan(tile, tile, 0.0, np.multiply, np.add, mask={}); tile[...] = y"
    sums = np.zeros_like(x)
    for j in range(6):
        sums[:, j] = x[:, j] * (sums[:, j - 1] if j else 0) + x[:, j]
    triangle = np.arange(8)[:, None] >= np.arange(6)[None, :]
    got = result(tmp_path, one(masked.format("i_f <= i_p")), x=x)
    assert np.array_equal(got, np.where(triangle, sums, x))
    got = result(tmp_path, one(masked.format("(i_f < 4) & (i_p > 2)")), x=x)
    kept = (np.arange(6) < 4) & (np.arange(8) > 2)[:, None]
    assert np.array_equal(got, np.where(kept, sums, x))
    for mask in ("i_f >= i_p", "i_f >= 2"):
        with pytest.raises(Unsupported, match="a mask that leaves out elements before others"):
            captured(tmp_path, one(masked.format(mask)), x=x)


ROWS = """
@nki.jit
def kernel(x, rows):
    out = nl.ndarray((5, 6), dtype=nl.{dtype}, buffer=nl.shared_hbm)
    nl.store(out, nl.zeros((5, 6), nl.{dtype}))
    i_f = nl.arange(6)[None, :]
    place = nl.load(rows)
    nl.atomic_rmw(out[place[nl.arange(4)[:, None], 0], i_f], value=nl.load(x), op=np.add)
    return out
"""


def test_rows_that_repeat_add_up(tmp_path: Path) -> None:
    x, rows = whole_numbers(4, 6), np.array([[3], [1], [3], [3]], np.int32)
    wanted = np.zeros((5, 6), np.float32)
    np.add.at(wanted, rows[:, 0], x)
    assert np.array_equal(result(tmp_path, ROWS.format(dtype="float32"), x=x, rows=rows), wanted)
    with pytest.raises(Unsupported, match="adds to places that may repeat, in bf16"):
        result(tmp_path, ROWS.format(dtype="bfloat16"), x=x, rows=rows)


GRID = """
@nki.jit
def inner(x):
    kept = {}
    pid = nl.program_id(0)
    {}
    nl.store(kept[nl.ds(4 * pid, 4), 0:6], nl.load(x[nl.ds(4 * pid, 4), 0:6]))
    return kept

def kernel(x):
    return inner[2](x)
"""
MADE = "nl.ndarray((8, 6), dtype=x.dtype, buffer=nl.shared_hbm)"


@pytest.mark.parametrize(
    "line",
    [
        "pass",
        f"other = {MADE} if pid == 1 else None",  # another one of its own
        f"other = {MADE} if pid == 0 else None",  # which the second does not use
        f"others = [{MADE} for i in range(2)]",
        f"for i in nl.affine_range(2): other = {MADE}",
    ],
)
def test_shared_tensors_of_a_grid_are_known_by_where_they_are_made(line: str, tmp_path: Path) -> None:
    x = whole_numbers(8, 6)
    assert np.array_equal(result(tmp_path, GRID.format(MADE, line), x=x), x)


@pytest.mark.parametrize(
    ("first", "line"),
    [
        (MADE, f"others = [{MADE} for i in range(2 - pid)]"),  # which of two is the one?
        (f"({MADE} if nl.program_id(0) == 0 else {MADE})", "pass"),
        (MADE, f"others = {MADE} if pid == 0 else [{MADE}]"),
    ],
)
def test_shared_tensors_that_could_be_one_or_another_are_refused(first: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="some instances of a grid do not make"):
        captured(tmp_path, GRID.format(first, line), x=whole_numbers(8, 6))


SUM = """
@nki.jit(platform_target="trn3")
def kernel(x):
    out = nl.ndarray((6, 6), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.mgrid[0:8, 0:6]
    tile = nl.load(x[i_p, i_f])
    total = nl.{}((6, 6), nl.float32, buffer=nl.psum)
    for i in nl.affine_range(2):
        total += nl.matmul(tile, tile, transpose_x=True)
    nl.store(out, nl.matmul(total, total, transpose_x=True))
    return out
"""


@pytest.mark.parametrize(("made", "said", "unsaid"), [("ndarray", "fresh", "zeros"), ("zeros", "zeros", "fresh")])
def test_what_a_reading_rests_on_is_said(made: str, said: str, unsaid: str, tmp_path: Path) -> None:
    x = whole_numbers(8, 6)
    trace = captured(tmp_path, SUM.format(made), x=x)
    names = [name.split(":")[0] for name in trace.assumed]
    assert {"beta1_mgrid", "beta1_psum_operand", f"beta1_psum_{said}"} <= set(names)
    assert f"beta1_psum_{unsaid}" not in names
    assert any("is read for gen3, and its decorator says platform_target='trn3'" in note for note in trace.notes)
    total = 2 * x.T @ x
    assert np.array_equal(evaluated(trace, x=x)[0], total.T @ total)


def test_a_kernel_for_the_device_that_it_is_read_for_has_no_note(tmp_path: Path) -> None:
    assert not captured(tmp_path, one("pass"), x=whole_numbers(8, 6)).notes


PLACED = """
import neuronxcc.nki.compiler as ncc

@nki.jit
def kernel(x):
    out = nl.ndarray((8, 6), dtype=x.dtype, buffer=nl.shared_hbm)
    one = nl.ndarray((par_dim(8), 6), x.dtype, buffer=ncc.sbuf.alloc(lambda idx, pdim_size, fdim_size: (0, 0)))
    two = {}
    one[...] = nl.load(x)
    for i in range(2):
        two[i, :, :] = nl.multiply(nl.load(x), i + 2.0)
    nl.store(out, one)
    return out
"""
BLOCKS = "nl.{}((2, par_dim(8), 6), x.dtype, buffer=ncc.sbuf.mod_alloc(base_addr={}, base_partition={}, {}))"


@pytest.mark.parametrize("made", ["ndarray", "zeros"])
@pytest.mark.parametrize(
    ("byte", "lane", "counts", "rows", "columns", "block"),
    [
        (0, 0, "num_free_tiles=(2,)", slice(0, 8), slice(0, 6), 0),
        (12, 0, "num_free_tiles=(2,)", slice(0, 8), slice(3, 6), 0),
        (0, 4, "num_par_tiles=(1,)", slice(4, 8), slice(0, 6), 1),  # both blocks are one tile: the second stays
        (24, 0, "num_free_tiles=(2,)", slice(0, 0), slice(0, 6), 0),
    ],
)
def test_tensors_at_overlapping_places_share_memory(
    made: str, byte: int, lane: int, counts: str, rows: slice, columns: slice, block: int, tmp_path: Path
) -> None:
    x = whole_numbers(8, 6)
    wanted = x.copy()
    height, width = rows.stop - rows.start, columns.stop - columns.start
    wanted[rows, columns] = (x * (block + 2))[:height, :width]
    source = PLACED.format(BLOCKS.format(made, byte, lane, counts))
    assert np.array_equal(result(tmp_path, source, x=x), wanted)


def test_a_place_of_another_kind_is_refused(tmp_path: Path) -> None:
    source = PLACED.format("one").replace("(0, 0)", "(0, 0, 0)")
    with pytest.raises(UsageError, match=r"it has to be \(partition, byte\)"):
        captured(tmp_path, source, x=whole_numbers(8, 6))
