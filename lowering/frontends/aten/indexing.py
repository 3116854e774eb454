"""Reads and writes at computed positions: gather, index, embedding, scatter, index_put, slice_scatter ..."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lowering.capture.trace import TensorRef
from lowering.frontends.aten.context import Context
from lowering.frontends.aten.copies import narrow
from lowering.frontends.aten.registry import aten
from lowering.ir.program import Value
from lowering.ir.types import BOOL, I8, I64, DType


def take(ctx: Context, x: Value, axis: int, index: Value) -> Value:
    """x[i0, ..., index[i0, i1, ...] at ``axis``, ...]: ``index`` has the result's shape."""
    return ctx.builder("gather", x, *_positions(ctx, index.type.shape, {axis: index}))


def take_rows(ctx: Context, x: Value, axis: int, rows: np.ndarray) -> Value:
    """x at constant positions along ``axis``."""
    shape = (*x.type.shape[:axis], len(rows), *x.type.shape[axis + 1 :])
    index = ctx.builder.constant(rows.astype(np.int64), I64)
    return take(ctx, x, axis, ctx.builder.broadcast(index, shape, (axis,)))


def _positions(ctx: Context, shape: Sequence[int], given: dict[int, Value]) -> list[Value]:
    return [given.get(d) or ctx.builder.index(shape, d) for d in range(len(shape))]


def wrap(ctx: Context, index: Value, extent: int) -> Value:
    """Negative positions count from the end."""
    b = ctx.builder
    return b("select", b.cmp("lt", index, b.like(0, index)), b("add", index, b.like(extent, index)), index)


@aten("gather")
def gather(ctx: Context, self: Any, dim: int, index: Any, sparse_grad: bool = False) -> Value:
    x, at = ctx.value(self), ctx.value(index, I64)
    if not x.type.rank:
        return ctx.builder.broadcast(x, at.type.shape)
    return take(ctx, x, ctx.axis(dim, x.type.rank), at)


@aten("index_select")
def index_select(ctx: Context, self: Any, dim: int, index: Any) -> Value:
    x, axis = ctx.value(self), ctx.axis(dim, len(self.shape))
    at = ctx.builder.reshape(ctx.value(index, I64), ctx.out.shape[axis : axis + 1])
    return take(ctx, x, axis, ctx.builder.broadcast(at, ctx.out.shape, (axis,)))


@aten("embedding")
def embedding(ctx: Context, weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False,
              sparse: bool = False) -> Value:  # fmt: skip
    shape = ctx.out.shape
    rows = ctx.builder.broadcast(ctx.value(indices, I64), shape, range(len(shape) - 1))
    return ctx.builder("gather", ctx.value(weight), rows, ctx.builder.index(shape, len(shape) - 1))


@aten("embedding_dense_backward")
def embedding_backward(ctx: Context, grad_output: Any, indices: Any, num_weights: int, padding_idx: int = -1,
                       scale_grad_by_freq: bool = False) -> Value:  # fmt: skip
    if scale_grad_by_freq:
        raise ctx.unsupported("without scale_grad_by_freq", " with scale_grad_by_freq")
    b, grad = ctx.builder, ctx.compute(grad_output)
    rows = ctx.value(indices, I64)
    if padding_idx >= 0:  # a position out of bounds is dropped
        rows = b("select", b.cmp("eq", rows, b.like(padding_idx, rows)), b.like(num_weights, rows), rows)
    rows = b.broadcast(rows, grad.type.shape, range(grad.type.rank - 1))
    base = b.constant(0, grad.type.dtype, ctx.out.shape)
    return b("scatter", base, grad, rows, b.index(grad.type.shape, grad.type.rank - 1), combine="add", impl="torch")


# -- advanced indexing ------------------------------------------------------------------------------------------------


def nonzero_positions(ctx: Context, mask: Value, count: int) -> list[Value]:
    """For each dimension of ``mask``, the positions of its ``count`` true lanes in row-major order."""
    b, shape = ctx.builder, mask.type.shape
    flat = b.reshape(mask, (mask.type.size,))
    absent = b.cast(b("not", flat), I8)
    order = b.op("sort", [absent, b.index(flat.type.shape, 0)], axis=0, stable=True).results[1]
    rest, positions = narrow(ctx, order, 0, 0, count), []
    for extent in reversed(shape):
        positions.append(b("rem", rest, b.like(extent, rest)))
        rest = b("div", rest, b.like(extent, rest))
    return positions[::-1]


def _expanded(ctx: Context, indices: Sequence[Any], mask_count: int) -> list[Value | None]:
    """One index per dimension; a mask stands for as many as it has dimensions."""
    result: list[Value | None] = []
    for index in indices:
        if isinstance(index, TensorRef) and index.dtype in ("bool", "uint8"):
            result += nonzero_positions(ctx, ctx.value(index, BOOL), mask_count)
        else:
            result.append(None if index is None else ctx.value(index, I64))
    return result


