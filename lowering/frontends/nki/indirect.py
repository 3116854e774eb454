"""Views whose elements other data choose: reads are gathers, writes are scatters, over the flat storage.

Takes State and Indirect; gives values.  What an index means: trace.Indirect.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from lowering.capture.nki.dtypes import size_of
from lowering.capture.nki.trace import Indirect
from lowering.capture.trace import TensorRef
from lowering.errors import Unsupported
from lowering.ir.program import Value
from lowering.ir.types import I64

if TYPE_CHECKING:
    from lowering.frontends.nki.state import State


def read(state: State, view: Indirect) -> Value:
    """The chosen elements, of the base's shape; outside of the storage they are no particular values."""
    memory = state.memory.read(whole(state, view))
    return state.builder("gather", memory, places(state, view))


def write(state: State, view: Indirect, value: Value, combine: str = "set") -> None:
    """Writes (or adds, ...) to the chosen elements; places outside of the storage are dropped."""
    ref = whole(state, view)
    before = state.memory.read(ref)
    order = "racing" if combine == "set" else "unordered"
    after = state.builder("scatter", before, value, places(state, view), combine=combine, order=order, impl="nki")
    state.memory.write(ref, after)


def whole(state: State, view: Indirect) -> TensorRef:
    """The view's storage, flat."""
    storage = state.trace.storages[view.base.storage]
    count = prod(storage.shape) * size_of(storage.dtype) // size_of(view.base.dtype)
    return TensorRef(view.base.storage, view.base.dtype, (count,), (1,))


def inside(state: State, view: Indirect) -> Value:
    """Of the base's shape: whether the index that chooses an element is within bounds."""
    b, found = state.builder, places(state, view)
    (extent,) = whole(state, view).shape
    return b("and", b.cmp("ge", found, b.like(0, found)), b.cmp("lt", found, b.like(extent, found)))


def places(state: State, view: Indirect) -> Value:
    """Where in the flat storage every element of the base's shape lies; -1 where the index is out of bounds, unless the
    place is outside of the storage then anyway."""
    b, base = state.builder, view.base
    if view.kind not in ("vector", "scalar", "free"):
        raise Unsupported(f"an indirect access of kind {view.kind}", b.span)
    index = b.cast(state.memory.read(view.index), I64)
    if view.kind == "free":
        moved, step, axes = _of_groups(state, view, index), base.strides[1], [0]
    elif view.kind == "vector":
        extent = base.shape[view.dim]
        moved = b.broadcast(b.reshape(index, (extent,)), base.shape, (view.dim,))
        step, axes = base.strides[view.dim], [axis for axis in range(len(base.shape)) if axis != view.dim]
    else:
        moved, step, axes = b.broadcast(b.reshape(index, ()), base.shape, ()), view.step, range(len(base.shape))
    total = b("add", b("mul", moved, b.constant(step, I64, base.shape)), b.constant(base.offset, I64, base.shape))
    for axis in axes:
        if base.strides[axis] and base.shape[axis] > 1:
            walked = b("mul", b.index(base.shape, axis), b.constant(base.strides[axis], I64, base.shape))
            total = b("add", total, walked)
    if view.kind == "free":
        return b("select", _within_rows(state, view, moved), total, b.like(-1, total))
    if view.kind != "vector" or not view.step or _bounded_by_storage(state, view):
        return total
    within = b("and", b.cmp("ge", moved, b.like(0, moved)), b.cmp("lt", moved, b.like(view.step, moved)))
    return b("select", within, total, b.like(-1, total))


def _within_rows(state: State, view: Indirect, moved: Value) -> Value:
    """Whether what an index adds to the address stays within the partition of the tile."""
    b, (lanes, first) = state.builder, view.base.strides
    storage = state.trace.storages[view.base.storage]
    row = prod(storage.shape[storage.blocks + 1 :]) * size_of(storage.dtype) // size_of(view.base.dtype)
    starts = (view.base.offset + lanes * np.indices(view.base.shape)[0]) % row
    place = b("add", b("mul", moved, b.like(first, moved)), b.constant(starts, I64))
    return b("and", b.cmp("ge", place, b.like(0, place)), b.cmp("lt", place, b.like(row, place)))


def _bounded_by_storage(state: State, view: Indirect) -> bool:
    """An index below 0 or at ``step`` or above leads out of the storage."""
    base, (extent,) = view.base, whole(state, view).shape
    axes = [axis for axis in range(len(base.shape)) if axis != view.dim]
    reach = base.offset + sum(max(base.strides[axis], 0) * (base.shape[axis] - 1) for axis in axes)
    least = base.offset + sum(min(base.strides[axis], 0) * (base.shape[axis] - 1) for axis in axes)
    stride = base.strides[view.dim]
    return reach < stride and least + view.step * stride >= extent


def _of_groups(state: State, view: Indirect, index: Value) -> Value:
    """The place on the free axis of every element: a group's partitions share their indices, partition first."""
    lane, element = np.indices(view.base.shape)
    columns = prod(view.index.shape[1:])
    row = lane // view.step * view.step + element % view.step
    where = state.builder.constant(row * columns + element // view.step, I64)
    return state.builder("gather", state.builder.reshape(index, (prod(view.index.shape),)), where)
