"""Pooling, upsampling and mirror padding: max, average, adaptive average, nearest, reflection, replication."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lowering.frontends.aten.context import Context
from lowering.frontends.aten.copies import expand_at
from lowering.frontends.aten.indexing import take_rows
from lowering.frontends.aten.registry import aten
from lowering.frontends.aten.windows import Window, pad_spatial, patches, spread
from lowering.ir.program import Value
from lowering.ir.types import I64


def _batched(ctx: Context, x: Value, spatial: int) -> Value:
    """[N, C, ...] of an input that may lack N."""
    return x if x.type.rank == spatial + 2 else ctx.builder.reshape(x, (1, *x.type.shape))


def _window(size: Any, stride: Any, dilation: Any, rank: int) -> Window:
    size = spread(size, rank)
    return Window(size, spread(stride, rank) if stride else size, spread(dilation, rank))


def _high(ctx: Context, x: Value, window: Window, low: Sequence[int]) -> list[int]:
    """Padding after the last element so that every window of the result fits (ceil_mode asks for more)."""
    outputs = ctx.out.shape[-len(low) :]
    need = [window.stride[d] * (n - 1) + window.reach(d) for d, n in enumerate(outputs)]
    return [max(p, want - extent - p) for p, want, extent in zip(low, need, x.type.shape[2:], strict=True)]


def _pooled(ctx: Context, x: Value, window: Window, low: Sequence[int], filler: float) -> Value:
    padded = pad_spatial(ctx, x, low, _high(ctx, x, window, low), filler)
    return patches(ctx, padded, window, ctx.out.shape[-len(low) :])


# -- max --------------------------------------------------------------------------------------------------------------


@aten("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool(ctx: Context, self: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
             ceil_mode: bool = False) -> Sequence[Value]:  # fmt: skip
    """The maximum and its flat position in the input's plane: of the first one, or of the last NaN."""
    rank = 3 if "3d" in ctx.call.op else 2
    x, low = _batched(ctx, ctx.value(self), rank), spread(padding, rank)
    window = _window(kernel_size, stride, dilation, rank)
    b, plane = ctx.builder, (1, 1, *x.type.shape[2:])
    where = b.reshape(b.index((math.prod(plane),), 0), plane)
    lowest = -math.inf if x.type.dtype.is_float else int(np.iinfo(x.type.dtype.numpy).min)
    values = _pooled(ctx, x, window, low, lowest)
    outside = math.prod(plane)  # padding loses against every position
    indices = b.broadcast(_pooled(ctx, where, window, low, outside), values.type.shape)
    return [b.reshape(v, t.shape) for v, t in zip(_largest(ctx, values, indices), ctx.out_types, strict=True)]


def _largest(ctx: Context, values: Value, indices: Value) -> tuple[Value, Value]:
    """Along axis 2 the maximum and its index: the lowest among equals, the highest of NaNs."""
    b = ctx.builder
    op = b.op("reduce", [values, indices], axis=2, combine="argmax", order="unordered", impl="torch")
    top, at = op.results
    if values.type.dtype.is_float:
        last = ctx.composites.reduce("max", b("select", b.is_nan(values), indices, b.like(-1, indices)), 2)
        at = b("select", b.is_nan(top), last, at)
    return top, at


