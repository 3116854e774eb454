"""Views of the new API's tensors against numpy's views of 0, 1, 2, ..., and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lowering.capture.nki import isa_new as nisa
from lowering.capture.nki import language_new as nl
from lowering.capture.nki.trace import Indirect
from lowering.capture.trace import TensorRef
from tests.capture.nki.new_api import hbm, kernel, last, placed, refused, sb, unmodelled

SHAPE = (4, 6, 8)
NUMBERS = np.arange(4 * 6 * 8).reshape(SHAPE)

SAME: list[tuple[str, Callable[[Any], Any], Callable[[np.ndarray], Any]]] = [
    ("whole", lambda t: t[...], lambda a: a),
    ("slices", lambda t: t[1:3, 2:, ::2], lambda a: a[1:3, 2:, ::2]),
    ("negative bounds", lambda t: t[:, -4:-1, 0:8], lambda a: a[:, -4:-1, 0:8]),
    ("backwards", lambda t: t[:, ::-1, 6:1:-2], lambda a: a[:, ::-1, 6:1:-2]),
    ("index", lambda t: t[:, 3], lambda a: a[:, 3]),
    ("negative index", lambda t: t[:, -1, 2:4], lambda a: a[:, -1, 2:4]),
    ("ellipsis", lambda t: t[..., 5], lambda a: a[..., 5]),
    ("ds", lambda t: t[nl.ds(1, 2), :, nl.ds(2, 4)], lambda a: a[1:3, :, 2:6]),
    ("numpy index", lambda t: t[:, np.int64(2), :], lambda a: a[:, 2, :]),
    ("twice", lambda t: t[1:4][1:3, :, 4:][:, 2:4, 1], lambda a: a[1:4][1:3, :, 4:][:, 2:4, 1]),
    ("slice", lambda t: t.slice(2, 1, 8, 3), lambda a: a[:, :, 1:8:3]),
    ("select", lambda t: t.select(1, 2), lambda a: a[:, 2]),
    ("permute", lambda t: t.permute((0, 2, 1)), lambda a: a.transpose(0, 2, 1)),
    ("expand_dim", lambda t: t.expand_dim(2), lambda a: a[:, :, None]),
    ("expand_dim at the end", lambda t: t.expand_dim(-1), lambda a: a[..., None]),
    ("squeeze_dim", lambda t: t[:, 2:3].squeeze_dim(1), lambda a: a[:, 2]),
    ("broadcast", lambda t: t[:, 2:3].broadcast(1, 5), lambda a: np.broadcast_to(a[:, 2:3], (4, 5, 8))),
    ("reshape_dim", lambda t: t.reshape_dim(2, (2, -1)), lambda a: a.reshape(4, 6, 2, 4)),
    ("flatten_dims", lambda t: t.flatten_dims(1, 2), lambda a: a.reshape(4, 48)),
    ("reshape", lambda t: t.reshape((4, 3, 16)), lambda a: a.reshape(4, 3, 16)),
    ("reshape of a view", lambda t: t[:, 2:4].reshape((4, 16)), lambda a: a[:, 2:4].reshape(4, 16)),
    ("rearrange", lambda t: t.rearrange(("p", ("a", "b"), "c"), ("p", "c", "b", "a"), {"a": 2}),
     lambda a: a.reshape(4, 2, 3, 8).transpose(0, 3, 2, 1)),
    ("rearrange in groups", lambda t: t.rearrange(("p", "f", "c"), ("p", ("f", "c"))), lambda a: a.reshape(4, 48)),
    ("ap", lambda t: t.ap([[48, 4], [2, 4], [16, 3]], offset=1), lambda a: a.reshape(4, 48)[:, [
        [1 + 2 * i + 16 * j for j in range(3)] for i in range(4)]]),
    ("ap keeps the start", lambda t: t[:, 1:].ap([[48, 4], [1, 5]]), lambda a: a.reshape(4, 48)[:, 8:13]),
]  # fmt: skip


@pytest.mark.parametrize(("view", "wanted"), [case[1:] for case in SAME], ids=[case[0] for case in SAME])
def test_a_view_on_chip(view: Callable[[Any], Any], wanted: Callable[[np.ndarray], Any]) -> None:
    with kernel():
        assert np.array_equal(placed(view(sb(*SHAPE))), wanted(NUMBERS))


def test_an_index_of_the_partition_keeps_it() -> None:
    with kernel():
        assert sb(*SHAPE)[2].shape == (1, 6, 8)
        assert sb(*SHAPE).select(0, 2).shape == (1, 6, 8)
        assert sb(4, 6)[:, 3].shape == (4, 1)
        assert hbm(*SHAPE)[2].shape == (6, 8) and hbm(6)[2].shape == (1,)
        assert np.array_equal(placed(hbm(*SHAPE).permute((2, 0, 1))), NUMBERS.transpose(2, 0, 1))
        assert np.array_equal(placed(hbm(*SHAPE).reshape((24, 8))), NUMBERS.reshape(24, 8))


def test_the_bytes_as_another_dtype() -> None:
    with kernel():
        wide = sb(4, 6)[1:3, 2:6]
        narrow = wide.view(nl.bfloat16)
        assert (narrow.shape, narrow.strides, narrow.offset, str(narrow.dtype)) == ((2, 8), (12, 1), 16, "bfloat16")
        assert narrow.view(nl.float32).ref == wide.ref
        assert str(wide.view(nl.int32).dtype) == "int32" and wide.view("int32").shape == (2, 4)
        as_half = sb(4, 6, dtype="int32").ap([[12, 4], [1, 12]], dtype=nl.bfloat16)
        assert as_half.shape == (4, 12) and as_half.dtype == nl.bfloat16
        with refused("has no view as float32"):
            sb(4, 6, dtype="bfloat16")[:, 1:3].view(nl.float32)


def test_queries() -> None:
    with kernel():
        t = sb(*SHAPE)
        assert t.get_pattern() == [[48, 4], [8, 6], [1, 8]] and t.is_contiguous() and not t.is_indirect()
        assert not t[:, 1:3].is_contiguous() and t[0:2].is_contiguous()
        assert (t.ndim, t.size, t.buffer, t.itemsize) == (3, 192, "sbuf", 4)


def test_one_element_of_the_device_moves_a_view() -> None:
    with kernel() as trace:
        table, place = hbm(10, 8), sb(1, 1, dtype="int32")
        nisa.dma_copy(sb(1, 8).select(0, 0), table.ap([[8, 1], [1, 8]], scalar_offset=place))
        view = last(trace).src[0]
        assert isinstance(view, Indirect) and (view.kind, view.step) == ("scalar", 8) and view.index == place.ref
        chosen = table.select(0, place)
        assert chosen.shape == (8,) and chosen.is_indirect() and chosen[2:4].is_indirect()
        sliced = sb(4, 32)[:, nl.ds(place, 8)]
        assert sliced.shape == (4, 8) and sliced.view_of == Indirect(sliced.ref, place.ref, 0, "scalar", 1)
        with refused("only the device knows"):
            chosen.select(0, place)
        with refused("cannot depend"):
            sb(4, 32)[place]


def test_rows_that_the_device_chooses() -> None:
    with kernel():
        table, rows = hbm(10, 8), sb(4, 1, dtype="int32")
        chosen = table.ap([[8, 4], [1, 8]], vector_offset=rows)
        assert chosen.view_of == Indirect(chosen.ref, rows.ref, 0, "vector", 10)
        assert table.vector_select(0, rows).view_of == chosen.view_of
        assert chosen[:, 2:4].is_indirect()
        with unmodelled("first step"):
            table.ap([[16, 4], [1, 8]], vector_offset=rows)
        with unmodelled("which elements the index chooses"):
            chosen[1:3]
        with refused("4 offsets for 3 rows"):
            table.ap([[8, 3], [1, 8]], vector_offset=rows)
        with refused("indirect_dim 2 of a tensor of shape (10, 8)"):
            table.ap([[8, 4], [1, 8]], vector_offset=rows, indirect_dim=2)
        with refused("a vector_offset is for a tensor in HBM"):
            sb(10, 8).ap([[8, 4], [1, 8]], vector_offset=rows)
        with refused("(P, 1) in SBUF"):
            table.vector_select(0, hbm(4, 1, dtype="int32"))
        columns = sb(16, 2, dtype="uint16")
        free = sb(16, 64).indirect(columns, num_elem=20)
        assert free.shape == (16, 20) and free.view_of == Indirect(free.ref, columns.ref, 1, "free", 16)
        with refused("indices for 16"):
            sb(16, 64).indirect(sb(16, 1, dtype="uint16"), num_elem=20)


def test_an_offset_of_a_view_depends_on_the_release() -> None:
    """None is 0 before 0.5; an explicit one counts from the view's start, which the trace names as an assumption."""
    with kernel() as trace:
        assert sb(4, 48)[:, 8:].ap([[48, 4], [1, 5]], offset=2).offset == 10
        assert any("ap_offset" in name for name in trace.assumed)
    with kernel() as trace:
        assert sb(4, 48).ap([[48, 4], [1, 5]], offset=2).offset == 2 and not trace.assumed
    with kernel(version="0.4") as trace:
        sb(4, 48)[:, 8:].ap([[48, 4], [1, 5]])
        assert any("ap_offset" in name for name in trace.assumed)


