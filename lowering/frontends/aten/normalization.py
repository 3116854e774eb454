"""Normalisations whose statistics are outputs: layer and group norm; torch takes batch and rms norm apart."""

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


@aten("native_group_norm")
def native_group_norm(ctx: Context, input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int,
                      eps: float) -> Sequence[Value]:  # fmt: skip
    b, x = ctx.builder, ctx.compute(input)
    rows = b.reshape(x, (N * group, C // group * HxW))
    y, mean, rstd = ctx.composites.normalize(rows, 1, eps)
    w, shift = (_optional(ctx, p, x.type.dtype) for p in (weight, bias))
    y = ctx.composites.affine(b.reshape(y, x.type.shape), w, shift, (1,))
    return y, b.reshape(mean, (N, group)), b.reshape(rstd, (N, group))
