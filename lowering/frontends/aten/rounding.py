"""To integral values (round, floor, trunc, frac ...) and conversions of dtype."""

from __future__ import annotations

from typing import Any

from lowering.frontends.aten.context import Context
from lowering.frontends.aten.registry import aten
from lowering.ir.program import Value


def _integral(name: str, mode: str) -> None:
    @aten(name)
    def handler(ctx: Context, self: Any) -> Value:
        return _round(ctx, ctx.value(self), mode)


for _name in ("floor", "ceil", "trunc"):
    _integral(_name, _name)


def _round(ctx: Context, x: Value, mode: str) -> Value:
    return ctx.builder("round", x, mode=mode) if x.type.dtype.is_float else x


@aten("round")
def round_(ctx: Context, self: Any, decimals: int = 0) -> Value:
    if not decimals:
        return _round(ctx, ctx.value(self), "even")
    x, b = ctx.compute(self), ctx.builder
    power = b.like(10.0 ** abs(decimals), x)
    up, down = ("mul", "div") if decimals > 0 else ("div", "mul")
    return b(down, _round(ctx, b(up, x, power), "even"), power)


@aten("_to_copy", "clone", "_conj_copy", "view_copy")
def convert(ctx: Context, self: Any, *_: Any) -> Value:
    """A copy, in the output's dtype."""
    if ctx.call.op == "aten.view_copy.dtype":
        raise ctx.unsupported("bits seen under another dtype: use .view(dtype)")
    return ctx.builder.reshape(ctx.value(self), ctx.out.shape)


@aten("copy")
def copy(ctx: Context, self: Any, src: Any, non_blocking: bool = False) -> Value:
    return ctx.value(src)
