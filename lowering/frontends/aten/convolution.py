"""Convolution in any number of dimensions, forward, transposed and backward, as one dot per group over patches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from lowering.frontends.aten.context import Context
from lowering.frontends.aten.dtypes import opmath
from lowering.frontends.aten.linalg import dot, swap
from lowering.frontends.aten.registry import aten
from lowering.frontends.aten.windows import Window, pad_spatial, patches, spread
from lowering.ir.program import Value


@dataclass(frozen=True, slots=True)
class Geometry:
    """The arguments of a convolution that are not tensors, one number per spatial dimension."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int

    def window(self, weight: Value) -> Window:
        return Window(weight.type.shape[2:], self.stride, self.dilation)


def _columns(ctx: Context, x: Value, window: Window, outputs: Sequence[int], groups: int) -> Value:
    """Patches as [groups, C/groups * window, N * outputs]."""
    b, c = ctx.builder, x.type.shape[1]
    p = patches(ctx, x, window, outputs)
    perm = (1, 2, 0, *range(3, p.type.rank))
    return b.reshape(
        b("transpose", p, perm=perm), (groups, c // groups * window.count, p.type.size // max(1, c * window.count))
    )


def _grouped(ctx: Context, y: Value, groups: int) -> Value:
    """[N, O, ...] as [groups, O/groups, N * ...]."""
    b, o = ctx.builder, y.type.shape[1]
    moved = b("transpose", y, perm=(1, 0, *range(2, y.type.rank)))
    return b.reshape(moved, (groups, o // groups, y.type.size // max(1, o)))


def _ungrouped(ctx: Context, y: Value, n: int, outputs: Sequence[int]) -> Value:
    """[groups, O/groups, N * ...] as [N, O, ...]."""
    b, channels = ctx.builder, y.type.shape[0] * y.type.shape[1]
    y = b.reshape(y, (channels, n, *outputs))
    return b("transpose", y, perm=(1, 0, *range(2, y.type.rank)))


def forward(ctx: Context, x: Value, weight: Value, g: Geometry) -> Value:
    """Cross-correlation, in the accumulator's dtype."""
    window = g.window(weight)
    x = pad_spatial(ctx, x, g.padding, g.padding, 0)
    outputs = window.outputs(x.type.shape[2:])
    columns = _columns(ctx, x, window, outputs, g.groups)
    rows = ctx.builder.reshape(weight, (g.groups, weight.type.shape[0] // g.groups, columns.type.shape[1]))
    return _ungrouped(ctx, dot(ctx, rows, columns, ctx.library.convolution_tf32), x.type.shape[0], outputs)


def transposed(ctx: Context, x: Value, weight: Value, g: Geometry, result: Sequence[int]) -> Value:
    """The adjoint of ``forward`` with spatial extents ``result``: a convolution of the spread-out input."""
    window = g.window(weight)
    reach = [window.reach(d) for d in range(len(result))]
    low = [r - 1 - p for r, p in zip(reach, g.padding, strict=True)]
    spread_out = [(n - 1) * s + 1 for n, s in zip(x.type.shape[2:], g.stride, strict=True)]
    high = [out + r - 1 - n - lo for out, r, n, lo in zip(result, reach, spread_out, low, strict=True)]
    x = pad_spatial(ctx, x, low, high, 0, [s - 1 for s in g.stride])
    ones = (1,) * len(result)
    return forward(ctx, x, _mirrored(ctx, weight, g.groups), Geometry(ones, (0,) * len(result), g.dilation, g.groups))


def _mirrored(ctx: Context, weight: Value, groups: int) -> Value:
    """[I, O/groups, k...] with reversed kernels, as [O, I/groups, k...]."""
    b, (i, o), kernel = ctx.builder, weight.type.shape[:2], weight.type.shape[2:]
    w = b("reverse", weight, axes=tuple(range(2, weight.type.rank)))
    w = b.reshape(w, (groups, i // groups, o, *kernel))
    w = b("transpose", w, perm=(0, 2, 1, *range(3, w.type.rank)))
    return b.reshape(w, (groups * o, i // groups, *kernel))


def weight_gradient(ctx: Context, x: Value, grad: Value, g: Geometry, kernel: Sequence[int]) -> Value:
    """Of ``forward``: patches of the input against the gradient of the result."""
    window = Window(tuple(kernel), g.stride, g.dilation)
    x = pad_spatial(ctx, x, g.padding, g.padding, 0)
    columns = _columns(ctx, x, window, grad.type.shape[2:], g.groups)
    product = dot(ctx, _grouped(ctx, grad, g.groups), swap(ctx, columns), ctx.library.convolution_tf32)
    return ctx.builder.reshape(product, (grad.type.shape[1], x.type.shape[1] // g.groups, *kernel))


def _geometry(rank: int, stride: Any, padding: Any, dilation: Any, groups: int) -> Geometry:
    return Geometry(spread(stride, rank), spread(padding, rank), spread(dilation, rank), groups)


@aten("convolution", "_convolution", "convolution_overrideable")
def convolution(ctx: Context, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,
                is_transposed: bool, output_padding: Any, groups: int, *flags: Any) -> Value:  # fmt: skip
    if len(flags) == 4 and not flags[3]:  # of _convolution: benchmark, deterministic, cudnn_enabled, allow_tf32
        ctx.library = replace(ctx.library, convolution_tf32=False)
    x, w = ctx.value(input), ctx.value(weight)
    batched = x.type.rank == w.type.rank
    x = x if batched else ctx.builder.reshape(x, (1, *x.type.shape))
    g = _geometry(w.type.rank - 2, stride, padding, dilation, groups)
    if is_transposed:
        y = transposed(ctx, x, w, g, ctx.out.shape[-len(g.stride) :])
    else:
        y = forward(ctx, x, w, g)
    if bias is not None:
        y = ctx.composites.affine(y, None, ctx.value(bias, y.type.dtype), (1,))
    return ctx.builder.reshape(y, ctx.out.shape)


@aten("convolution_backward")
def convolution_backward(ctx: Context, grad_output: Any, input: Any, weight: Any, bias_sizes: Any, stride: Any,
                         padding: Any, dilation: Any, is_transposed: bool, output_padding: Any, groups: int,
                         output_mask: Sequence[bool]) -> list[Value | None]:  # fmt: skip
    x, w, grad = (ctx.value(r) for r in (input, weight, grad_output))
    g = _geometry(w.type.rank - 2, stride, padding, dilation, groups)
    kernel = w.type.shape[2:]
    results: list[Value | None] = [None, None, None]
    if output_mask[0]:
        results[0] = forward(ctx, grad, w, g) if is_transposed else transposed(ctx, grad, w, g, x.type.shape[2:])
    if output_mask[1]:
        source, result = (grad, x) if is_transposed else (x, grad)
        results[1] = weight_gradient(ctx, source, result, g, kernel)
    if output_mask[2]:
        rows = _grouped(ctx, ctx.builder.cast(grad, opmath(grad.type.dtype)), 1)
        results[2] = ctx.builder.reshape(ctx.composites.reduce("add", rows, 2), (grad.type.shape[1],))
    return results
