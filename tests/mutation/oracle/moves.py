"""What each op that moves lanes, and each op on memory, means to the oracle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lowering.ir.program import Op
from lowering.ir.types import DType, dtype
from tests.mutation.oracle.arithmetic import CannotTell
from tests.mutation.oracle.interpreter import Interpreter, means
from tests.mutation.oracle.scalars import result

Array = np.ndarray


@means("constant")
def constant(m: Interpreter, op: Op, x: list[Array]) -> Array:
    dt, value = dtype(op.attrs["to"]), op.attrs["value"]
    m.literal.add(id(op.results[0]))
    if dt.is_float:
        exact = (
            np.asarray(value, np.float64) if dt.name == "f64" else np.asarray(value).astype(dt.numpy).astype(np.float64)
        )
        return m.arithmetic.hold(np.array(np.broadcast_to(exact, op.attrs["shape"])))
    if isinstance(value, np.ndarray):
        return value.astype(dt.numpy)
    if dt.kind == "bool":
        return np.full(op.attrs["shape"], bool(value))
    return np.full(op.attrs["shape"], int(value) % (1 << 64), np.uint64).astype(dt.numpy)


@means("iota")
def iota(m: Interpreter, op: Op, x: list[Array]) -> Array:
    shape, axis = op.attrs["shape"], op.attrs["axis"]
    line = (np.arange(shape[axis]) + op.attrs["start"]).reshape([-1 if d == axis else 1 for d in range(len(shape))])
    return np.array(np.broadcast_to(line, shape)).astype(dtype(op.attrs["to"]).numpy)


@means("undefined")
def undefined(m: Interpreter, op: Op, x: list[Array]) -> Array:
    return m.store.undefined(result(op), tuple(op.attrs["shape"]))


@means("broadcast")
def broadcast(m: Interpreter, op: Op, x: list[Array]) -> Array:
    shape, dims = op.attrs["shape"], op.attrs["dims"]
    extents = [1] * len(shape)
    for d, extent in zip(dims, x[0].shape, strict=True):
        extents[d] = extent
    _pass_literal(m, op)
    return np.broadcast_to(x[0].reshape(extents), shape)


def _pass_literal(m: Interpreter, op: Op) -> None:
    if id(op.operands[0]) in m.literal:
        m.literal.add(id(op.results[0]))


@means("reshape")
def reshape(m: Interpreter, op: Op, x: list[Array]) -> Array:
    _pass_literal(m, op)
    return x[0].reshape(op.attrs["shape"])


@means("reorder")
def reorder(m: Interpreter, op: Op, x: list[Array]) -> Array:
    return x[0]


@means("transpose")
def transpose(m: Interpreter, op: Op, x: list[Array]) -> Array:
    return x[0].transpose(op.attrs["perm"])


@means("slice")
def slice_(m: Interpreter, op: Op, x: list[Array]) -> Array:
    bounds = zip(op.attrs["start"], op.attrs["limit"], op.attrs["step"], strict=True)
    return x[0][tuple(slice(a, b, s) for a, b, s in bounds)]


@means("pad")
def pad(m: Interpreter, op: Op, x: list[Array]) -> Array:
    whole = np.array(np.broadcast_to(x[1], op.results[0].type.shape))
    for source in np.ndindex(*x[0].shape) if x[0].size < 4096 and any(op.attrs["interior"]) else ():
        place = tuple(
            i * (k + 1) + low for i, k, low in zip(source, op.attrs["interior"], op.attrs["low"], strict=True)
        )
        if all(0 <= p < n for p, n in zip(place, whole.shape, strict=True)):
            whole[place] = x[0][source]
    if not any(op.attrs["interior"]):
        spans = [(max(0, low), min(n, low + e), low) for low, n, e in zip(op.attrs["low"], whole.shape, x[0].shape)]
        inner = tuple(slice(a, max(a, b)) for a, b, _ in spans)
        whole[inner] = x[0][tuple(slice(a - low, max(a, b) - low) for a, b, low in spans)]
    elif x[0].size >= 4096:
        raise CannotTell("a large interior padding")
    return whole


@means("concat")
def concat(m: Interpreter, op: Op, x: list[Array]) -> Array:
    return np.concatenate(x, axis=op.attrs["axis"])


@means("reverse")
def reverse(m: Interpreter, op: Op, x: list[Array]) -> Array:
    return np.flip(x[0], op.attrs["axes"])


@means("gather")
def gather(m: Interpreter, op: Op, x: list[Array]) -> Array:
    source, indices = x[0], [i.astype(np.int64) for i in x[1:]]
    inside = np.ones(op.results[0].type.shape, bool)
    for index, extent in zip(indices, source.shape, strict=True):
        inside &= (index >= 0) & (index < extent)
    taken = source[tuple(np.clip(i, 0, n - 1) for i, n in zip(indices, source.shape, strict=True))]
    if op.attrs["mode"] == "clamp":
        return np.asarray(taken)
    return np.where(inside, taken, m.store.undefined(result(op), op.results[0].type.shape))


def _window(starts: Sequence[Array], shape: Sequence[int], window: Sequence[int]) -> tuple[slice, ...]:
    low = [min(max(int(s), 0), n - w) for s, n, w in zip(starts, shape, window, strict=True)]
    return tuple(slice(a, a + w) for a, w in zip(low, window, strict=True))


@means("dynamic_slice")
def dynamic_slice(m: Interpreter, op: Op, x: list[Array]) -> Array:
    return x[0][_window(x[1:], x[0].shape, op.attrs["shape"])]


@means("dynamic_update_slice")
def dynamic_update_slice(m: Interpreter, op: Op, x: list[Array]) -> Array:
    whole = np.array(x[0])
    whole[_window(x[2:], x[0].shape, x[1].shape)] = x[1]
    return whole


# -- memory ------------------------------------------------------------------------------------------------------


@means("addptr")
def addptr(m: Interpreter, op: Op, x: list[Array]) -> Array:
    return np.asarray(x[0] + x[1].astype(np.int64) * op.attrs["bytes"])


@means("alloc")
def alloc(m: Interpreter, op: Op, x: list[Array]) -> Array:
    return m.store.alloc(op.attrs["bytes"])


def _bounded(m: Interpreter, address: Array, dt: DType) -> None:
    strayed = dict(m.store.strayed)
    m.store.locate(address, np.ones(address.shape, bool), dt, "load")
    if m.store.strayed != strayed:
        raise CannotTell("a host view out of bounds")


@means("read")
def read(m: Interpreter, op: Op, x: list[Array]) -> Array:
    dt = dtype(op.attrs["to"])
    address = m.store.view(x[0], dt, op.attrs["shape"], op.attrs["strides"], op.attrs["offset"])
    _bounded(m, address, dt)
    return m.store.load(address, np.ones(address.shape, bool), dt, None)


@means("write")
def write(m: Interpreter, op: Op, x: list[Array]) -> list[Array]:
    dt = op.operands[1].type.dtype
    buffer = m.store.buffers[(int(x[0]) >> 42) - 1]
    if x[1].size * dt.nbytes == buffer.nbytes and buffer.dtype is not dt:
        buffer.dtype = None  # entirely overwritten
    address = m.store.view(x[0], dt, x[1].shape, op.attrs["strides"], op.attrs["offset"])
    _bounded(m, address, dt)
    m.store.store(address, x[1], np.ones(address.shape, bool), dt)
    return []


@means("load")
def load(m: Interpreter, op: Op, x: list[Array]) -> Array:
    wanted = np.broadcast_to(x[1], x[0].shape) if len(x) > 1 else np.ones(x[0].shape, bool)
    return m.store.load(np.asarray(x[0]), np.asarray(wanted), result(op), x[2] if len(x) > 2 else None)


@means("store")
def store(m: Interpreter, op: Op, x: list[Array]) -> list[Array]:
    wanted = np.broadcast_to(x[2], x[0].shape) if len(x) > 2 else np.ones(x[0].shape, bool)
    m.store.store(np.asarray(x[0]), x[1], np.asarray(wanted), op.operands[1].type.dtype)
    return []


@means("num_programs", "program_id")
def program(m: Interpreter, op: Op, x: list[Array]) -> Array:
    return np.array((m.grid if op.name == "num_programs" else m.instance)[op.attrs["axis"]], np.int32)
