"""Reductions over dimensions: sum, mean, var, amax, argmax, any, norm, softmax ..."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lowering.frontends.aten.context import Context
from lowering.frontends.aten.dtypes import opmath
from lowering.frontends.aten.registry import aten
from lowering.ir.program import Value
from lowering.ir.types import BOOL


class Folded:
    """A tensor whose reduced dimensions were moved together into one: ``x``, and the ``axis`` to reduce."""

    def __init__(self, ctx: Context, x: Value, dims: Any) -> None:
        b, rank = ctx.builder, x.type.rank
        self.dims = ctx.axes(dims, rank)
        self.shape = x.type.shape
        kept = [d for d in range(rank) if d not in self.dims]
        self.axis = sum(d < min(self.dims, default=0) for d in kept)
        order = kept[: self.axis] + self.dims + kept[self.axis :]
        extents = [x.type.shape[d] for d in kept]
        extents.insert(self.axis, math.prod(x.type.shape[d] for d in self.dims))
        x = x if order == list(range(rank)) else b("transpose", x, perm=tuple(order))
        self.x, self.count = b.reshape(x, extents), extents[self.axis]

    def result(self, ctx: Context, value: Value) -> Value:
        """``value`` under the output's shape (keepdim)."""
        return ctx.builder.reshape(value, ctx.out.shape)


def total(ctx: Context, x: Value, axis: int) -> Value:
    return ctx.composites.reduce("add", x, axis)


def _accumulated(ctx: Context, self: Any, dtype: str | None) -> Value:
    """The summands in the accumulator's dtype: converted to ``dtype`` first, if given."""
    x = ctx.value(self) if dtype is None else ctx.value(self, ctx.dtype(dtype))
    return ctx.builder.cast(x, opmath(x.type.dtype) if x.type.dtype.is_float else ctx.out.dtype)


@aten("sum")
def sum_(ctx: Context, self: Any, dim: Any = None, keepdim: bool = False, dtype: str | None = None) -> Value:
    folded = Folded(ctx, _accumulated(ctx, self, dtype), dim)
    return folded.result(ctx, total(ctx, folded.x, folded.axis))


@aten("mean")
def mean(ctx: Context, self: Any, dim: Any = None, keepdim: bool = False, dtype: str | None = None) -> Value:
    """CUDA multiplies by 1/n (a division of its own accuracy) and rounds once; the CPU rounds the sum first."""
    folded = Folded(ctx, _accumulated(ctx, self, dtype), dim)
    result = total(ctx, folded.x, folded.axis)
    b = ctx.builder
    if ctx.cuda:
        count = b.like(float(folded.count), result)
        return folded.result(ctx, b("div", result, count, accuracy="declared", impl="torch"))
    result = b.cast(b.cast(result, ctx.out.dtype), result.type.dtype)
    return folded.result(ctx, b("div", result, b.like(float(folded.count), result)))


@aten("prod")
def prod(ctx: Context, self: Any, dim: Any = None, keepdim: bool = False, dtype: str | None = None) -> Value:
    folded = Folded(ctx, _accumulated(ctx, self, dtype), dim)
    return folded.result(ctx, ctx.composites.reduce("mul", folded.x, folded.axis))


def _moments(ctx: Context, self: Any, dim: Any, correction: Any) -> tuple[Folded, Value, Value]:
    folded = Folded(ctx, ctx.compute(self), dim)
    variance, mean_ = ctx.composites.variance(folded.x, folded.axis, 1.0 if correction is None else float(correction))
    return folded, variance, mean_


def _arguments(dim: Any, unbiased: Any, correction: Any) -> tuple[Any, Any]:
    """var(x, unbiased) and var(x, dim, unbiased, keepdim) are older overloads of var(x, dim, correction=)."""
    if isinstance(dim, bool):
        return None, int(dim)
    return dim, correction if unbiased is None else int(unbiased)


@aten("var")
def var(ctx: Context, self: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False,
        correction: Any = None) -> Value:  # fmt: skip
    folded, variance, _ = _moments(ctx, self, *_arguments(dim, unbiased, correction))
    return folded.result(ctx, variance)


@aten("std")
def std(ctx: Context, self: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False,
        correction: Any = None) -> Value:  # fmt: skip
    folded, variance, _ = _moments(ctx, self, *_arguments(dim, unbiased, correction))
    return folded.result(ctx, ctx.composites.fn("sqrt", variance))


@aten("var_mean", "std_mean")
def var_mean(ctx: Context, self: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False,
             correction: Any = None) -> Sequence[Value]:  # fmt: skip
    folded, spread, mean_ = _moments(ctx, self, *_arguments(dim, unbiased, correction))
    spread = ctx.composites.fn("sqrt", spread) if "std" in ctx.call.op else spread
    return folded.result(ctx, spread), folded.result(ctx, mean_)


