"""Masks of Beta-1: what they exclude is not written, not read, and not added."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lowering.capture.nki.indices_beta1 import Mask, arange
from lowering.capture.nki.masks_beta1 import regions
from tests.capture.nki.beta1 import captured, evaluated, result, whole_numbers


def test_a_box_is_a_narrower_view() -> None:
    mask = (arange(8)[:, None] < 5) & (arange(6)[None, :] >= 2)
    assert regions(mask, (8, 6)) == [(((0, 5), (2, 6)), None)]
    assert regions(arange(8)[:, None] < 9, (8, 6)) == [(((0, 8), (0, 6)), None)]
    assert regions(arange(8)[:, None] < 0, (8, 6)) == []
    assert regions(False, (8, 6)) == [] and regions(None, (8,)) == [(((0, 8),), None)]


def test_another_shape_is_an_array_or_several_boxes() -> None:
    flat = arange(4)[:, None] * 6 + arange(6)[None, :] < 15
    assert isinstance(flat, Mask)
    ((box, array),) = regions(flat, (4, 6))
    assert box == ((0, 4), (0, 6)) and array is not None and array.sum() == 15
    assert regions(flat, (4, 6), split=True) == [(((0, 2), (0, 6)), None), (((2, 3), (0, 3)), None)]


FLAT = """
@nki.jit
def kernel(x):
    n, = x.shape
    out = nl.ndarray((n,), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.mgrid[0:4, 0:6]
    inside = i_p * 6 + i_f < n
    tile = nl.ndarray((4, 6), dtype=x.dtype)
    nisa.dma_copy(src=x[i_p * 6 + i_f], dst=tile[i_p, i_f], mask=inside)
    nl.store(out[i_p * 6 + i_f], nl.square(tile, mask=inside), mask=inside)
    return out
"""


def test_out_of_bounds_under_a_ragged_mask(tmp_path: Path) -> None:
    x = whole_numbers(15)
    assert np.array_equal(result(tmp_path, FLAT, x=x), x * x)


ZEROS = """
@nki.jit
def kernel(x):
    out = nl.ndarray((8, 4), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.zeros((8, 4), dtype=x.dtype)
    i_p, i_f = nl.mgrid[0:8, 0:4]
    {}
    nl.store(out, tile)
    return out
"""
FILLED = "tile[i_p, i_f] = nl.load(x[i_p, i_f], mask=i_p < 5)"
TRIANGLE = """tile[i_p, i_f] = nl.add(nl.copy(tile), 1, mask=i_p >= i_f)
    tile[i_p, i_f] += nl.add(nl.copy(tile), 1, mask=i_p == i_f)"""


def test_a_masked_value_leaves_the_rest_of_its_destination(tmp_path: Path) -> None:
    x = whole_numbers(5, 4)
    want = np.concatenate([x, np.zeros((3, 4), np.float32)])
    assert np.array_equal(result(tmp_path, ZEROS.format(FILLED), x=x), want)


def test_a_mask_that_is_no_box(tmp_path: Path) -> None:
    want = np.tri(8, 4, dtype=np.float32) + 2 * np.eye(8, 4, dtype=np.float32)
    trace = captured(tmp_path, ZEROS.format(TRIANGLE), x=whole_numbers(5, 4))
    assert sum(instr.mask is not None for instr in trace.instrs) == 3
    assert np.array_equal(evaluated(trace, x=whole_numbers(5, 4))[0], want)


FOLDED = """
@nki.jit
def kernel(x):
    out = nl.ndarray((8, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.mgrid[0:8, 0:6]
    tile = nl.load(x)
    nl.store(out, {})
    return out
"""


@pytest.mark.parametrize(
    ("fold", "want"),
    [
        ("nl.sum(tile, axis=[1], mask=i_f < 4)", lambda x: x[:, :4].sum(1, keepdims=True)),
        ("nl.max(tile, axis=1, mask=i_p * 6 + i_f < 45)", lambda x: _ragged_max(x)),
        ("nisa.tensor_reduce(np.add, tile[i_p, i_f], axis=[1], mask=i_p >= i_f)", lambda x: np.tril(x).sum(1)[:, None]),
    ],
)
def test_masked_elements_are_not_folded(tmp_path: Path, fold: str, want: object) -> None:
    x = whole_numbers(8, 6)
    assert np.array_equal(result(tmp_path, FOLDED.format(fold), x=x), want(x))  # type: ignore[operator]


def _ragged_max(x: np.ndarray) -> np.ndarray:
    inside = np.arange(48).reshape(8, 6) < 45
    return np.where(inside, x, -np.inf).max(1, keepdims=True).astype(np.float32)


PRESENT = """
@nki.jit
def kernel(x):
    out = nl.ndarray((4, 4), dtype=x.dtype, buffer=nl.shared_hbm)
    total = nl.zeros((4, 4), dtype=x.dtype)
    i_p = nl.arange(4)[:, None]
    for i in nl.affine_range(4):
        for j in nl.affine_range(4):
            earlier = i > j
            total[...] = nl.add(total, nl.load(x), mask=earlier & (i_p < 2) if earlier else i_p < 2)
    nl.store(out, total)
    return out
"""


def test_whether_there_is_a_mask(tmp_path: Path) -> None:
    """The idiom takes None or a mask, whatever a mask's value is."""
    x = whole_numbers(4, 4)
    want = np.concatenate([6 * x[:2], np.zeros((2, 4), np.float32)])
    assert np.array_equal(result(tmp_path, PRESENT, x=x), want)


CONDITION = """
@nki.jit
def kernel(x):
    out = nl.ndarray((4, 4), dtype=x.dtype, buffer=nl.shared_hbm)
    total = nl.zeros((4, 4), dtype=x.dtype)
    for i in nl.affine_range(4):
        for j in nl.affine_range(4):
            earlier = i > j
            if earlier:
                total[...] = nl.add(total, nl.load(x))
    nl.store(out, total)
    return out
"""


def test_a_condition_on_loop_variables_counts_as_its_value(tmp_path: Path) -> None:
    x = whole_numbers(4, 4)
    assert np.array_equal(result(tmp_path, CONDITION, x=x), 6 * x)


NOTHING = """
@nki.jit
def kernel(x):
    out = nl.ndarray((4, 4), dtype=x.dtype, buffer=nl.shared_hbm)
    kept, lost = nl.zeros((4, 4), dtype=x.dtype), nl.zeros((4, 4), dtype=x.dtype)
    kept[...] = nl.load(x, mask=nl.arange(4)[:, None] < 0)
    nothing = nl.load(x, mask=nl.arange(4)[:, None] < 0)
    nl.store(out, kept)
    lost[...] = nothing
    nl.store(out[0:2], lost[0:2])
    return out
"""


def test_what_was_never_loaded_is_undefined(tmp_path: Path) -> None:
    """Assigned at once it leaves its destination alone; later it is a tile of undefined contents."""
    trace = captured(tmp_path, NOTHING, x=whole_numbers(4, 4))
    copies = [instr for instr in trace.instrs if instr.op == "nc_copy"]
    assert len(copies) == 1 and copies[0].span.line == 15
    assert sum(instr.op == "mem_set" for instr in trace.instrs) == 2
