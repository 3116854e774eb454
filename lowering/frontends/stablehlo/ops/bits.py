"""Bit patterns: bitcast_convert with and without a change of width, and the total order of floats."""

from __future__ import annotations

from lowering.frontends.stablehlo.node import Node, handles
from lowering.ir.builder import Builder
from lowering.ir.program import Value
from lowering.ir.types import DTYPES, DType


def unsigned(dt: DType) -> DType:
    """The unsigned dtype of the same width."""
    return DTYPES[f"u{dt.bits}"]


def signed(dt: DType) -> DType:
    """The signed dtype of the same width."""
    return DTYPES[f"i{dt.bits}"]


def total_order_key(b: Builder, x: Value) -> Value:
    """A signed integer ordered as IEEE totalOrder orders x: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN."""
    if not x.type.dtype.is_float:
        return x
    bits = b.bitcast(x, signed(x.type.dtype))
    magnitude = b.like(2 ** (x.type.dtype.bits - 1) - 1, bits)
    return b("select", b.cmp("lt", bits, b.like(0, bits)), b("xor", bits, magnitude), bits)


@handles("stablehlo.bitcast_convert")
def _bitcast_convert(node: Node) -> Value:
    b, (x,), to = node.b, node.operands, node.type.dtype
    if x.type.dtype.bits == to.bits:
        return b.bitcast(x, to)
    return _split(b, x, to) if x.type.dtype.bits > to.bits else _join(b, x, to)


def _split(b: Builder, x: Value, to: DType) -> Value:
    """One wide lane becomes a new last dimension of narrow lanes, low bits first."""
    word = b.bitcast(x, unsigned(x.type.dtype))
    parts = []
    for i in range(word.type.dtype.bits // to.bits):
        part = b.cast(b("shr", word, b.like(i * to.bits, word)), unsigned(to))
        parts.append(b.bitcast(b.reshape(part, (*x.type.shape, 1)), to))
    return b("concat", *parts, axis=x.type.rank)


def _join(b: Builder, x: Value, to: DType) -> Value:
    """The last dimension becomes one wide lane, low bits first."""
    word, lead = unsigned(to), x.type.shape[:-1]
    bits = b.cast(b.bitcast(x, unsigned(x.type.dtype)), word)
    total: Value | None = None
    for i in range(x.type.shape[-1]):
        part = b.reshape(_last(b, bits, i), lead)
        part = b("shl", part, b.like(i * x.type.dtype.bits, part))
        total = part if total is None else b("or", total, part)
    assert total is not None
    return b.bitcast(total, to)


def _last(b: Builder, x: Value, i: int) -> Value:
    lead = x.type.shape[:-1]
    return b("slice", x, start=(*(0 for _ in lead), i), limit=(*lead, i + 1), step=(1,) * x.type.rank)
