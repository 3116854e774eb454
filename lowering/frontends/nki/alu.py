"""ALU operations in f32 or on the bits of integers (NKI.md §1.7)."""

from __future__ import annotations

from collections.abc import Callable

from lowering.errors import Unsupported
from lowering.frontends.nki.state import State
from lowering.ir.program import Value
from lowering.ir.types import F32

Binary = Callable[[State, Value, Value], Value]
_PLAIN = {"add": "add", "subtract": "sub", "mult": "mul"}
_COMPARISONS = {"is_equal": "eq", "not_equal": "ne", "is_gt": "gt", "is_ge": "ge", "is_lt": "lt", "is_le": "le"}
_LOGICAL = {"logical_and": "and", "logical_or": "or", "logical_xor": "xor"}
_BITS = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "logical_shift_left": "shl",
         "logical_shift_right": "shr"}  # fmt: skip
UNARY = frozenset(["abs", "square", "relu", "rsqrt", "reciprocal", "negative", "bypass", "bitwise_not", "logical_not"])
COMBINE = {"add": "add", "mult": "mul", "max": "max", "min": "min"}  # as KIR's reduce calls them
IDENTITY = {"add": 0.0, "mult": 1.0, "max": float("-inf"), "min": float("inf")}


def apply(state: State, op: str, x: Value, y: Value) -> Value:
    """op(x, y) in f32; unary operations look at x alone."""
    b = state.builder
    if op in _PLAIN:
        return b(_PLAIN[op], x, y)
    if op in ("max", "min"):
        return b(op, x, y)
    if op == "divide":
        return b("div", x, y)
    if op in _COMPARISONS:
        return b.cast(b.cmp(_COMPARISONS[op], x, y), F32)
    if op in _LOGICAL:
        return b.cast(b(_LOGICAL[op], _truth(state, x), _truth(state, y)), F32)
    if op in UNARY:
        return unary(state, op, x)
    if op == "pow":
        return state.composites.fn("pow", x, y)
    raise Unsupported(f"the ALU operation {op}", b.span)


def unary(state: State, op: str, x: Value) -> Value:
    b = state.builder
    match op:
        case "bypass":
            return x
        case "abs":
            return b("abs", x)
        case "negative":
            return b("neg", x)
        case "square":
            return b("mul", x, x)
        case "relu":
            return b("max", x, b.like(0.0, x))
        case "rsqrt":
            return state.composites.fn("rsqrt", x)
        case "reciprocal":
            return b("div", b.like(1.0, x), x)
        case "logical_not":
            return b.cast(b.cmp("eq", x, b.like(0.0, x)), F32)
        case _:
            raise Unsupported(f"the ALU operation {op}", b.span)


def on_bits(state: State, op: str, x: Value, y: Value) -> Value:
    """A bit operation on integers of one dtype."""
    if op == "bitwise_not":
        return state.builder("not", x)
    return state.builder(_BITS[op], x, y)


def _truth(state: State, x: Value) -> Value:
    return state.builder.cmp("ne", x, state.builder.like(0.0, x))
