"""Pointwise arithmetic of two and more operands: add, mul, div, pow, fmod, lerp, addcmul, clamp ..."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from lowering.capture.trace import TensorRef
from lowering.frontends.aten.context import Context
from lowering.frontends.aten.dtypes import opmath
from lowering.frontends.aten.registry import aten
from lowering.ir.program import Value
from lowering.ir.types import BOOL, DTYPES, F64, DType


@aten("add")
def add(ctx: Context, self: Any, other: Any, alpha: Any = 1) -> Value:
    return _add_scaled(ctx, self, other, alpha)


@aten("sub")
def sub(ctx: Context, self: Any, other: Any, alpha: Any = 1) -> Value:
    if alpha == 1:
        return ctx.builder("sub", *ctx.operands(self, other, scalars=_addend(ctx)))
    return _add_scaled(ctx, self, other, -alpha)


@aten("rsub")
def rsub(ctx: Context, self: Any, other: Any, alpha: Any = 1) -> Value:
    return sub(ctx, other, self, alpha)


def _addend(ctx: Context) -> str:
    """A Python number that is added: the CPU rounds it to the tensor's dtype first (not so one that multiplies).

    So it does with alpha, but for the last few elements that fill no vector: what they do is not modelled.
    """
    return "opmath" if ctx.cuda else "common"


def _add_scaled(ctx: Context, self: Any, other: Any, alpha: Any) -> Value:
    """self + alpha * other: one fma, as nvcc contracts it and the CPU's vector code spells it."""
    a, b = ctx.operands(self, other, scalars=_addend(ctx))
    if a.type.dtype is BOOL:
        return ctx.builder("or", a, b) if alpha else a
    if alpha == 1:
        return ctx.builder("add", a, b)
    factor = ctx.value(alpha, b.type.dtype, b.type.shape)
    if a.type.dtype.is_float:
        factor = factor if ctx.cuda else ctx.builder.cast(ctx.cast(factor, ctx.result_type(self, other)), b.type.dtype)
        return ctx.builder("fma", b, factor, a)
    return ctx.builder("add", a, ctx.builder("mul", b, factor))


@aten("mul")
def mul(ctx: Context, self: Any, other: Any) -> Value:
    return ctx.builder("mul", *_with_factor(ctx, self, other, ctx.result_type(self, other)))


def _with_factor(ctx: Context, self: Any, other: Any, common: DType) -> list[Value]:
    """Both operands; to the CPU a 0-d second one is like a Python number: it is not rounded to the narrow dtype."""
    a, b = ctx.cast_all([self, other], common, opmath(common))
    number = isinstance(other, TensorRef) and not other.shape and isinstance(self, TensorRef) and self.shape
    return [a, ctx.value(other, a.type.dtype, a.type.shape)] if number and not ctx.cuda else [a, b]


@aten("div")
def div(ctx: Context, self: Any, other: Any, rounding_mode: str | None = None) -> Value:
    if rounding_mode == "floor":
        return floor_divide(ctx, self, other)
    if rounding_mode == "trunc":
        return _div_trunc(ctx, self, other)
    common = ctx.result_type(self, other)
    common = common if common.is_float else ctx.out.dtype
    a, b = _with_factor(ctx, self, other, common)
    if ctx.cuda and not isinstance(other, TensorRef) and not _power_of_two(float(other)):
        # torch's CUDA kernel multiplies by the reciprocal of a Python number: a division of its own accuracy.
        return ctx.builder("div", a, b, accuracy="declared", impl="torch")
    return ctx.builder("div", a, b)


def _power_of_two(x: float) -> bool:
    return x != 0 and math.isfinite(x) and abs(math.frexp(x)[0]) == 0.5


def _div_trunc(ctx: Context, self: Any, other: Any) -> Value:
    build, common = ctx.builder, ctx.result_type(self, other)
    a, b = _with_factor(ctx, self, other, common)
    if not a.type.dtype.is_float:
        return build("div", a, b)
    if ctx.cuda and not isinstance(other, TensorRef):  # as in ``div``: by the reciprocal
        return build("round", build("div", a, b, accuracy="declared", impl="torch"), mode="trunc")
    return build("round", _step(ctx, other, common)(build("div", a, b)), mode="trunc")


def _step(ctx: Context, other: Any, common: DType) -> Callable[[Value], Value]:
    """What a whole-number division of floats does to each step: with two narrow tensors it is rounded to their dtype.

    A single divisor (a Python number, and on the CPU a tensor of one element) is worked with in f32 throughout.
    """
    single = not isinstance(other, TensorRef) or (not ctx.cuda and math.prod(other.shape) == 1)
    return lambda x: x if single else ctx.builder.cast(ctx.builder.cast(x, common), x.type.dtype)


@aten("floor_divide")
def floor_divide(ctx: Context, self: Any, other: Any) -> Value:
    """Python's floor division; for floats from the exact remainder, as torch does it."""
    common = ctx.result_type(self, other)
    a, b = _with_factor(ctx, self, other, common)
    if not a.type.dtype.is_float:
        return ctx.builder("div", a, b, rounding="floor")
    return _floor_divide_floats(ctx, a, b, _step(ctx, other, common))


def _floor_divide_floats(ctx: Context, a: Value, b: Value, step: Callable[[Value], Value]) -> Value:
    build, zero = ctx.builder, ctx.builder.like(0.0, a)
    mod = build("rem", a, b, rounding="trunc")
    exact = step(build("div", step(build("sub", a, mod)), b))
    opposite = build("xor", build.cmp("lt", b, zero), build.cmp("lt", mod, zero))
    borrow = build("and", build.cmp("ne", mod, zero), opposite)
    exact = build("select", borrow, step(ctx.composites.plus(exact, -1.0)), exact)
    floor = build("round", exact, mode="floor")
    too_low = ctx.composites.above(build("sub", exact, floor), 0.5)
    floor = build("select", too_low, step(ctx.composites.plus(floor, 1.0)), floor)
    quotient = build("div", a, b)
    signed = build("mul", quotient, zero)  # the sign of the quotient is that of a result of 0
    result = build("select", build.cmp("ne", exact, zero), floor, signed)
    return build("select", build.cmp("eq", b, zero), quotient, result)


