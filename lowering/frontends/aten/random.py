"""Random numbers: each draw is a fresh stream of 'uniform' on [0, 1) or 'normal'; the others are built on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowering.frontends.aten.context import Context
from lowering.frontends.aten.copies import narrow
from lowering.frontends.aten.ordering import sorted_pair
from lowering.frontends.aten.registry import aten
from lowering.ir.program import Value
from lowering.ir.types import F32, F64, I64, DType


def _draw(ctx: Context, dist: str, dt: DType | None = None, shape: Sequence[int] | None = None) -> Value:
    dt = dt or (F64 if ctx.out.dtype is F64 else F32)
    return ctx.builder("random", to=dt.name, shape=tuple(ctx.out.shape if shape is None else shape), dist=dist)


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
def normal(ctx: Context, mean: Any = 0.0, std: Any = 1.0, *rest: Any) -> Value:
    """normal_(self, mean, std), or normal(mean, std) with either of them a tensor."""
    if "_functional" in ctx.call.op or ctx.call.op.split(".")[1] == "normal_":
        mean, std = std, rest[0] if rest else 1.0
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


@aten("randperm")
def randperm(ctx: Context, n: int) -> Value:
    return sorted_pair(ctx, _draw(ctx, "uniform", F64), 0, False, stable=True)[1]


@aten("bernoulli")
def bernoulli(ctx: Context, self: Any, p: Any = None) -> Value:
    """Of probability ``p``, or of self lane by lane."""
    draw = _draw(ctx, "uniform")
    return ctx.builder.cmp("lt", draw, ctx.value(self if p is None else p, draw.type.dtype, ctx.out.shape))


@aten("native_dropout")
def native_dropout(ctx: Context, input: Any, p: float, train: bool | None = True) -> Sequence[Value]:
    b, x = ctx.builder, ctx.compute(input)
    if not train:
        return x, b.true(x.type.shape)
    draw = b("random", to="f32", shape=x.type.shape, dist="uniform")
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
