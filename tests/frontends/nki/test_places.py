"""Tensors at overlapping addresses share memory: what one writes the other reads."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.evaluator import Machine
from equivalence.judge.planes import value
from lowering.capture.nki import instructions
from lowering.capture.nki.dtypes import HELD
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import HBM, NEW, SBUF, NkiTrace
from lowering.capture.nki.tracer import Tracer
from lowering.errors import Unsupported
from lowering.nki_program import lower_nki
from tests.frontends.nki.instruction_runs import part, tile
from tests.frontends.nki.instruction_runs import run as run_body

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def run(first: tuple[int, int], second: tuple[int, int], dtype: str = "float32") -> np.ndarray:
    """X goes to one tile, zeros to another, then the first one is copied out."""
    trace = NkiTrace("k", NEW)
    with Tracer(trace) as tracer:
        x = Tile.whole(tracer.storage(HBM, "float32", X.shape, origin="input", data=X, name="x"))
        out = Tile.new(HBM, X.shape, "float32")
        a = Tile.new(SBUF, X.shape, "float32", pinned=first)
        b = Tile.new(SBUF, (2, 2), dtype, pinned=second)
        instructions.dma_copy(a, x)
        instructions.memset(b, 0)
        instructions.dma_copy(out, a)
        trace.inputs, trace.outputs = [("x", x.ref)], [("out0", out.ref)]
    outcome = Machine(lower_nki(trace), ()).run({"x": X})
    return value(outcome.outputs["out0"])


def cleared(rows: slice, columns: slice) -> np.ndarray:
    made = X.copy()
    made[rows, columns] = 0
    return made


@pytest.mark.parametrize(
    ("second", "rows", "columns"),
    [((1, 0), slice(1, 3), slice(0, 2)), ((0, 8), slice(0, 2), slice(2, 4)), ((2, 4), slice(2, 3), slice(1, 3))],
)
def test_what_overlaps_is_overwritten(second: tuple[int, int], rows: slice, columns: slice) -> None:
    assert np.array_equal(run((0, 0), second), cleared(rows, columns))
    moved = run((5, 64), (second[0] + 5, second[1] + 64))
    assert np.array_equal(moved, cleared(rows, columns))


def test_elements_of_other_sizes_share_bytes() -> None:
    """Two bf16 at byte 4 are one f32, at byte 6 the upper half of one and the lower of the next."""
    made = run((0, 0), (0, 4), "bfloat16")
    assert np.array_equal(made, cleared(slice(0, 2), slice(1, 2)))
    wanted = X.copy()
    wanted.view(np.uint16)[:2, 3:5] = 0
    assert np.array_equal(run((0, 0), (0, 6), "bfloat16"), wanted)


def viewed(dtype: str, held: np.ndarray) -> np.ndarray:
    """X in a tile, read as elements of another dtype."""
    trace = NkiTrace("k", NEW)
    with Tracer(trace) as tracer:
        x = Tile.whole(tracer.storage(HBM, "float32", X.shape, origin="input", data=X, name="x"))
        a, out = Tile.new(SBUF, X.shape, "float32"), Tile.new(HBM, held.shape, dtype)
        instructions.dma_copy(a, x)
        times = X.dtype.itemsize // held.dtype.itemsize
        view = a.remade(held.shape, (X.shape[1] * times, 1), dtype=dtype)
        instructions.dma_copy(out, view)
        trace.inputs, trace.outputs = [("x", x.ref)], [("out0", out.ref)]
    return value(Machine(lower_nki(trace), ()).run({"x": X}).outputs["out0"])


@pytest.mark.parametrize("dtype", ["bfloat16", "uint8", "int16"])
def test_a_view_of_narrower_elements_is_the_bytes(dtype: str) -> None:
    held = np.ascontiguousarray(X).view(HELD[dtype])
    assert np.array_equal(viewed(dtype, held).view(np.uint8), held.view(np.uint8))


def test_a_view_of_wider_elements_is_the_bytes() -> None:
    """What was written in halves, of which one never was, is read as a whole."""
    halves = np.arange(16, dtype=np.uint16).reshape(2, 8) * 4099

    def body(x: Tile) -> tuple[Tile, ...]:
        both, one = tile((2, 8), "uint16"), tile((2, 8), "uint16")
        instructions.copy(both, x, "dve")
        instructions.copy(part(one, slice(0, 2), slice(0, 7)), part(x, slice(0, 2), slice(0, 7)), "dve")
        return both.remade((2, 4), (4, 1), dtype="float32"), one.remade((2, 4), (4, 1), dtype="uint32")

    ran = run_body(body, halves)
    assert np.array_equal(ran.values[0].view(np.uint32), halves.view(np.uint32)) and not ran.poison[0].any()
    assert np.array_equal(ran.poison[1], np.broadcast_to(np.arange(4) == 3, (2, 4)))
    assert np.array_equal(ran.values[1][:, :3], halves.view(np.uint32)[:, :3])


@pytest.mark.parametrize("second", [(3, 0), (0, 16), (8, 32)])
def test_what_does_not_overlap_stays(second: tuple[int, int]) -> None:
    assert np.array_equal(run((0, 0), second), X)


def test_a_place_between_elements_is_refused() -> None:
    with pytest.raises(Unsupported, match="at byte 2, no multiple of float32's"):
        run((0, 0), (0, 2))


def written(shape: tuple[int, int], strides: tuple[int, int], offset: int = 0) -> np.ndarray:
    """X goes into a view of a tile of 12 zeros in each of 3 partitions; the tile."""
    trace = NkiTrace("k", NEW)
    with Tracer(trace) as tracer:
        x = Tile.whole(tracer.storage(SBUF, "float32", X.shape, origin="input", data=X, name="x"))
        place = Tile.new(SBUF, (3, 12), "float32")
        instructions.memset(place, 0)
        instructions.copy(place.remade((3, *shape), (12, *strides), offset), x, "dve")
        trace.inputs, trace.outputs = [("x", x.ref)], [("out0", place.ref)]
    return value(Machine(lower_nki(trace), ()).run({"x": X}).outputs["out0"])


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [((2, 2), (2, 3), 0), ((4, 1), (-1, 7), 5), ((2, 2), (1, 2), 1), ((2, 2), (-3, 1), 4)],
)
def test_elements_of_a_destination_have_places_of_their_own(
    shape: tuple[int, int], strides: tuple[int, int], offset: int
) -> None:
    want = np.zeros((3, 12), np.float32)
    places = (offset + strides[0] * np.arange(shape[0])[:, None] + strides[1] * np.arange(shape[1])).ravel()
    want[:, places] = X
    assert np.array_equal(written(shape, strides, offset), want)


@pytest.mark.parametrize("strides", [(0, 1), (1, 1), (0, 0)])
def test_a_destination_that_repeats_places_is_refused(strides: tuple[int, int]) -> None:
    with pytest.raises(Unsupported, match="several of whose elements have one place"):
        written((2, 2), strides)
