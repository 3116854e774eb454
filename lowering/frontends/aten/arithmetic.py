"""Pointwise arithmetic of two and more operands: add, mul, div, pow, fmod, lerp, addcmul, clamp ..."""

from __future__ import annotations

import math
from typing import Any

from lowering.capture.trace import TensorRef
from lowering.frontends.aten.context import Context
from lowering.frontends.aten.dtypes import opmath
from lowering.frontends.aten.registry import aten
from lowering.ir.program import Value
from lowering.ir.types import BOOL, DTYPES


@aten("add")
def add(ctx: Context, self: Any, other: Any, alpha: Any = 1) -> Value:
    return _add_scaled(ctx, self, other, alpha)


@aten("sub", "subtract")
def sub(ctx: Context, self: Any, other: Any, alpha: Any = 1) -> Value:
    if alpha == 1:
        return ctx.builder("sub", *ctx.operands(self, other))
    return _add_scaled(ctx, self, other, -alpha)


@aten("rsub")
def rsub(ctx: Context, self: Any, other: Any, alpha: Any = 1) -> Value:
    return sub(ctx, other, self, alpha)


def _add_scaled(ctx: Context, self: Any, other: Any, alpha: Any) -> Value:
    """self + alpha * other: one fma, as nvcc contracts it and the CPU's vector code spells it."""
    a, b = ctx.operands(self, other)
    if a.type.dtype is BOOL:
        return ctx.builder("or", a, b)
    if alpha == 1:
        return ctx.builder("add", a, b)
    factor = ctx.builder.like(alpha, b)
    if a.type.dtype.is_float:
        return ctx.builder("fma", b, factor, a)
    return ctx.builder("add", a, ctx.builder("mul", b, factor))


@aten("mul", "multiply")
def mul(ctx: Context, self: Any, other: Any) -> Value:
    return ctx.builder("mul", *ctx.operands(self, other))


@aten("div", "divide", "true_divide")
def div(ctx: Context, self: Any, other: Any, rounding_mode: str | None = None) -> Value:
    if rounding_mode == "floor":
        return floor_divide(ctx, self, other)
    if rounding_mode == "trunc":
        return _div_trunc(ctx, self, other)
    common = ctx.result_type(self, other)
    common = common if common.is_float else ctx.out.dtype
    a, b = ctx.cast_all([self, other], common, opmath(common))
    if ctx.cuda and not isinstance(other, TensorRef) and not _power_of_two(float(other)):
        # torch's CUDA kernel multiplies by the reciprocal of a Python number: a division of its own accuracy.
        return ctx.builder("div", a, b, accuracy="declared", impl="torch")
    return ctx.builder("div", a, b)


def _power_of_two(x: float) -> bool:
    return x != 0 and math.isfinite(x) and abs(math.frexp(x)[0]) == 0.5


def _div_trunc(ctx: Context, self: Any, other: Any) -> Value:
    a, b = ctx.operands(self, other)
    quotient = ctx.builder("div", a, b)
    return ctx.builder("round", quotient, mode="trunc") if a.type.dtype.is_float else quotient


@aten("floor_divide")
def floor_divide(ctx: Context, self: Any, other: Any) -> Value:
    """Python's floor division; for floats from the exact remainder, as torch does it."""
    a, b = ctx.operands(self, other)
    if not a.type.dtype.is_float:
        return ctx.builder("div", a, b, rounding="floor")
    return _floor_divide_floats(ctx, a, b)


def _floor_divide_floats(ctx: Context, a: Value, b: Value) -> Value:
    build, zero = ctx.builder, ctx.builder.like(0.0, a)
    mod = build("rem", a, b, rounding="trunc")
    exact = build("div", build("sub", a, mod), b)
    opposite = build("xor", build.cmp("lt", b, zero), build.cmp("lt", mod, zero))
    borrow = build("and", build.cmp("ne", mod, zero), opposite)
    exact = build("select", borrow, ctx.composites.plus(exact, -1.0), exact)
    floor = build("round", exact, mode="floor")
    too_low = ctx.composites.above(build("sub", exact, floor), 0.5)
    floor = build("select", too_low, ctx.composites.plus(floor, 1.0), floor)
    result = build("select", build.cmp("ne", exact, zero), floor, zero)
    return build("select", build.cmp("eq", b, zero), build("div", a, b), result)


@aten("fmod")
def fmod(ctx: Context, self: Any, other: Any) -> Value:
    return ctx.builder("rem", *ctx.operands(self, other, scalars="common"), rounding="trunc")


@aten("remainder")
def remainder(ctx: Context, self: Any, other: Any) -> Value:
    return ctx.builder("rem", *ctx.operands(self, other, scalars="common"), rounding="floor")


@aten("maximum")
def maximum(ctx: Context, self: Any, other: Any) -> Value:
    return _extremum(ctx, "max", self, other, "propagate")


