"""CHLO ops: functions that StableHLO itself lacks.  Each intrinsic's value is XLA's."""

from __future__ import annotations

from lowering.frontends.stablehlo.node import Node, handles
from lowering.frontends.stablehlo.ops.bits import total_order_key
from lowering.frontends.stablehlo.ops.elementwise import declared
from lowering.ir.program import Value

_MATH = {
    "acos": "acos",
    "acosh": "acosh",
    "asin": "asin",
    "asinh": "asinh",
    "atan": "atan",
    "atanh": "atanh",
    "cosh": "cosh",
    "sinh": "sinh",
    "tan": "tan",
    "erf": "erf",
    "erfc": "erfc",
    "erf_inv": "erfinv",
    "lgamma": "lgamma",
    "digamma": "digamma",
}


@handles(*(f"chlo.{n}" for n in _MATH))
def _math(node: Node) -> Value:
    return declared(node.b, _MATH[node.name.removeprefix("chlo.")], *node.operands)


@handles("chlo.square")
def _square(node: Node) -> Value:
    (x,) = node.operands
    return node.b("mul", x, x)


@handles("chlo.is_inf", "chlo.is_pos_inf", "chlo.is_neg_inf")
def _is_inf(node: Node) -> Value:
    b, (x,) = node.b, node.operands
    if node.name == "chlo.is_inf":
        x = b("abs", x)
    infinity = -float("inf") if node.name == "chlo.is_neg_inf" else float("inf")
    return b.cmp("eq", x, b.like(infinity, x))


@handles("chlo.next_after")
def _next_after(node: Node) -> Value:
    """The neighbour of x towards y: one step of x's bit pattern in total order, with one zero."""
    b, (x, y) = node.b, node.operands
    signed = total_order_key(b, x)
    zero, one = b.like(0, signed), b.like(1, signed)
    magnitude = b("and", b.bitcast(x, signed.type.dtype), b.like(2 ** (signed.type.dtype.bits - 1) - 1, signed))
    is_zero = b.cmp("eq", magnitude, zero)
    up = b.cmp("gt", y, x)
    grows = b.cmp("eq", up, b.cmp("ge", b.bitcast(x, signed.type.dtype), zero))
    stepped = b("add", b.bitcast(x, signed.type.dtype), b("select", grows, one, b("neg", one)))
    smallest = b("select", up, one, b("add", b.like(-(2 ** (signed.type.dtype.bits - 1)), one), one))
    moved = b.bitcast(b("select", is_zero, smallest, stepped), x.type.dtype)
    nan = b("or", b.is_nan(x), b.is_nan(y))
    return b("select", nan, b("add", x, y), b("select", b.cmp("eq", x, y), y, moved))


@handles("chlo.mulhi")
def _mulhi(node: Node) -> Value:
    return node.b("mulhi", *node.operands)


@handles("chlo.constant_like")
def _constant_like(node: Node) -> Value:
    from jaxlib.mlir import ir

    attribute = node.attr("value")
    value = ir.FloatAttr(attribute).value if node.type.dtype.is_float else int(attribute.value)
    return node.b.like(value, node.operands[0])