def _placed(ctx: Context, extents: Sequence[int], indices: list[Value | None]) -> list[Value]:
    """Positions for every dimension of a tensor of shape ``extents``, all under the indexed result's shape."""
    b = ctx.builder
    indices = indices + [None] * (len(extents) - len(indices))
    indexed = [d for d, i in enumerate(indices) if i is not None]
    joint = np.broadcast_shapes(*(i.type.shape for i in indices if i is not None))
    adjacent = indexed == list(range(indexed[0], indexed[0] + len(indexed)))
    start = indexed[0] if adjacent else 0
    free = [d for d in range(len(extents)) if d not in indexed]
    shape = [extents[d] for d in free]
    shape[start:start] = joint
    axis_of = {d: n if n < start else n + len(joint) for n, d in enumerate(free)}
    place = range(start, start + len(joint))
    return [
        b.index(shape, axis_of[d]) if index is None else
        b.broadcast(wrap(ctx, b.broadcast(index, joint), extents[d]), shape, place)
        for d, index in enumerate(indices)
    ]  # fmt: skip


def _masks(ctx: Context, indices: Sequence[Any]) -> list[int]:
    """Where a mask stands among ``indices``: nowhere, or alone."""
    masks = [n for n, i in enumerate(indices) if isinstance(i, TensorRef) and i.dtype in ("bool", "uint8")]
    if masks and len([i for i in indices if i is not None]) > 1:
        raise ctx.unsupported("index with one mask alone", " with a mask beside other indices")
    return masks


@aten("index")
def index_(ctx: Context, self: Any, indices: Sequence[Any]) -> Value:
    x = ctx.value(self)
    masks = _masks(ctx, indices)
    count = ctx.out.shape[masks[0]] if masks else 0
    return ctx.builder("gather", x, *_placed(ctx, x.type.shape, _expanded(ctx, indices, count)))


@aten("index_put", "_index_put_impl")
def index_put(ctx: Context, self: Any, indices: Sequence[Any], values: Any, accumulate: bool = False,
              unsafe: bool = False) -> Value:  # fmt: skip
    """Colliding writes without accumulate have no order; with it, CUDA sorts by position first."""
    x, updates = ctx.value(self), ctx.value(values, ctx.out.dtype)
    count = _lanes_chosen(ctx, indices, updates, x.type.rank)
    if count == 1:
        return _masked_put(ctx, x, indices, updates, accumulate)
    at = _placed(ctx, x.type.shape, _expanded(ctx, indices, count))
    updates = ctx.builder.broadcast(updates, at[0].type.shape)
    combine = "add" if accumulate else "set"
    return ctx.builder("scatter", x, updates, *at, combine=combine, order=_order(ctx, False), impl="torch")


def _lanes_chosen(ctx: Context, indices: Sequence[Any], updates: Value, rank: int) -> int:
    """How many lanes a mask among ``indices`` selects by the updates' shape; 1 too where they say the same for all."""
    masks = _masks(ctx, indices)
    if not masks:
        return 0
    behind = _behind(indices, masks[0], rank)
    return updates.type.shape[-behind - 1] if updates.type.rank > behind else 1


def _behind(indices: Sequence[Any], mask: int, rank: int) -> int:
    """Dimensions of the indexed result behind that of a mask's lanes."""
    return rank - mask - len(indices[mask].shape)


def _masked_put(ctx: Context, x: Value, indices: Sequence[Any], updates: Value, accumulate: bool) -> Value:
    """Where the mask holds, the updates, which have one lane for all that it selects."""
    b, first = ctx.builder, _masks(ctx, indices)[0]
    mask = ctx.value(indices[first], BOOL)
    behind = _behind(indices, first, x.type.rank)
    if updates.type.rank > behind:
        shape, at = updates.type.shape, updates.type.rank - behind
        updates = b.reshape(updates, (*shape[: at - 1], *(1,) * mask.type.rank, *shape[at:]))
    mask = b.broadcast(mask, x.type.shape, range(first, first + mask.type.rank))
    updates = b.broadcast(updates, x.type.shape)
    return b("select", mask, b("add", x, updates) if accumulate else updates, x)


def _order(ctx: Context, atomic: bool) -> str:
    """torch's CPU loops go by position; its CUDA kernels use atomics where nothing sorts the positions first."""
    if not ctx.cuda:
        return "sequential"
    return "racing" if atomic else "unordered"


# -- scatter ----------------------------------------------------------------------------------------------------------

_REDUCTIONS = {"add": "add", "sum": "add", "multiply": "mul", "prod": "mul", "amax": "max", "amin": "min"}


