"""Random numbers: each draw is a fresh stream of 'uniform' on [0, 1) or 'normal'; the others are built on them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from lowering.frontends.aten.context import Context
from lowering.frontends.aten.copies import narrow
from lowering.frontends.aten.ordering import sorted_pair
from lowering.frontends.aten.registry import aten
from lowering.ir.program import Value
from lowering.ir.types import F32, F64, I64, DType


def _draw(ctx: Context, dist: str, dt: DType | None = None, shape: Sequence[int] | None = None) -> Value:
    """The numbers of the call's draw.  They are laid into a dense result in order, whatever its shape."""
    dt = dt or (F64 if ctx.out.dtype is F64 else F32)
    shape = tuple(ctx.out.shape if shape is None else shape)
    if not ctx.call.draw:
        return ctx.builder("random", to=dt.name, shape=shape, dist=dist)
    flat = ctx.builder("random", to=dt.name, shape=(prod(shape),), dist=dist, stream=int(ctx.call.draw, 16))
    return ctx.builder("reshape", flat, shape=shape)


@aten("rand", "rand_like")
def rand(ctx: Context, *_: Any) -> Value:
    return _draw(ctx, "uniform")


@aten("randn", "randn_like")
def randn(ctx: Context, *_: Any) -> Value:
    return _draw(ctx, "normal")


@aten("uniform")
def uniform(ctx: Context, self: Any, low: float = 0.0, high: float = 1.0, **names: float) -> Value:
    low, high = names.get("from", low), names.get("to", high)
    return ctx.composites.plus(ctx.composites.scale(_draw(ctx, "uniform"), high - low), low)


@aten("normal", "normal_functional")
def normal(ctx: Context, mean: Any, *given: Any) -> Value:
    """normal_(self, mean, std), or normal(mean, std) with either of them a tensor."""
    std = given[0] if given else 1.0
    if ctx.call.op.split(".")[1] in ("normal_functional", "normal_") or ctx.call.op == "aten.normal.out":
        mean, std = [*given, *(0.0, 1.0)[len(given) :]]
    draw = _draw(ctx, "normal")
    spread, centre = (ctx.value(a, draw.type.dtype, ctx.out.shape) for a in (std, mean))
    return ctx.builder("add", ctx.builder("mul", draw, spread), centre)


@aten("exponential")
def exponential(ctx: Context, self: Any, lambd: float = 1.0) -> Value:
    b, kit = ctx.builder, ctx.composites
    survived = kit.fn("log1p", b("neg", _draw(ctx, "uniform")))
    return kit.scale(b("neg", survived), 1 / lambd)


@aten("randint", "randint_like")
def randint(ctx: Context, *bounds: Any, low: int = 0, high: int | None = None) -> Value:
    """randint(high, size), randint(low, high, size), randint_like(self, [low,] high)."""
    numbers = [n for n in bounds if isinstance(n, int)]
    high = numbers[-1] if high is None else high
    low = numbers[0] if len(numbers) > 1 else low
    steps = ctx.composites.scale(_draw(ctx, "uniform", F64), float(high - low))
    whole = ctx.builder.cast(steps, I64)
    return ctx.builder("add", whole, ctx.builder.like(low, whole))


#: One more than the largest whole number that random_() gives: every smaller one has a value of the dtype.
_WHOLE = {"f64": 2**53, "f32": 2**24, "f16": 2**11, "bf16": 2**8, "i1": 2}


@aten("random")
def random(ctx: Context, self: Any, *bounds: int | None) -> Value:
    """random_(), random_(to), random_(from, to)."""
    dt = ctx.out.dtype
    low, high = bounds if len(bounds) == 2 else (0, bounds[0] if bounds else None)
    high = _WHOLE.get(dt.name, 1 << (dt.bits - (dt.kind == "int"))) if high is None else high
    steps = ctx.composites.scale(_draw(ctx, "uniform", F64), float(high - (low or 0)))
    whole = ctx.builder.cast(steps, I64)
    return ctx.builder("add", whole, ctx.builder.like(low or 0, whole))


@aten("randperm")
def randperm(ctx: Context, n: int) -> Value:
    return sorted_pair(ctx, _draw(ctx, "uniform", F64), 0, False, stable=True)[1]


@aten("bernoulli")
def bernoulli(ctx: Context, self: Any, p: Any = None) -> Value:
    """Of probability ``p``, or of self lane by lane where no overload with p is meant (its default is a half)."""
    if p is None and ctx.call.op.split(".")[2] in ("p", "float", "float_out"):
        p = 0.5
    draw = _draw(ctx, "uniform")
    return ctx.builder.cmp("lt", draw, ctx.value(self if p is None else p, draw.type.dtype, ctx.out.shape))


@aten("native_dropout")
def native_dropout(ctx: Context, input: Any, p: float, train: bool | None = None) -> Sequence[Value]:
    """``train`` None means True."""
    b, x = ctx.builder, ctx.compute(input)
    if train is False:
        return x, b.true(x.type.shape)
    draw = _draw(ctx, "uniform", F32, x.type.shape)
    kept = b.cmp("lt", draw, b.like(1 - p, draw))
    scaled = ctx.composites.scale(x, 1 / (1 - p) if p < 1 else 0.0)
    return b("select", kept, scaled, b.like(0.0, x)), kept


@aten("multinomial")
def multinomial(ctx: Context, self: Any, num_samples: int, replacement: bool = False) -> Value:
    """Without replacement, or one sample: the largest p / e with e exponential."""
    if replacement and num_samples > 1:
        raise ctx.unsupported("one sample, or sampling without replacement", " with replacement")
    b, kit, x = ctx.builder, ctx.composites, ctx.compute(self)
    noise = b("neg", kit.fn("log1p", b("neg", _draw(ctx, "uniform", x.type.dtype, x.type.shape))))
    axis = x.type.rank - 1
    order = sorted_pair(ctx, b("div", x, noise), axis, True, stable=False)[1]
    return narrow(ctx, order, axis, 0, num_samples)