REFUSED: list[tuple[str, Callable[[], Any]]] = [
    ("out of bounds of dimension 1, 6", lambda: sb(*SHAPE)[:, 6]),
    ("out of bounds of dimension 2, 8", lambda: sb(*SHAPE)[:, :, 0:9]),
    ("takes no element", lambda: sb(*SHAPE)[:, 3:3]),
    ("with step 0", lambda: sb(*SHAPE)[:, ::0]),
    ("4 indices of a tensor of 3", lambda: sb(*SHAPE)[0, 0, 0, 0]),
    ("is no index", lambda: sb(*SHAPE)["a"]),
    ("slice 2:9:1", lambda: sb(*SHAPE).slice(2, 2, 9)),
    ("dimension 0 is the partition", lambda: sb(*SHAPE).permute((1, 0, 2))),
    ("permute(0, 1, 1)", lambda: sb(*SHAPE).permute((0, 1, 1))),
    ("only extent 1 is repeated", lambda: sb(*SHAPE).broadcast(1, 12)),
    ("is the partition", lambda: sb(1, 8).broadcast(0, 4)),
    ("its extent is not 1", lambda: sb(*SHAPE).squeeze_dim(1)),
    ("expand_dim(0)", lambda: sb(*SHAPE).expand_dim(0)),
    ("8 elements as (3, 3)", lambda: sb(*SHAPE).reshape_dim(2, (3, 3))),
    ("are not dense", lambda: sb(*SHAPE)[:, :, 0:4].flatten_dims(1, 2)),
    ("is the partition and stays", lambda: sb(*SHAPE).reshape((8, 24))),
    ("has no view", lambda: sb(*SHAPE)[:, :, 0:4].reshape((4, 24))),
    ("do not fit", lambda: sb(*SHAPE).rearrange(("p", "a", "b"), ("p", "a", "c"))),
    ("has to say a or b", lambda: sb(*SHAPE).rearrange(("p", ("a", "b"), "c"), ("p", "a", "b", "c"))),
    ("the first pair is the partition", lambda: sb(*SHAPE).ap([[96, 2], [1, 8]])),
    ("reaches elements 0 to 196", lambda: sb(*SHAPE).ap([[48, 4], [1, 53]])),
    ("a pattern is a list", lambda: sb(*SHAPE).ap([48, 4])),  # type: ignore[list-item]
    ("no numpy array", lambda: np.asarray(sb(*SHAPE))),
    ("no truth value", lambda: bool(sb(*SHAPE))),
    ("is not iterated over", lambda: list(sb(*SHAPE))),
]


@pytest.mark.parametrize(("words", "made"), REFUSED, ids=[case[0] for case in REFUSED])
def test_a_view_that_there_is_not(words: str, made: Callable[[], Any]) -> None:
    with kernel(), refused(words):
        made()


def test_assigning_to_a_part_copies_into_it() -> None:
    """By the Vector engine on chip, by DMA where HBM takes part; the trace says that nobody states it."""
    with kernel() as trace:
        t, out = sb(4, 6), hbm(4, 6)
        t[:, 0:2] = t[:, 2:4]
        out[:, 1:3] = t[:, 0:2]
        t[...] = 1.5
        with unmodelled("t[...] = a number, t in HBM"):
            out[0, 0] = 0.0
        with refused("the part has shape (4, 2), x (4, 3)"):
            t[:, 0:2] = t[:, 0:3]
        with refused("takes a tile or a number"):
            t[...] = None
    ops = [(instr.op, instr.engine) for instr in trace.instrs]
    assert ops == [("nc_copy", "dve"), ("nc_dma_copy", "dma"), ("mem_set", "dve")]
    view = trace.instrs[1].dst[0]
    assert isinstance(view, TensorRef) and view.offset == 1
    assert ["not documented" in note for note in trace.notes] == [True]
