"""Normalisations, forward and backward: layer, group and batch norm, rms norm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lowering.frontends.aten.context import Context
from lowering.frontends.aten.registry import aten
from lowering.ir.program import Value


def _optional(ctx: Context, ref: Any, dt: Any) -> Value | None:
    return None if ref is None else ctx.value(ref, dt)


@aten("native_layer_norm")
def native_layer_norm(ctx: Context, input: Any, normalized_shape: Sequence[int], weight: Any, bias: Any,
                      eps: float) -> Sequence[Value]:  # fmt: skip
    b, x = ctx.builder, ctx.compute(input)
    lead = x.type.shape[: x.type.rank - len(normalized_shape)]
    rows = b.reshape(x, (math.prod(lead), math.prod(normalized_shape)))
    y, mean, rstd = ctx.composites.normalize(rows, 1, eps)
    dims = range(len(lead), x.type.rank)
    w, shift = (_optional(ctx, p, x.type.dtype) for p in (weight, bias))
    y = ctx.composites.affine(b.reshape(y, x.type.shape), w, shift, dims)
    kept = (*lead, *(1,) * len(normalized_shape))
    return y, b.reshape(mean, kept), b.reshape(rstd, kept)


@aten("native_layer_norm_backward")
def native_layer_norm_backward(ctx: Context, grad_out: Any, input: Any, normalized_shape: Sequence[int], mean: Any,
                               rstd: Any, weight: Any, bias: Any,
                               output_mask: Sequence[bool]) -> list[Value | None]:  # fmt: skip
    b, kit = ctx.builder, ctx.composites
    x, grad = ctx.compute(input), ctx.compute(grad_out)
    n, dt = math.prod(normalized_shape), x.type.dtype
    m, shape = x.type.size // n, x.type.shape
    dims = range(x.type.rank - len(normalized_shape), x.type.rank)
    scaled = b.reshape(kit.affine(grad, _optional(ctx, weight, dt), None, dims), (m, n))
    spread = lambda ref: b.broadcast(b.reshape(ctx.value(ref, dt), (m, 1)), (m, n))  # noqa: E731
    xhat = b("mul", b("sub", b.reshape(x, (m, n)), spread(mean)), spread(rstd))
    rows = b.reshape(grad, (m, n))
    results = [
        b.reshape(_through_normalize(ctx, scaled, xhat, spread(rstd)), shape),
        b.reshape(kit.reduce("add", b("mul", rows, xhat), 0), normalized_shape),
        b.reshape(kit.reduce("add", rows, 0), normalized_shape),
    ]
    return [v if wanted else None for v, wanted in zip(results, output_mask, strict=True)]


def _through_normalize(ctx: Context, grad: Value, xhat: Value, rstd: Value) -> Value:
    """The gradient before normalisation of [rows, n]: rstd (g - mean g - xhat mean(g xhat))."""
    b, kit = ctx.builder, ctx.composites
    mean_grad = kit.spread(kit.mean(grad, 1), grad, 1)
    mean_product = kit.spread(kit.mean(b("mul", grad, xhat), 1), grad, 1)
    return b("mul", rstd, b("sub", b("sub", grad, mean_grad), b("mul", xhat, mean_product)))


@aten("native_group_norm")
def native_group_norm(ctx: Context, input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int,
                      eps: float) -> Sequence[Value]:  # fmt: skip
    b, x = ctx.builder, ctx.compute(input)
    rows = b.reshape(x, (N * group, C // group * HxW))
    y, mean, rstd = ctx.composites.normalize(rows, 1, eps)
    w, shift = (_optional(ctx, p, x.type.dtype) for p in (weight, bias))
    y = ctx.composites.affine(b.reshape(y, x.type.shape), w, shift, (1,))
    return y, b.reshape(mean, (N, group)), b.reshape(rstd, (N, group))


@aten("native_group_norm_backward")
def native_group_norm_backward(ctx: Context, grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any,
                               N: int, C: int, HxW: int, group: int,
                               output_mask: Sequence[bool]) -> list[Value | None]:  # fmt: skip
    b, kit, x, grad = ctx.builder, ctx.composites, ctx.compute(input), ctx.compute(grad_out)
    rows = (N * group, C // group * HxW)
    spread = lambda ref: b.broadcast(b.reshape(ctx.value(ref, x.type.dtype), (rows[0], 1)), rows)  # noqa: E731
    xhat = b("mul", b("sub", b.reshape(x, rows), spread(mean)), spread(rstd))
    scaled = kit.affine(b.reshape(grad, (N, C, HxW)), _optional(ctx, weight, x.type.dtype), None, (1,))
    back = _through_normalize(ctx, b.reshape(scaled, rows), xhat, spread(rstd))
    channels = lambda v: kit.reduce("add", _channels_first(ctx, b.reshape(v, (N, C, HxW))), 1)  # noqa: E731
    products = b("mul", b.reshape(grad, rows), xhat)
    results = [b.reshape(back, x.type.shape), channels(products), channels(grad)]
    return [v if wanted else None for v, wanted in zip(results, output_mask, strict=True)]


def _channels_first(ctx: Context, x: Value) -> Value:
    """[N, C, ...] as [C, everything else]."""
    perm = (1, 0, *range(2, x.type.rank))
    channels = x.type.shape[1]
    return ctx.builder.reshape(ctx.builder("transpose", x, perm=perm), (channels, x.type.size // max(1, channels)))


def _batch_norm(ctx: Context, x: Value, weight: Any, bias: Any, mean: Value, rstd: Value) -> Value:
    b, kit, shape = ctx.builder, ctx.composites, x.type.shape
    spread = lambda v: b.broadcast(v, shape, (1,))  # noqa: E731
    y = b("mul", b("sub", x, spread(mean)), spread(rstd))
    return kit.affine(y, _optional(ctx, weight, x.type.dtype), _optional(ctx, bias, x.type.dtype), (1,))


def _running(ctx: Context, old: Any, new: Value, momentum: float) -> Value:
    kit = ctx.composites
    return ctx.builder("add", kit.scale(new, momentum), kit.scale(ctx.value(old, new.type.dtype), 1 - momentum))


def _train(ctx: Context, x: Value, weight: Any, bias: Any, eps: float) -> tuple[Value, Value, Value, Value]:
    """(result, mean, rstd, variance) with the batch's own statistics."""
    variance, mean = ctx.composites.variance(_channels_first(ctx, x), 1)
    rstd = ctx.composites.fn("rsqrt", ctx.composites.plus(variance, eps))
    return _batch_norm(ctx, x, weight, bias, mean, rstd), mean, rstd, variance