@aten("adaptive_max_pool2d")
def adaptive_max_pool(ctx: Context, self: Any, output_size: Any) -> Sequence[Value]:
    """Over the windows of adaptive_avg_pool2d, each flattened."""
    b, x = ctx.builder, _batched(ctx, ctx.value(self), 2)
    extents, outs = x.type.shape[2:], ctx.out.shape[-2:]
    if not any(n % o for n, o in zip(extents, outs, strict=True)):
        return max_pool(ctx, self, [n // o for n, o in zip(extents, outs, strict=True)])
    where = b.broadcast(b.reshape(b.index((math.prod(extents),), 0), extents), x.type.shape, (2, 3))
    pairs = [_largest(ctx, *cell) for cell in zip(_cells(ctx, x, outs), _cells(ctx, where, outs), strict=True)]
    columns = [[expand_at(ctx, v, 2) for v in column] for column in zip(*pairs, strict=True)]
    return [b.reshape(b("concat", *column, axis=2), ctx.out.shape) for column in columns]


@aten("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward")
def max_pool_backward(ctx: Context, grad_output: Any, self: Any, kernel_size: Any, stride: Any, padding: Any,
                      dilation: Any, ceil_mode: bool, indices: Any) -> Value:  # fmt: skip
    """Each gradient goes to the element that won; windows overlap, and CUDA adds with atomics."""
    rank = 3 if "3d" in ctx.call.op else 2
    b, grad, at = ctx.builder, ctx.compute(grad_output), ctx.value(indices, I64)
    planes, inner = math.prod(grad.type.shape[:-rank]), math.prod(grad.type.shape[-rank:])
    flat = lambda v: b.reshape(v, (planes, inner))  # noqa: E731
    base = b.constant(0, grad.type.dtype, (planes, math.prod(ctx.out.shape[-rank:])))
    order = "racing" if ctx.cuda else "sequential"
    lines = b.index((planes, inner), 0)
    result = b("scatter", base, flat(grad), lines, flat(at), combine="add", order=order, impl="torch")
    return b.reshape(result, ctx.out.shape)


# -- average ----------------------------------------------------------------------------------------------------------


@aten("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(ctx: Context, self: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
             count_include_pad: bool = True, divisor_override: int | None = None) -> Value:  # fmt: skip
    rank = int(ctx.call.op.split("pool")[1][0])
    b, x, low = ctx.builder, _batched(ctx, ctx.compute(self), rank), spread(padding, rank)
    window = _window(kernel_size, stride, 1, rank)
    total = ctx.composites.reduce("add", _pooled(ctx, x, window, low, 0), 2)
    counts = _counts(x.type.shape[2:], window, low, total.type.shape[2:], count_include_pad)
    counts = np.full_like(counts, divisor_override) if divisor_override else counts
    divisor = b.broadcast(b.constant(counts, x.type.dtype), total.type.shape)
    return b.reshape(b("div", total, divisor), ctx.out.shape)


def _counts(
    extents: Sequence[int], window: Window, low: Sequence[int], outputs: Sequence[int], padded: bool
) -> np.ndarray:
    """How many elements each window averages: padding counts if asked for, what ceil_mode adds never does."""
    result = np.ones((), np.float64)
    for d, n in enumerate(outputs):
        start = np.arange(n) * window.stride[d] - low[d]
        end = np.minimum(start + window.size[d], extents[d] + (low[d] if padded else 0))
        if not padded:
            start, end = np.maximum(start, 0), np.minimum(end, extents[d])
        result = np.multiply.outer(result, end - start)
    return result


@aten("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d")
def adaptive_avg_pool(ctx: Context, self: Any, output_size: Any) -> Value:
    """Averages over floor(i n / o) ... ceil((i+1) n / o): one dimension after the other when the windows are even."""
    rank = int(ctx.call.op.split("pool")[1][0])
    b, x = ctx.builder, _batched(ctx, ctx.compute(self), rank)
    extents, outs = x.type.shape[2:], ctx.out.shape[-rank:]
    if any(n % o for n, o in zip(extents, outs, strict=True)):
        return b.reshape(_uneven_average(ctx, x, outs), ctx.out.shape)
    size = tuple(n // o for n, o in zip(extents, outs, strict=True))
    total = ctx.composites.reduce("add", patches(ctx, x, Window(size, size, (1,) * rank), outs), 2)
    return b.reshape(b("div", total, b.like(float(math.prod(size)), total)), ctx.out.shape)


def _uneven_average(ctx: Context, x: Value, outs: Sequence[int]) -> Value:
    """Window by window."""
    means = [expand_at(ctx, ctx.composites.mean(cell, 2), 2) for cell in _cells(ctx, x, outs)]
    return ctx.builder("concat", *means, axis=2)


def _cells(ctx: Context, x: Value, outs: Sequence[int]) -> list[Value]:
    """The windows floor(i n / o) ... ceil((i+1) n / o) of [N, C, ...], each as [N, C, window]."""
    b, lead, cells = ctx.builder, x.type.shape[:2], []
    for cell in np.ndindex(*outs):
        spans = [(i * n // o, -(-(i + 1) * n // o)) for i, n, o in zip(cell, x.type.shape[2:], outs, strict=True)]
        start, limit = ([s[k] for s in spans] for k in (0, 1))
        part = b("slice", x, start=(0, 0, *start), limit=(*lead, *limit), step=(1,) * x.type.rank)
        cells.append(b.reshape(part, (*lead, math.prod(e - s for s, e in spans))))
    return cells


@aten("avg_pool2d_backward")
def avg_pool_backward(ctx: Context, grad_output: Any, self: Any, kernel_size: Any, stride: Any, padding: Any,
                      ceil_mode: bool, count_include_pad: bool, divisor_override: int | None) -> Value:  # fmt: skip
    """Each gradient, divided, goes to every element of its window."""
    b, grad, low = ctx.builder, _batched(ctx, ctx.compute(grad_output), 2), spread(padding, 2)
    window, extents, outputs = _window(kernel_size, stride, 1, 2), self.shape[-2:], grad_output.shape[-2:]
    counts = _counts(extents, window, low, outputs, count_include_pad)
    counts = np.full_like(counts, divisor_override) if divisor_override else counts
    share = b("div", grad, b.broadcast(b.constant(counts, grad.type.dtype), grad.type.shape))
    full = (*grad.type.shape[:2], window.count, *outputs)
    axes = np.unravel_index(np.arange(window.count), window.size)
    at = [_window_positions(ctx, full, axes[d], window.stride[d], low[d], 3 + d, extents[d]) for d in range(2)]
    base = b.constant(0, grad.type.dtype, (*full[:2], *extents))
    positions = [b.index(full, 0), b.index(full, 1), *at]
    updates = b.broadcast(share, full, (0, 1, 3, 4))
    result = b("scatter", base, updates, *positions, combine="add", order="unordered", impl="torch")
    return b.reshape(result, ctx.out.shape)


def _window_positions(ctx: Context, shape: Sequence[int], offsets: np.ndarray, stride: int, low: int, axis: int,
                      extent: int) -> Value:  # fmt: skip
    """Position in the input of every (offset in the window, output): padding is sent out of bounds, thus dropped."""
    where = offsets[:, None] + np.arange(shape[axis]) * stride - low
    where = np.where((where < 0) | (where >= extent), extent, where)
    return ctx.builder.broadcast(ctx.builder.constant(where.astype(np.int64), I64), shape, (2, axis))


# -- by constant positions --------------------------------------------------------------------------------------------


@aten("upsample_nearest2d")
def upsample_nearest(ctx: Context, self: Any, output_size: Any = None, *scales: Any) -> Value:
    """Position floor(i * scale) in f32, where scale is the given factor's inverse or the ratio of the extents."""
    x, rank = ctx.value(self), len(ctx.out.shape) - 2
    factors = scales[0] if len(scales) == 1 and isinstance(scales[0], (tuple, list)) else scales
    for d in range(rank):
        n, o = x.type.shape[2 + d], ctx.out.shape[2 + d]
        factor = factors[d] if d < len(factors) and factors[d] else None
        scale = np.float32(1 / factor) if factor else np.float32(n) / np.float32(o)
        rows = np.minimum(np.floor(np.arange(o, dtype=np.float32) * scale).astype(np.int64), n - 1)
        x = take_rows(ctx, x, 2 + d, rows)
    return x


def _edges(ctx: Context, self: Any, padding: Sequence[int], mode: str) -> Value:
    x = ctx.value(self)
    for i in range(len(padding) // 2):
        axis, n = x.type.rank - 1 - i, x.type.shape[x.type.rank - 1 - i]
        line = np.arange(-padding[2 * i], n + padding[2 * i + 1])
        if mode == "reflect":
            line = np.abs(line)
            line = np.where(line >= n, 2 * (n - 1) - line, line)
        x = take_rows(ctx, x, axis, np.clip(line, 0, n - 1))
    return x


@aten("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad(ctx: Context, self: Any, padding: Sequence[int]) -> Value:
    return _edges(ctx, self, padding, "reflect")


@aten("replication_pad2d", "replication_pad3d")
def replication_pad(ctx: Context, self: Any, padding: Sequence[int]) -> Value:
    return _edges(ctx, self, padding, "replicate")