@aten("fmod")
def fmod(ctx: Context, self: Any, other: Any) -> Value:
    return ctx.builder("rem", *ctx.operands(self, other, scalars="common"), rounding="trunc")


@aten("remainder")
def remainder(ctx: Context, self: Any, other: Any) -> Value:
    """Of floats, C's remainder and, where its sign is not the divisor's, the divisor more: as torch's kernels do."""
    build, (a, b) = ctx.builder, ctx.operands(self, other, scalars="common")
    if not a.type.dtype.is_float:
        return build("rem", a, b, rounding="floor")
    mod, zero = build("rem", a, b, rounding="trunc"), build.like(0.0, a)
    opposite = build("xor", build.cmp("lt", b, zero), build.cmp("lt", mod, zero))
    return build("select", build("and", build.cmp("ne", mod, zero), opposite), build("add", mod, b), mod)


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


@aten("clamp")
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


def _factor(ctx: Context, value: Any, x: Value) -> Value | None:
    """``value`` as a constant, or None where it is 1 and thus changes nothing."""
    return None if value == 1 else ctx.builder.like(value, x)


@aten("lerp")
def lerp(ctx: Context, self: Any, end: Any, weight: Any) -> Value:
    """From the nearer end, so that both ends are hit exactly; one fma each, on the CPU and by nvcc."""
    a, e, w = ctx.operands(self, end, weight)
    build = ctx.builder
    span = build("sub", e, a)
    near_start = build("fma", w, span, a)
    rest = build("sub", build.like(1.0, w), w)
    near_end = build("fma", build("neg", span), rest, e)
    return build("select", build.cmp("lt", build("abs", w), build.like(0.5, w)), near_start, near_end)


@aten("addcmul")
def addcmul(ctx: Context, self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Value:
    """One fma: of the product by tensor2 on the CPU, of the product by ``value`` on CUDA (DeviceAddCmulCdiv.cuh)."""
    a, x, y = ctx.operands(self, tensor1, tensor2)
    build, factor = ctx.builder, _factor(ctx, value, x)
    if not x.type.dtype.is_float:
        product = build("mul", x, y)
        return build("add", a, product if factor is None else build("mul", product, factor))
    if factor is None:
        return build("fma", x, y, a)
    if ctx.cuda:
        return build("fma", factor, build("mul", x, y), a)
    return build("fma", build("mul", x, factor), y, a)


@aten("addcdiv")
def addcdiv(ctx: Context, self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Value:
    """The CPU scales the dividend; CUDA scales the quotient, in one fma with the sum (DeviceAddCmulCdiv.cuh)."""
    a, x, y = ctx.operands(self, tensor1, tensor2)
    build, factor = ctx.builder, _factor(ctx, value, x)
    if factor is not None and ctx.cuda:
        return build("fma", factor, build("div", x, y), a)
    return build("add", a, build("div", x if factor is None else build("mul", x, factor), y))


@aten("atan2")
def atan2(ctx: Context, self: Any, other: Any) -> Value:
    return ctx.composites.fn("atan2", *_floats(ctx, self, other))


@aten("hypot")
def hypot(ctx: Context, self: Any, other: Any) -> Value:
    """Without overflow: in f64 where that is wider, else scaled by the larger side.  An infinity wins over a NaN."""
    a, b = (ctx.builder("abs", x) for x in _floats(ctx, self, other))
    length = _scaled_length(ctx, a, b) if a.type.dtype is F64 else _wide_length(ctx, a, b)
    build, infinity = ctx.builder, ctx.builder.like(math.inf, a)
    infinite = build("or", build.cmp("eq", a, infinity), build.cmp("eq", b, infinity))
    return build("select", infinite, infinity, length)


def _wide_length(ctx: Context, a: Value, b: Value) -> Value:
    build, dt = ctx.builder, a.type.dtype
    squares = [build("mul", x, x) for x in (build.cast(a, F64), build.cast(b, F64))]
    return build.cast(ctx.composites.fn("sqrt", build("add", *squares)), dt)


def _scaled_length(ctx: Context, a: Value, b: Value) -> Value:
    build, kit = ctx.builder, ctx.composites
    top, low = build("max", a, b), build("min", a, b)
    ratio = build("div", low, top)
    length = build("mul", top, kit.fn("sqrt", kit.plus(build("mul", ratio, ratio), 1.0)))
    return build("select", build.is_nan(ratio), build("add", top, low), length)  # 0 / 0


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


@aten("logaddexp")
def logaddexp(ctx: Context, self: Any, other: Any) -> Value:
    return log_of_sum(ctx, *ctx.operands(self, other))


def log_of_sum(ctx: Context, a: Value, b: Value) -> Value:
    """ln(e^a + e^b).  Where the difference is NaN, of equal infinities or of a NaN, the sum is the result."""
    build, kit = ctx.builder, ctx.composites
    gap = build("neg", build("abs", build("sub", a, b)))
    result = build("add", build("max", a, b), kit.fn("log1p", kit.exp(gap)))
    return build("select", build.is_nan(gap), build("add", a, b), result)


def _floats(ctx: Context, *args: Any) -> list[Value]:
    common = ctx.result_type(*args)
    common = common if common.is_float else ctx.out.dtype
    return ctx.cast_all(args, common, opmath(common))