def _extreme(ctx: Context, combine: str, self: Any, dim: Any) -> Value:
    folded = Folded(ctx, ctx.value(self), dim)
    return folded.result(ctx, ctx.composites.reduce(combine, folded.x, folded.axis))


@aten("amax")
def amax(ctx: Context, self: Any, dim: Any = (), keepdim: bool = False) -> Value:
    return _extreme(ctx, "max", self, dim)


@aten("amin")
def amin(ctx: Context, self: Any, dim: Any = (), keepdim: bool = False) -> Value:
    return _extreme(ctx, "min", self, dim)


def winner(ctx: Context, combine: str, x: Value, axis: int) -> tuple[Value, Value]:
    """The extreme value along ``axis`` and its lowest index; a NaN wins."""
    index = ctx.builder.index(x.type.shape, axis)
    op = ctx.builder.op("reduce", [x, index], axis=axis, combine=combine, order="unordered", impl="torch")
    return op.results[0], op.results[1]


def _arg(ctx: Context, combine: str, self: Any, dim: Any) -> Value:
    folded = Folded(ctx, ctx.value(self), dim)
    return folded.result(ctx, winner(ctx, combine, folded.x, folded.axis)[1])


@aten("argmax")
def argmax(ctx: Context, self: Any, dim: int | None = None, keepdim: bool = False) -> Value:
    return _arg(ctx, "argmax", self, dim)


@aten("argmin")
def argmin(ctx: Context, self: Any, dim: int | None = None, keepdim: bool = False) -> Value:
    return _arg(ctx, "argmin", self, dim)


def _max_or_min(ctx: Context, name: str, self: Any, dim: Any) -> Value | Sequence[Value]:
    if dim is None:
        return _extreme(ctx, name, self, None)
    if not isinstance(dim, int):  # max.other(self, other)
        return ctx.builder(name, *ctx.operands(self, dim))
    folded = Folded(ctx, ctx.value(self), dim)
    value, index = winner(ctx, f"arg{name}", folded.x, folded.axis)
    return folded.result(ctx, value), folded.result(ctx, index)


@aten("max")
def max_(ctx: Context, self: Any, dim: Any = None, keepdim: bool = False) -> Value | Sequence[Value]:
    return _max_or_min(ctx, "max", self, dim)


@aten("min")
def min_(ctx: Context, self: Any, dim: Any = None, keepdim: bool = False) -> Value | Sequence[Value]:
    return _max_or_min(ctx, "min", self, dim)


@aten("any")
def any_(ctx: Context, self: Any, dim: Any = None, keepdim: bool = False) -> Value:
    folded = Folded(ctx, ctx.value(self, BOOL), dim)
    return folded.result(ctx, ctx.composites.reduce("or", folded.x, folded.axis))


@aten("all")
def all_(ctx: Context, self: Any, dim: Any = None, keepdim: bool = False) -> Value:
    folded = Folded(ctx, ctx.value(self, BOOL), dim)
    return folded.result(ctx, ctx.composites.reduce("and", folded.x, folded.axis))


# -- softmax and its kin ----------------------------------------------------------------------------------------------


def _at_least_1d(ctx: Context, x: Value) -> Value:
    return x if x.type.rank else ctx.builder.reshape(x, (1,))


def _converted(ctx: Context, self: Any) -> Value:
    """In the dtype asked for, which is the result's, and then in the dtype to compute in."""
    return ctx.builder.cast(ctx.value(self, ctx.out.dtype), opmath(ctx.out.dtype))


def _softmax_like(ctx: Context, self: Any, dim: int, name: str) -> Value:
    x = _at_least_1d(ctx, _converted(ctx, self))
    result = getattr(ctx.composites, name)(x, ctx.axis(dim, x.type.rank))
    return ctx.builder.reshape(result, ctx.out.shape)


@aten("_softmax", "softmax")
def softmax(ctx: Context, self: Any, dim: int, dtype: Any = None) -> Value:
    return _softmax_like(ctx, self, dim, "softmax")


@aten("_log_softmax", "log_softmax")
def log_softmax(ctx: Context, self: Any, dim: int, dtype: Any = None) -> Value:
    return _softmax_like(ctx, self, dim, "log_softmax")


@aten("_safe_softmax")
def safe_softmax(ctx: Context, self: Any, dim: int, dtype: str | None = None) -> Value:
    """0 in rows that are -inf throughout."""
    b, axis = ctx.builder, ctx.axis(dim, len(self.shape))
    x = _converted(ctx, self)
    masked = ctx.composites.reduce("and", b.cmp("eq", x, b.like(-math.inf, x)), axis)
    result = ctx.composites.softmax(x, axis)
    return b("select", ctx.composites.spread(masked, x, axis), b.like(0.0, x), result)


@aten("logsumexp")
def logsumexp(ctx: Context, self: Any, dim: Any, keepdim: bool = False) -> Value:
    folded = Folded(ctx, ctx.compute(self), dim)
    return folded.result(ctx, ctx.composites.logsumexp(folded.x, folded.axis))
