"""ALU operations in f32, or on the bits of integers (NKI.md §1.7)."""

from __future__ import annotations

from lowering.errors import Unsupported
from lowering.frontends.nki.state import State
from lowering.ir.builder import Builder
from lowering.ir.program import Value
from lowering.ir.types import BOOL, DTYPES

_PLAIN = {"add": "add", "subtract": "sub", "mult": "mul"}
_COMPARISONS = {"is_equal": "eq", "not_equal": "ne", "is_gt": "gt", "is_ge": "ge", "is_lt": "lt", "is_le": "le"}
_LOGICAL = {"logical_and": "and", "logical_or": "or", "logical_xor": "xor"}
_BITS = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}
_SHIFTS = {"logical_shift_left": "shl", "logical_shift_right": "shr", "arith_shift_left": "shl",
           "arith_shift_right": "shr"}  # fmt: skip
_REMAINDERS = {"mod": "floor", "fmod": "trunc"}
UNARY = frozenset(["abs", "square", "relu", "rsqrt", "reciprocal", "negative", "bypass", "bitwise_not", "logical_not"])
BITVEC = frozenset([*_BITS, *_SHIFTS, "bitwise_not"])
COMBINE = {"add": "add", "mult": "mul", "max": "max", "min": "min"}  # as KIR's reduce calls them
COMBINE_BITS = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}
COMBINE_TRUTH = _LOGICAL
IDENTITY = {"add": 0.0, "subtract": 0.0, "mult": 1.0, "max": float("-inf"), "min": float("inf"), "abs_max": 0.0}


def apply(state: State, op: str, x: Value, y: Value) -> Value:
    """op(x, y) in f32; unary operations look at x alone."""
    b = state.builder
    if op in UNARY:
        return unary(state, op, x)
    if op in _PLAIN:
        state.assume("ftz")
        return b(_PLAIN[op], x, y)
    if op in ("max", "min"):
        state.assume("nan")
        return b(op, x, y)
    if op in ("abs_max", "abs_min"):
        first = b.cmp("ge" if op == "abs_max" else "le", b("abs", x), b("abs", y))
        return b("select", first, x, y)
    if op in _COMPARISONS:
        return state.one_or_zero(state.compared(_COMPARISONS[op], x, y))
    if op in _LOGICAL:
        return state.one_or_zero(b(_LOGICAL[op], state.truth(x), state.truth(y)))
    if op in _REMAINDERS:
        return b("rem", x, y, rounding=_REMAINDERS[op])
    if op in ("divide", "pow"):
        state.assume("act_model")
        if op == "pow":
            return state.composites("pow").fn("pow", x, y)
        return b("div", x, y, accuracy="declared", impl=state.impl("divide"))
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
            state.assume("act_model")
            return state.composites().fn("rsqrt", x)
        case "reciprocal":
            state.assume("act_model")
            return b("div", b.like(1.0, x), x, accuracy="declared", impl=state.impl("reciprocal"))
        case "logical_not":
            known = state.truths.get(x)
            return state.one_or_zero(b.cmp("eq", x, b.like(0.0, x)) if known is None else b("not", known))
        case _:
            raise Unsupported(f"the ALU operation {op} on numbers", b.span)


def on_integers(state: State, op: str, x: Value, y: Value) -> Value:
    """An arithmetic operation in the integers' own dtype, modulo 2^bits."""
    if op in _PLAIN or op in ("max", "min"):
        return state.builder(_PLAIN.get(op, op), x, y)
    raise Unsupported(f"the ALU operation {op} on integers of {x.type.dtype}", state.builder.span)


def on_bits(state: State, op: str, x: Value, y: Value | None) -> Value:
    """A bit operation on the bit patterns of x and y; of the wider one's width, in x's dtype where that is x's."""
    b = state.builder
    if op == "bitwise_not":
        return b.bitcast(b("not", bits(b, x)), x.type.dtype)
    if y is None:
        raise Unsupported(f"{op} of one operand", b.span)
    if op in _SHIFTS:
        return _shifted(state, op, x, y)
    width = max(x.type.dtype.bits, y.type.dtype.bits)
    if x.type.dtype.bits != y.type.dtype.bits:
        state.assume("mixed_bits")
        x, y = widened(b, x, width), widened(b, y, width)
    return b.bitcast(b(_BITS[op], bits(b, x), bits(b, y)), x.type.dtype)


def _shifted(state: State, op: str, x: Value, amount: Value) -> Value:
    b, signed = state.builder, op == "arith_shift_right"
    state.assume("shift")
    if amount.type.dtype.is_float:
        raise Unsupported(f"{op} by a float", b.span)
    operand = b.bitcast(x, DTYPES[f"i{x.type.dtype.bits}"]) if signed else bits(b, x)
    value = b(_SHIFTS[op], operand, b.cast(amount, operand.type.dtype))
    return b.bitcast(value, x.type.dtype)


def bits(b: Builder, x: Value) -> Value:
    """The bit patterns of x as unsigned integers."""
    return x if x.type.dtype is BOOL else b.bitcast(x, DTYPES[f"u{x.type.dtype.bits}"])


def widened(b: Builder, x: Value, width: int) -> Value:
    """Of ``width`` bits, the same value."""
    dt = x.type.dtype
    if dt.bits == width:
        return x
    if dt.is_float:
        raise Unsupported("a bit operation on a float and a dtype of another width", b.span)
    return b.cast(x, DTYPES[f"{'i' if dt.kind == 'int' else 'u'}{width}"])


def holds(state: State, op: str, x: Value, y: Value) -> Value:
    """A comparison as a truth value; raises Unsupported for another operation."""
    if op not in _COMPARISONS:
        raise Unsupported(f"{op} where a comparison is needed", state.builder.span)
    return state.compared(_COMPARISONS[op], x, y)
