"""Ops that only move or create lanes: cat, stack, repeat, flip, roll, tril, pad, full, arange, eye ..."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowering.capture.trace import TensorRef
from lowering.frontends.aten.context import Context
from lowering.frontends.aten.registry import aten
from lowering.ir.program import Value
from lowering.ir.types import I64


@aten("cat")
def cat(ctx: Context, tensors: Sequence[Any], dim: int = 0) -> Value:
    axis = ctx.axis(dim, len(ctx.out.shape))
    # An empty 1-d tensor takes part in any cat (a legacy rule).
    kept = [t for t in tensors if t.shape != (0,) or len(ctx.out.shape) == 1]
    return ctx.builder("concat", *(ctx.value(t, ctx.out.dtype) for t in kept), axis=axis)


@aten("stack")
def stack(ctx: Context, tensors: Sequence[Any], dim: int = 0) -> Value:
    axis = ctx.axis(dim, len(ctx.out.shape))
    values = [expand_at(ctx, ctx.value(t, ctx.out.dtype), axis) for t in tensors]
    return ctx.builder("concat", *values, axis=axis)


def expand_at(ctx: Context, x: Value, axis: int) -> Value:
    """x with a dimension of extent 1 inserted at ``axis``."""
    shape = x.type.shape
    return ctx.builder.reshape(x, (*shape[:axis], 1, *shape[axis:]))


def narrow(ctx: Context, x: Value, axis: int, start: int, stop: int, step: int = 1) -> Value:
    """x[..., start:stop:step, ...] along ``axis``."""
    rank, shape = x.type.rank, x.type.shape
    if (start, stop, step) == (0, shape[axis], 1):
        return x
    low = [start if d == axis else 0 for d in range(rank)]
    high = [stop if d == axis else shape[d] for d in range(rank)]
    steps = [step if d == axis else 1 for d in range(rank)]
    return ctx.builder("slice", x, start=tuple(low), limit=tuple(high), step=tuple(steps))


@aten("repeat")
def repeat(ctx: Context, self: Any, repeats: Sequence[int]) -> Value:
    x, b = ctx.value(self), ctx.builder
    shape = (1,) * (len(repeats) - x.type.rank) + x.type.shape
    wide = tuple(n for pair in zip(repeats, shape, strict=True) for n in pair)
    dims = [2 * i + 1 for i in range(len(repeats))]
    return b.reshape(b.broadcast(b.reshape(x, shape), wide, dims), ctx.out.shape)


@aten("flip")
def flip(ctx: Context, self: Any, dims: Sequence[int]) -> Value:
    x = ctx.value(self)
    return ctx.builder("reverse", x, axes=tuple(ctx.axis(d, x.type.rank) for d in dims))


@aten("roll")
def roll(ctx: Context, self: Any, shifts: Sequence[int], dims: Sequence[int] = ()) -> Value:
    x = ctx.value(self)
    if not dims:
        x, dims = ctx.builder.reshape(x, (x.type.size,)), (0,)
    for shift, dim in zip(shifts, dims, strict=True):
        x = _roll(ctx, x, shift, ctx.axis(dim, x.type.rank))
    return ctx.builder.reshape(x, ctx.out.shape)


def _roll(ctx: Context, x: Value, shift: int, axis: int) -> Value:
    n = x.type.shape[axis]
    if n == 0 or shift % n == 0:
        return x
    cut = n - shift % n
    parts = [narrow(ctx, x, axis, cut, n), narrow(ctx, x, axis, 0, cut)]
    return ctx.builder("concat", *parts, axis=axis)


def _triangle(ctx: Context, self: Any, diagonal: int, pred: str) -> Value:
    x, b = ctx.value(self), ctx.builder
    shape, rank = x.type.shape, x.type.rank
    gap = b("sub", b.index(shape, rank - 1), b.index(shape, rank - 2))
    return b("select", b.cmp(pred, gap, b.like(diagonal, gap)), x, b.like(0, x))


@aten("tril")
def tril(ctx: Context, self: Any, diagonal: int = 0) -> Value:
    return _triangle(ctx, self, diagonal, "le")


@aten("triu")
def triu(ctx: Context, self: Any, diagonal: int = 0) -> Value:
    return _triangle(ctx, self, diagonal, "ge")


def pad_edges(ctx: Context, x: Value, low: Sequence[int], high: Sequence[int], value: Any = 0) -> Value:
    if not any(low) and not any(high):
        return x
    filler = ctx.builder.constant(value, x.type.dtype)
    return ctx.builder("pad", x, filler, low=tuple(low), high=tuple(high), interior=(0,) * x.type.rank)


@aten("constant_pad_nd")
def constant_pad_nd(ctx: Context, self: Any, pad: Sequence[int], value: Any = 0) -> Value:
    """``pad`` lists (low, high) from the last dimension backwards."""
    rank = len(self.shape)
    low, high = [0] * rank, [0] * rank
    for i in range(len(pad) // 2):
        low[rank - 1 - i], high[rank - 1 - i] = pad[2 * i], pad[2 * i + 1]
    return pad_edges(ctx, ctx.value(self), low, high, value)


# -- creation ---------------------------------------------------------------------------------------------------------


def _filled(ctx: Context, value: Any) -> Value:
    return ctx.value(value, ctx.out.dtype, ctx.out.shape)


@aten("zeros", "zeros_like", "new_zeros", "zero")
def zeros(ctx: Context, *_: Any) -> Value:
    return _filled(ctx, 0)


@aten("ones", "ones_like", "new_ones")
def ones(ctx: Context, *_: Any) -> Value:
    return _filled(ctx, 1)


@aten("full", "full_like")
def full(ctx: Context, _size: Any, fill_value: Any) -> Value:
    return _filled(ctx, fill_value)


@aten("new_full")
def new_full(ctx: Context, self: Any, size: Any, fill_value: Any) -> Value:
    return _filled(ctx, fill_value)


@aten("fill")
def fill(ctx: Context, self: Any, value: Any) -> Value:
    return _filled(ctx, value)


@aten("scalar_tensor")
def scalar_tensor(ctx: Context, s: Any) -> Value:
    return _filled(ctx, s)


@aten("arange")
def arange(ctx: Context, *bounds: Any, start: Any = 0, end: Any = None, step: Any = 1) -> Value:
    """(end), (start, end) or (start, end, step); floats are start + i * step in f64, rounded once."""
    first = bounds[0] if len(bounds) > 1 else start
    step = bounds[2] if len(bounds) > 2 else step
    values = first + np.arange(ctx.out.size) * step
    return ctx.builder.constant(np.asarray(values), ctx.out.dtype)


@aten("eye")
def eye(ctx: Context, n: int, m: int | None = None) -> Value:
    b, shape = ctx.builder, ctx.out.shape
    return b.cmp("eq", b.index(shape, 0), b.index(shape, 1))


@aten("linspace")
def linspace(ctx: Context, start: Any, end: Any, steps: int) -> Value:
    """The first half counts up from ``start``, the second half down from ``end``, in the result's precision."""
    if isinstance(start, TensorRef) or isinstance(end, TensorRef):
        raise ctx.unsupported("numbers as bounds", " between tensors")
    dt = ctx.out.dtype.numpy.type
    index, step = np.arange(steps), (dt(end) - dt(start)) / dt(max(1, steps - 1))
    rising, falling = dt(start) + step * index.astype(dt), dt(end) - step * (steps - 1 - index).astype(dt)
    return ctx.builder.constant(np.where(index < steps // 2, rising, falling), ctx.out.dtype)


@aten("tril_indices", "triu_indices")
def triangle_indices(ctx: Context, row: int, col: int, offset: int = 0) -> Value:
    indices = np.tril_indices if "tril" in ctx.call.op else np.triu_indices
    return ctx.builder.constant(np.stack(indices(row, offset, col)), I64)
