"""Pointwise functions of one tensor: intrinsics, activations, sign and special-value tests, powers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes

from lowering.capture.trace import TensorRef
from lowering.frontends.aten.context import Context
from lowering.frontends.aten.registry import aten
from lowering.ir.program import Value
from lowering.ir.types import BOOL

_INTRINSICS = {
    **{
        name: name
        for name in [
            "sqrt",
            "rsqrt",
            "exp",
            "exp2",
            "expm1",
            "log",
            "log2",
            "log10",
            "log1p",
            "sin",
            "cos",
            "tan",
            "asin",
            "acos",
            "atan",
        ]
    },
    **{
        name: name
        for name in ["sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "lgamma", "digamma"]
    },
}


def _intrinsic(name: str, fn: str) -> None:
    @aten(name)
    def handler(ctx: Context, self: Any) -> Value:
        return ctx.composites.fn(fn, ctx.compute(self))


for _name, _fn in _INTRINSICS.items():
    _intrinsic(_name, _fn)


def _composite(name: str, function: Callable[..., Value]) -> None:
    @aten(name)
    def handler(ctx: Context, self: Any) -> Value:
        return function(ctx, ctx.compute(self))


for _name in ["sigmoid", "silu", "reciprocal"]:
    _composite(_name, lambda ctx, x, _name=_name: getattr(ctx.composites, _name)(x))


@aten("neg")
def neg(ctx: Context, self: Any) -> Value:
    return ctx.builder("neg", ctx.value(self))


@aten("abs")
def abs_(ctx: Context, self: Any) -> Value:
    return ctx.builder("abs", ctx.value(self))


@aten("detach", "lift_fresh_copy", "conj_physical")
def same(ctx: Context, self: Any) -> Value:
    return ctx.value(self)


@aten("sign", "sgn")
def sign(ctx: Context, self: Any) -> Value:
    x = ctx.value(self)
    if x.type.dtype is BOOL:
        return x
    b, zero = ctx.builder, ctx.builder.like(0, x)
    below = b("select", b.cmp("lt", x, zero), b.like(-1, x), zero)
    return b("select", b.cmp("gt", x, zero), b.like(1, x), below)


@aten("relu")
def relu(ctx: Context, self: Any) -> Value:
    x = ctx.value(self)
    return ctx.builder("max", x, ctx.builder.like(0, x))


@aten("gelu")
def gelu(ctx: Context, self: Any, approximate: str = "none") -> Value:
    x = ctx.compute(self)
    return ctx.composites.gelu_tanh(x) if approximate == "tanh" else ctx.composites.gelu_erf(x)


@aten("softplus")
def softplus(ctx: Context, self: Any, beta: Any = 1, threshold: Any = 20) -> Value:
    return ctx.composites.softplus(ctx.compute(self), float(beta), float(threshold))


@aten("leaky_relu")
def leaky_relu(ctx: Context, self: Any, negative_slope: Any = 0.01) -> Value:
    x = ctx.compute(self)
    return ctx.builder("select", ctx.composites.above(x, 0.0), x, ctx.composites.scale(x, float(negative_slope)))


@aten("elu")
def elu(ctx: Context, self: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Value:
    return ctx.composites.elu(ctx.compute(self), float(alpha), float(scale), float(input_scale))


@aten("hardtanh")
def hardtanh(ctx: Context, self: Any, min_val: Any = -1, max_val: Any = 1) -> Value:
    x, low, high = ctx.operands(self, min_val, max_val)
    return ctx.builder("min", ctx.builder("max", x, low), high)


@aten("pow")
def pow_(ctx: Context, self: Any, exponent: Any) -> Value:
    if not isinstance(exponent, TensorRef) and float(exponent) in _POWERS and ctx.result_type(self, exponent).is_float:
        return _POWERS[float(exponent)](ctx, ctx.compute(self))
    x, y = ctx.operands(self, exponent)
    if x.type.dtype.is_float:
        return ctx.composites.fn("pow", x, y)
    if isinstance(exponent, TensorRef) or exponent < 0:
        raise ctx.unsupported("integer powers are modelled for constant exponents from 0 up")
    return _integer_power(ctx, x, int(exponent))


def _cube(ctx: Context, x: Value) -> Value:
    """x * x is rounded to the tensor's dtype before the second product."""
    b = ctx.builder
    x_squared = b.cast(b.cast(b("mul", x, x), ctx.out.dtype), x.type.dtype)
    return b("mul", x_squared, x)


def _inverse_square(ctx: Context, x: Value) -> Value:
    b = ctx.builder
    return ctx.composites.reciprocal(b.cast(b.cast(b("mul", x, x), ctx.out.dtype), x.type.dtype))


# Exponents that torch does not send through pow.
_POWERS: dict[float, Callable[[Context, Value], Value]] = {
    0.0: lambda ctx, x: ctx.builder.like(1.0, x),
    1.0: lambda ctx, x: x,
    2.0: lambda ctx, x: ctx.builder("mul", x, x),
    3.0: _cube,
    0.5: lambda ctx, x: ctx.composites.fn("sqrt", x),
    -0.5: lambda ctx, x: ctx.composites.fn("rsqrt", x),
    -1.0: lambda ctx, x: ctx.composites.reciprocal(x),
    -2.0: _inverse_square,
}


def _integer_power(ctx: Context, x: Value, n: int) -> Value:
    result, square_ = ctx.builder.like(1, x), x
    while n:
        result = ctx.builder("mul", result, square_) if n & 1 else result
        n >>= 1
        square_ = ctx.builder("mul", square_, square_) if n else square_
    return result


@aten("isnan")
def isnan(ctx: Context, self: Any) -> Value:
    return ctx.builder.is_nan(ctx.value(self))


@aten("isinf")
def isinf(ctx: Context, self: Any) -> Value:
    return _infinite(ctx, self, "eq")


@aten("isfinite")
def isfinite(ctx: Context, self: Any) -> Value:
    return _infinite(ctx, self, "lt")


def _infinite(ctx: Context, self: Any, pred: str) -> Value:
    x = ctx.value(self)
    if not x.type.dtype.is_float:
        return ctx.builder.constant(pred == "lt", BOOL, x.type.shape)
    magnitude = ctx.builder("abs", x)
    return ctx.builder.cmp(pred, magnitude, ctx.builder.like(math.inf, x))


@aten("nan_to_num")
def nan_to_num(ctx: Context, self: Any, nan: float | None = None, posinf: float | None = None,
               neginf: float | None = None) -> Value:  # fmt: skip
    x, b = ctx.value(self), ctx.builder
    if not x.type.dtype.is_float:
        return x
    largest = float(ml_dtypes.finfo(x.type.dtype.numpy).max)
    put = lambda hit, value, rest: b("select", hit, b.like(value, x), rest)  # noqa: E731
    result = put(b.cmp("eq", x, b.like(math.inf, x)), largest if posinf is None else posinf, x)
    result = put(b.cmp("eq", x, b.like(-math.inf, x)), -largest if neginf is None else neginf, result)
    return put(b.is_nan(x), nan or 0.0, result)