def _identity(combine: str, dt: DType) -> bool | int | float:
    """What ``combine`` leaves any value of the dtype unchanged with."""
    if combine in ("add", "mul"):
        return int(combine == "mul")
    if dt is BOOL:
        return combine == "min"
    if dt.is_float:
        return -math.inf if combine == "max" else math.inf
    limits = np.iinfo(dt.numpy)
    return int(limits.min if combine == "max" else limits.max)


def _scatter(ctx: Context, base: Value, dim: int, index: Value, src: Any, combine: str) -> Value:
    b, shape = ctx.builder, index.type.shape
    updates = ctx.value(src, base.type.dtype)
    if updates.type.rank == len(shape):  # only the part under the index counts
        updates = b("slice", updates, start=(0,) * len(shape), limit=shape, step=(1,) * len(shape))
    updates = b.broadcast(updates, shape)
    positions = _positions(ctx, shape, {ctx.axis(dim, len(shape)): index})
    order = _order(ctx, combine in ("add", "mul"))
    return b("scatter", base, updates, *positions, combine=combine, order=order, impl="torch")


@aten("scatter", "scatter_add", "scatter_reduce")
def scatter(ctx: Context, self: Any, dim: int, index: Any, src: Any = None, reduce: str | None = None,
            include_self: bool = True, value: Any = None) -> Value:  # fmt: skip
    combine = "add" if "scatter_add" in ctx.call.op else "set" if reduce is None else _REDUCTIONS.get(reduce)
    if combine is None:
        raise ctx.unsupported("sum, prod, amax or amin", f" with reduce={reduce!r}")
    base, at = ctx.value(self), ctx.value(index, I64)
    if not include_self:
        base = _scatter(ctx, base, dim, at, _identity(combine, base.type.dtype), "set")
    return _scatter(ctx, base, dim, at, value if src is None else src, combine)


def _along(ctx: Context, self: Any, dim: int, index: Any, source: Value, combine: str) -> Value:
    """Whole slices of ``source`` combined into self at positions ``index`` along ``dim``."""
    b, x = ctx.builder, ctx.value(self)
    axis, shape = ctx.axis(dim, x.type.rank), source.type.shape
    at = b.broadcast(b.reshape(ctx.value(index, I64), (shape[axis],)), shape, (axis,))
    order = _order(ctx, combine == "add")
    updates = b.cast(source, x.type.dtype)
    return b("scatter", x, updates, *_positions(ctx, shape, {axis: at}), combine=combine, order=order, impl="torch")


@aten("index_add")
def index_add(ctx: Context, self: Any, dim: int, index: Any, source: Any, alpha: Any = 1) -> Value:
    updates = ctx.value(source) if alpha == 1 else ctx.builder("mul", *ctx.operands(source, alpha))
    return _along(ctx, self, dim, index, updates, "add")


@aten("index_copy")
def index_copy(ctx: Context, self: Any, dim: int, index: Any, source: Any) -> Value:
    return _along(ctx, self, dim, index, ctx.value(source), "set")


@aten("slice_scatter")
def slice_scatter(ctx: Context, self: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None,
                  step: int = 1) -> Value:  # fmt: skip
    x, axis = ctx.value(self), ctx.axis(dim, len(self.shape))
    extent = x.type.shape[axis]
    first, last, step = slice(start, end, step).indices(extent)
    updates = ctx.value(src, x.type.dtype)
    b, shape = ctx.builder, updates.type.shape
    if step == 1:
        parts = [narrow(ctx, x, axis, 0, first), updates, narrow(ctx, x, axis, max(first, last), extent)]
        return b("concat", *parts, axis=axis)
    at = b.constant(np.arange(first, last, step), I64)
    positions = _positions(ctx, shape, {axis: b.broadcast(at, shape, (axis,))})
    return b("scatter", x, updates, *positions, impl="torch")


@aten("select_scatter")
def select_scatter(ctx: Context, self: Any, src: Any, dim: int, index: int) -> Value:
    b, x, axis = ctx.builder, ctx.value(self), ctx.axis(dim, len(self.shape))
    at, shape = index % x.type.shape[axis], x.type.shape
    here = b.cmp("eq", b.index(shape, axis), b.constant(at, I64, shape))
    rest = [d for d in range(len(shape)) if d != axis]
    return b("select", here, b.broadcast(ctx.value(src, x.type.dtype), shape, rest), x)


@aten("masked_scatter")
def masked_scatter(ctx: Context, self: Any, mask: Any, source: Any) -> Value:
    """The n-th true lane of the mask takes the n-th element of the source."""
    b, x, src = ctx.builder, ctx.value(self), ctx.value(source)
    chosen = ctx.value(mask, BOOL, x.type.shape)
    count = b("scan", b.reshape(b.cast(chosen, I64), (x.type.size,)), axis=0, combine="add")
    rank = b("sub", count, b.like(1, count))
    taken = b("gather", b.reshape(src, (src.type.size,)), rank, mode="clamp")
    return b("select", chosen, b.reshape(taken, x.type.shape), x)