@aten("minimum")
def minimum(ctx: Context, self: Any, other: Any) -> Value:
    return _extremum(ctx, "min", self, other, "propagate")


@aten("fmax")
def fmax(ctx: Context, self: Any, other: Any) -> Value:
    return _extremum(ctx, "max", self, other, "number")


@aten("fmin")
def fmin(ctx: Context, self: Any, other: Any) -> Value:
    return _extremum(ctx, "min", self, other, "number")


def _extremum(ctx: Context, name: str, self: Any, other: Any, nan: str) -> Value:
    return ctx.builder(name, *ctx.operands(self, other, scalars="common"), nan=nan)


@aten("clamp", "clip")
def clamp(ctx: Context, self: Any, min: Any = None, max: Any = None) -> Value:
    given = [a for a in (self, min, max) if a is not None]
    values = iter(ctx.operands(*given))
    x = next(values)
    if min is not None:
        x = ctx.builder("max", x, next(values))
    return x if max is None else ctx.builder("min", x, next(values))


@aten("clamp_min")
def clamp_min(ctx: Context, self: Any, min: Any) -> Value:
    return clamp(ctx, self, min)


@aten("clamp_max")
def clamp_max(ctx: Context, self: Any, max: Any) -> Value:
    return clamp(ctx, self, None, max)


@aten("lerp")
def lerp(ctx: Context, self: Any, end: Any, weight: Any) -> Value:
    """From the nearer end, so that both ends are hit exactly."""
    a, e, w = ctx.operands(self, end, weight)
    build = ctx.builder
    span = build("sub", e, a)
    near_start = build("fma", w, span, a)
    rest = build("sub", build.like(1.0, w), w)
    near_end = build("sub", e, build("mul", span, rest))
    return build("select", build.cmp("lt", build("abs", w), build.like(0.5, w)), near_start, near_end)


@aten("addcmul")
def addcmul(ctx: Context, self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Value:
    a, x, y = ctx.operands(self, tensor1, tensor2)
    build = ctx.builder
    x = x if value == 1 else build("mul", x, build.like(value, x))
    return build("add", a, build("mul", x, y))


@aten("addcdiv")
def addcdiv(ctx: Context, self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Value:
    a, x, y = ctx.operands(self, tensor1, tensor2)
    build = ctx.builder
    x = x if value == 1 else build("mul", x, build.like(value, x))
    return build("add", a, build("div", x, y))


@aten("atan2", "arctan2")
def atan2(ctx: Context, self: Any, other: Any) -> Value:
    return ctx.composites.fn("atan2", *_floats(ctx, self, other))


@aten("hypot")
def hypot(ctx: Context, self: Any, other: Any) -> Value:
    a, b = _floats(ctx, self, other)
    square = lambda x: ctx.builder("mul", x, x)  # noqa: E731
    return ctx.composites.fn("sqrt", ctx.builder("add", square(a), square(b)))


@aten("copysign")
def copysign(ctx: Context, self: Any, other: Any) -> Value:
    """The sign bit is read off the bits, so that -0 and NaN count."""
    a, b = _floats(ctx, self, other)
    magnitude = ctx.builder("abs", a)
    return ctx.builder("select", _sign_bit(ctx, b), ctx.builder("neg", magnitude), magnitude)


def _sign_bit(ctx: Context, x: Value) -> Value:
    bits = ctx.builder.bitcast(x, DTYPES[f"i{x.type.dtype.bits}"])
    return ctx.builder.cmp("lt", bits, ctx.builder.like(0, bits))


@aten("signbit")
def signbit(ctx: Context, self: Any) -> Value:
    x = ctx.value(self)
    if x.type.dtype.is_float:
        return _sign_bit(ctx, x)
    return ctx.builder.cmp("lt", x, ctx.builder.like(0, x))


@aten("xlogy")
def xlogy(ctx: Context, self: Any, other: Any) -> Value:
    """x * log(y), 0 where x is 0, NaN where y is."""
    x, y = _floats(ctx, self, other)
    build = ctx.builder
    value = build("mul", x, ctx.composites.fn("log", y))
    value = build("select", build.cmp("eq", x, build.like(0.0, x)), build.like(0.0, x), value)
    return build("select", build.is_nan(y), y, value)


@aten("logaddexp")
def logaddexp(ctx: Context, self: Any, other: Any) -> Value:
    a, b = ctx.operands(self, other)
    build, kit = ctx.builder, ctx.composites
    top = build("max", a, b)
    gap = build("neg", build("abs", build("sub", a, b)))
    return build("add", top, kit.fn("log1p", kit.exp(gap)))


def _floats(ctx: Context, *args: Any) -> list[Value]:
    common = ctx.result_type(*args)
    common = common if common.is_float else ctx.out.dtype
    return ctx.cast_all(args, common, opmath(common))
