"""DMA, shuffles of partitions and gathers: elements move, and nothing is rounded unless a dtype changes."""

from __future__ import annotations

from math import prod

import numpy as np

from lowering.capture.nki.trace import Indirect, Instr
from lowering.capture.trace import TensorRef
from lowering.errors import Unsupported
from lowering.frontends.nki import indirect
from lowering.frontends.nki.numerics import to_f32
from lowering.frontends.nki.reductions import folded
from lowering.frontends.nki.state import State, handler
from lowering.ir.program import Value
from lowering.ir.types import F32, I32, I64

GROUP = 16  # partitions that share the indices of a local gather


@handler("nc_dma_copy", "send_recv")
def dma_copy(state: State, instr: Instr) -> None:
    """The same elements, in row-major order of both views; compute_op 'add' adds them to what dst holds, in f32.

    With oob_mode 'skip' dst keeps what it holds where an index of the source is out of bounds.
    """
    b, (dst,), to = state.builder, instr.dst, state.dtype(instr.dst[0])
    x = b.reshape(state.view(instr.src[0]), state.shape(dst))
    skips = instr.attrs.get("oob_mode", "error") == "skip" and isinstance(instr.src[0], Indirect)
    match instr.attrs.get("compute_op", "none"):
        case "none":
            value = state.converted(x, to)
        case "add" if skips:
            raise Unsupported("a DMA that accumulates and skips what is out of bounds", instr.span)
        case "add":
            return _added(state, instr, x)
        case other:
            raise Unsupported(f"a DMA that accumulates by {other}", instr.span)
    if skips and isinstance(instr.src[0], Indirect):
        inside = b.reshape(indirect.inside(state, instr.src[0]), state.shape(dst))
        value = b("select", inside, value, b.reshape(state.read(dst), state.shape(dst)))
    return state.put(instr, value)


def _added(state: State, instr: Instr, x: Value) -> None:
    b, (dst,), to = state.builder, instr.dst, state.dtype(instr.dst[0])
    if isinstance(dst, Indirect) and not instr.attrs.get("unique_indices", True):
        if to is not F32:
            raise Unsupported(f"a DMA that adds to places that may repeat, in {to}", instr.span)
        return indirect.write(state, dst, to_f32(b, x), "add")
    total = b("add", to_f32(b, b.reshape(state.read(dst), x.type.shape)), to_f32(b, x))
    return state.put_f32(instr, total)


@handler("dma_compute")
def dma_compute(state: State, instr: Instr) -> None:
    """The sources in f32, each scaled, folded in an open order."""
    b, shape, scales = state.builder, state.shape(instr.dst[0]), instr.attrs["scales"]
    terms: list[Value] = []
    for i, operand in enumerate(instr.src):
        x = b.reshape(to_f32(b, state.view(operand)), shape)
        if scales is not None and scales[i] != 1.0:
            x = b("mul", x, b.constant(scales[i], F32, shape))
        terms.append(b.reshape(x, (1, *shape)))
    if isinstance(instr.dst[0], Indirect) and not instr.attrs["unique_indices"]:
        raise Unsupported("dma_compute to places that may repeat", instr.span)
    whole = b("concat", *terms, axis=0) if len(terms) > 1 else terms[0]
    state.put_f32(instr, folded(state, instr.attrs["reduce_op"], whole, 0))


@handler("shuffle")
def shuffle(state: State, instr: Instr) -> None:
    """dst[q + i] = src[q + mask[i]] in each quadrant of 32 partitions; 255 keeps dst[q + i]."""
    b, shape, to = state.builder, state.shape(instr.dst[0]), state.dtype(instr.dst[0])
    mask = np.asarray(instr.attrs["shuffle_mask"])
    rows = np.arange(shape[0])
    wanted = mask[rows % 32]
    moved = wanted != 255
    source = np.where(moved, rows // 32 * 32 + wanted, 0)
    flat = state.flat(state.view(instr.src[0]))
    index = b.broadcast(b.constant(source, I64), (shape[0], flat.type.shape[1]), (0,))
    value = b("gather", flat, index, b.index(index.type.shape, 1))
    keep = None if moved.all() else np.broadcast_to(moved.reshape(-1, *[1] * (len(shape) - 1)), shape)
    if instr.mask is not None and keep is not None:
        keep = keep & np.broadcast_to(instr.mask, shape)
    state.put(instr, state.converted(b.reshape(value, shape), to), mask=keep)


@handler("nc_n_gather")
def n_gather(state: State, instr: Instr) -> None:
    """dst[p, j] = data[p, indices[p, j]]."""
    b, data = state.builder, state.flat(state.view(instr.src[0]))
    index = b.cast(state.flat(state.view(instr.src[1])), I64)
    value = b("gather", data, b.index(index.type.shape, 0), index)
    state.put(instr, state.converted(b.reshape(value, state.shape(instr.dst[0])), state.dtype(instr.dst[0])))


@handler("nc_local_gather")
def local_gather(state: State, instr: Instr) -> None:
    """In each group of 16 partitions, its indices, partition first, choose runs of elements of every one."""
    b, run = state.builder, instr.attrs["num_elem_per_idx"]
    data, index = (state.flat(state.view(operand)) for operand in instr.src)
    lanes, (rows, columns) = data.type.shape[0], index.type.shape
    if lanes != rows or lanes % GROUP:
        raise Unsupported(f"local_gather of {lanes} partitions with indices in {rows}", instr.span)
    count = instr.attrs["num_valid_indices"] or columns * GROUP
    grouped = b("transpose", b.reshape(index, (lanes // GROUP, GROUP, columns)), perm=(0, 2, 1))
    chosen = b("slice", b.reshape(grouped, (lanes // GROUP, columns * GROUP)), start=(0, 0),
               limit=(lanes // GROUP, count), step=(1, 1))  # fmt: skip
    shape = (lanes // GROUP, GROUP, count, run)
    places = b.cast(b.broadcast(chosen, shape, (0, 2)), I32)
    if run > 1:
        state.assume("gather_unit")
        places = b("add", places, b.index(shape, 3, I32))
    flat = b.reshape(places, (lanes, count * run))
    value = b("gather", data, b.index(flat.type.shape, 0), b.cast(flat, I64))
    put_first(state, instr, value)


def put_first(state: State, instr: Instr, value: Value, number: int = 0) -> None:
    """The first elements of each partition of a destination; the others keep what they hold."""
    b, dst = state.builder, instr.dst[number]
    shape, to = state.shape(dst), state.dtype(dst)
    lanes, count = value.type.shape
    room = prod(shape[1:])
    value = state.converted(value, to)
    if count == room:
        return state.put(instr, b.reshape(value, shape), number)
    if count > room:
        raise Unsupported(f"a gather of {count} elements into {room}", instr.span)
    kept = state.flat(state.read(dst))
    rest = b("slice", kept, start=(0, count), limit=(lanes, room), step=(1, 1))
    return state.put(instr, b.reshape(b("concat", value, rest, axis=1), shape), number)


@handler("core_barrier")
def core_barrier(state: State, instr: Instr) -> None:
    """Every core's instructions run in the order of the trace: nothing is left to wait for."""


@handler("tensor_load", "tensor_store")
def register(state: State, instr: Instr) -> None:
    """A 32-bit register: what one element was when it was loaded, or a number, written to one element."""
    source, dst = instr.src[0], instr.dst[0]
    if isinstance(source, TensorRef | Indirect):
        return state.put(instr, state.converted(state.view(source), state.dtype(dst)))
    assert source is not None
    return state.put(instr, state.builder.constant(source, state.dtype(dst), state.shape(dst)))