@aten("_native_batch_norm_legit_functional", "_native_batch_norm_legit", "native_batch_norm")
def batch_norm(ctx: Context, input: Any, weight: Any, bias: Any, *rest: Any) -> Sequence[Value | None]:
    """(y, mean, rstd), then new running statistics if the op returns them; ``rest`` ends: training, momentum, eps."""
    *running, training, momentum, eps = rest
    running = running or [None, None]
    x = ctx.compute(input)
    if not training:
        y, mean, rstd = _eval(ctx, x, weight, bias, running, eps)
        return _ordered(ctx, [y, mean, rstd], [ctx.value(r) for r in running])
    y, mean, rstd, variance = _train(ctx, x, weight, bias, eps)
    if running[0] is None:
        return y, mean, rstd
    n = x.type.size // x.type.shape[1]
    unbiased = ctx.composites.scale(variance, n / max(1, n - 1))
    updated = [_running(ctx, r, v, momentum) for r, v in zip(running, (mean, unbiased), strict=True)]
    return _ordered(ctx, [y, mean, rstd], updated)


def _ordered(ctx: Context, results: list[Value], running: list[Value]) -> list[Value]:
    """An op that updates the running statistics in place has them as its first outputs."""
    name = ctx.call.op.split(".")[1]
    if name == "_native_batch_norm_legit":
        return running + results
    if name == "native_batch_norm":  # its schema hides that it writes to them
        for ref, value in zip(ctx.call.args[3:5], running, strict=True):
            ctx.write(ref, ctx.builder.cast(value, ctx.dtype(ref.dtype)))
        return results
    return results + running


def _eval(
    ctx: Context, x: Value, weight: Any, bias: Any, running: Sequence[Any], eps: float
) -> tuple[Value, Value, Value]:
    mean, variance = (ctx.value(r, x.type.dtype) for r in running)
    rstd = ctx.composites.fn("rsqrt", ctx.composites.plus(variance, eps))
    return _batch_norm(ctx, x, weight, bias, mean, rstd), mean, rstd


@aten("_native_batch_norm_legit_no_training")
def batch_norm_no_training(ctx: Context, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any,
                           momentum: float, eps: float) -> Sequence[Value]:  # fmt: skip
    y, mean, rstd = _eval(ctx, ctx.compute(input), weight, bias, [running_mean, running_var], eps)
    outs = ctx.out_types[1:]
    empty = [
        v if t.shape == v.type.shape else ctx.builder.constant(0, t.dtype, t.shape) for v, t in zip((mean, rstd), outs)
    ]
    return [y, *empty]


@aten("_fused_rms_norm", "rms_norm")
def rms_norm(ctx: Context, input: Any, normalized_shape: Sequence[int], weight: Any = None,
             eps: float | None = None) -> Sequence[Value]:  # fmt: skip
    b, kit, x = ctx.builder, ctx.composites, ctx.compute(input)
    lead = x.type.shape[: x.type.rank - len(normalized_shape)]
    rows = b.reshape(x, (math.prod(lead), math.prod(normalized_shape)))
    if eps is None:
        raise ctx.unsupported("give eps", " without eps")
    rstd = kit.fn("rsqrt", kit.plus(kit.mean(b("mul", rows, rows), 1), eps))
    y = b.reshape(b("mul", rows, kit.spread(rstd, rows, 1)), x.type.shape)
    y = kit.affine(y, _optional(ctx, weight, x.type.dtype), None, range(len(lead), x.type.rank))
    return y, b.reshape(rstd, (*lead, *(1,) * len(normalized_shape)))
