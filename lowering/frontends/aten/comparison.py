"""Comparisons, logic, bits and choice: eq, where, masked_fill, logical_and, bitwise_or, shifts, isclose."""

from __future__ import annotations

from typing import Any

from lowering.frontends.aten.context import Context
from lowering.frontends.aten.registry import aten
from lowering.ir.program import Value
from lowering.ir.types import BOOL, DTYPES


def _compare(name: str, pred: str) -> None:
    @aten(name)
    def handler(ctx: Context, self: Any, other: Any) -> Value:
        return ctx.builder.cmp(pred, *ctx.operands(self, other, scalars="common"))


for _pred in ("eq", "ne", "lt", "le", "gt", "ge"):
    _compare(_pred, _pred)


def _logical(name: str, op: str) -> None:
    @aten(name)
    def handler(ctx: Context, self: Any, other: Any) -> Value:
        shape = ctx.broadcast_shape(self, other)
        return ctx.builder(op, ctx.value(self, BOOL, shape), ctx.value(other, BOOL, shape))


def _bitwise(name: str, op: str) -> None:
    @aten(name)
    def handler(ctx: Context, self: Any, other: Any) -> Value:
        return ctx.builder(op, *ctx.operands(self, other))


for _op in ("and", "or", "xor"):
    _logical(f"logical_{_op}", _op)
    _bitwise(f"bitwise_{_op}", _op)


@aten("logical_not")
def logical_not(ctx: Context, self: Any) -> Value:
    return ctx.builder("not", ctx.value(self, BOOL))


@aten("bitwise_not")
def bitwise_not(ctx: Context, self: Any) -> Value:
    x = ctx.value(self)
    if x.type.dtype is BOOL:
        return ctx.builder("not", x)
    ones = (1 << x.type.dtype.bits) - 1 if x.type.dtype.kind == "uint" else -1
    return ctx.builder("xor", x, ctx.builder.like(ones, x))  # as Triton writes it: the same words


@aten("bitwise_left_shift")
def shift_left(ctx: Context, self: Any, other: Any) -> Value:
    """0 where the distance is negative or not below the width."""
    x, n = ctx.operands(self, other)
    return _shift(ctx, "shl", x, n, ctx.builder.like(0, x))


@aten("bitwise_right_shift")
def shift_right(ctx: Context, self: Any, other: Any) -> Value:
    """The sign everywhere where the distance is negative or not below the width."""
    x, n = ctx.operands(self, other)
    last = ctx.builder.like(x.type.dtype.bits - 1, x)
    return _shift(ctx, "shr", x, n, ctx.builder("shr", x, last))


def _shift(ctx: Context, op: str, x: Value, n: Value, beyond: Value) -> Value:
    b, bits = ctx.builder, x.type.dtype.bits
    distance = b.bitcast(n, DTYPES[f"u{bits}"])
    inside = b.cmp("lt", distance, b.like(bits, distance))
    return b("select", inside, b(op, x, b("and", n, b.like(bits - 1, n))), beyond)


@aten("where")
def where(ctx: Context, condition: Any, self: Any, other: Any) -> Value:
    common = ctx.result_type(self, other)
    shape = ctx.broadcast_shape(condition, self, other)
    x, y = (ctx.value(arg, common, shape) for arg in (self, other))
    return ctx.builder("select", ctx.value(condition, BOOL, shape), x, y)


@aten("masked_fill")
def masked_fill(ctx: Context, self: Any, mask: Any, value: Any) -> Value:
    shape, dt = ctx.broadcast_shape(self, mask), ctx.out.dtype
    filler = ctx.value(value, dt, shape)
    return ctx.builder("select", ctx.value(mask, BOOL, shape), filler, ctx.value(self, dt, shape))
