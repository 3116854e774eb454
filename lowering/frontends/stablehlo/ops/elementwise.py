"""Elementwise StableHLO ops.  IEEE basic operations are exact; division, sqrt and the intrinsics are the backend's."""

from __future__ import annotations

from lowering.frontends.stablehlo.node import Node, handles
from lowering.frontends.stablehlo.ops.bits import signed, total_order_key, unsigned
from lowering.ir.builder import Builder
from lowering.ir.program import Value
from lowering.ir.types import BOOL, F32

XLA = "xla"
_MATH = {
    "sqrt": "sqrt",
    "rsqrt": "rsqrt",
    "exponential": "exp",
    "exponential_minus_one": "expm1",
    "log": "log",
    "log_plus_one": "log1p",
    "sine": "sin",
    "cosine": "cos",
    "tan": "tan",
    "tanh": "tanh",
    "cbrt": "cbrt",
    "atan2": "atan2",
}
_BITS = {
    "shift_left": "shl",
    "popcnt": "popcount",
    "count_leading_zeros": "clz",
    "not": "not",
    "and": "and",
    "or": "or",
    "xor": "xor",
}
#: Arithmetic on truth values: StableHLO's add is or, its multiply is and.
_TRUTH = {"add": "or", "multiply": "and", "maximum": "or", "minimum": "and"}
_ARITHMETIC = {"add": "add", "subtract": "sub", "multiply": "mul", "negate": "neg", "abs": "abs"}
_ROUND = {"floor": "floor", "ceil": "ceil", "round_nearest_even": "even", "round_nearest_afz": "away"}


def declared(b: Builder, fn: str, *operands: Value) -> Value:
    """An intrinsic whose value XLA leaves to the backend."""
    return b("math", *operands, fn=fn, accuracy="declared", impl=XLA)


def divide(b: Builder, x: Value, y: Value) -> Value:
    return b("div", x, y, accuracy="declared", impl=XLA) if x.type.dtype.is_float else b("div", x, y)


def _short(node: Node) -> str:
    return node.name.removeprefix("stablehlo.")


@handles(*(f"stablehlo.{n}" for n in _ARITHMETIC))
def _arithmetic(node: Node) -> Value:
    if node.type.dtype is BOOL:
        return _truth(node)
    return node.b(_ARITHMETIC[_short(node)], *node.operands)


@handles("stablehlo.maximum", "stablehlo.minimum")
def _extremum(node: Node) -> Value:
    if node.type.dtype is BOOL:
        return _truth(node)
    return node.b(_short(node)[:3], *node.operands, nan="propagate")


def _truth(node: Node) -> Value:
    if _short(node) not in _TRUTH:
        raise node.unsupported("on truth values")
    return node.b(_TRUTH[_short(node)], *node.operands)


@handles(*(f"stablehlo.{n}" for n in _BITS))
def _bitwise(node: Node) -> Value:
    return node.b(_BITS[_short(node)], *node.operands)


@handles("stablehlo.shift_right_logical", "stablehlo.shift_right_arithmetic")
def _shift_right(node: Node) -> Value:
    """KIR's shift fills by the dtype's sign; StableHLO's by its name, whatever the dtype."""
    b, dt = node.b, node.type.dtype
    kind = unsigned(dt) if _short(node) == "shift_right_logical" else signed(dt)
    x, n = (b.bitcast(v, kind) for v in node.operands)
    return b.bitcast(b("shr", x, n), dt)


@handles(*(f"stablehlo.{n}" for n in _MATH))
def _math(node: Node) -> Value:
    return declared(node.b, _MATH[_short(node)], *node.operands)


@handles("stablehlo.power")
def _power(node: Node) -> Value:
    if node.type.dtype.is_integer:
        raise node.unsupported("integer power", "write the power as multiplications")
    return declared(node.b, "pow", *node.operands)


@handles("stablehlo.divide")
def _divide(node: Node) -> Value:
    return divide(node.b, *node.operands)


@handles("stablehlo.remainder")
def _remainder(node: Node) -> Value:
    return node.b("rem", *node.operands, rounding="trunc")


@handles(*(f"stablehlo.{n}" for n in _ROUND))
def _round(node: Node) -> Value:
    return node.b("round", *node.operands, mode=_ROUND[_short(node)])


@handles("stablehlo.logistic")
def _logistic(node: Node) -> Value:
    """1 / (1 + exp(-x)), which is how XLA expands it; narrow floats in f32, as its CPU and TPU backends do."""
    b, (x,) = node.b, node.operands
    wide = b.cast(x, F32) if x.type.dtype.bits < 32 else x
    one = b.like(1.0, wide)
    node.translator.note("stablehlo.logistic is read as 1 / (1 + exp(-x)), in f32 for narrower floats")
    return b.cast(divide(b, one, b("add", one, declared(b, "exp", b("neg", wide)))), x.type.dtype)


@handles("stablehlo.sign")
def _sign(node: Node) -> Value:
    """-1, 0 or 1; a zero or NaN of a float is itself."""
    b, (x,) = node.b, node.operands
    zero, one = b.like(0, x), b.like(1, x)
    below = x if x.type.dtype.kind == "uint" else b("select", b.cmp("lt", x, zero), b.like(-1, x), x)
    return b("select", b.cmp("gt", x, zero), one, below)


@handles("stablehlo.is_finite")
def _is_finite(node: Node) -> Value:
    b, (x,) = node.b, node.operands
    return b.cmp("lt", b("abs", x), b.like(float("inf"), x))


@handles("stablehlo.compare")
def _compare(node: Node) -> Value:
    from jaxlib.mlir.dialects import stablehlo

    pred = stablehlo.ComparisonDirectionAttr(node.attr("comparison_direction")).value.lower()
    kind = node.attr("compare_type")
    x, y = node.operands
    if kind is not None and stablehlo.ComparisonTypeAttr(kind).value == "TOTALORDER":
        x, y = (total_order_key(node.b, v) for v in (x, y))
    return node.b.cmp(pred, x, y)


@handles("stablehlo.select")
def _select(node: Node) -> Value:
    condition, x, y = node.operands
    return node.b("select", node.b.broadcast(condition, x.type.shape), x, y)


@handles("stablehlo.clamp")
def _clamp(node: Node) -> Value:
    """min(max(x, low), high); scalar bounds are spread."""
    b, (low, x, high) = node.b, node.operands
    low, high = (b.broadcast(v, x.type.shape) for v in (low, high))
    return b("min", b("max", x, low), high)


@handles("stablehlo.convert")
def _convert(node: Node) -> Value:
    """Float to integer saturates and NaN becomes 0, as XLA does; everything else is KIR's cast."""
    b, (x,), to = node.b, node.operands, node.type.dtype
    if x.type.dtype.is_float and to.is_integer and to is not BOOL:
        return b.cast(x, to, overflow="saturate")
    if x.type.dtype.is_float and to.is_float and to.bits < x.type.dtype.bits:
        node.translator.note("XLA may drop a conversion to a narrower float and back; here both roundings are kept")
    return b.cast(x, to)


#: (exponent bits, mantissa bits) of the formats that reduce_precision rounds to.
_FORMATS = {(8, 23): "f32", (8, 7): "bf16", (5, 10): "f16", (5, 2): "f8e5m2", (11, 52): "f64"}


@handles("stablehlo.reduce_precision")
def _reduce_precision(node: Node) -> Value:
    bits = node.int("exponent_bits"), node.int("mantissa_bits")
    if bits not in _FORMATS:
        raise node.unsupported(f"to {bits[0]} exponent and {bits[1]} mantissa bits", "use a format of ml_dtypes")
    b, (x,) = node.b, node.operands
    rounded = b.cast(b.cast(x, _FORMATS[bits]), x.type.dtype)
    source = next((e for (e, _), name in _FORMATS.items() if name == x.type.dtype.name), bits[0])
    return rounded if bits[0] >= source else _flushed(b, x, rounded, *bits)


def _flushed(b: Builder, x: Value, rounded: Value, exponent: int, mantissa: int) -> Value:
    """XLA has no subnormals where the exponent is shorter: below the smallest normal, after rounding, a signed zero."""
    smallest = 2.0 ** (2 - 2 ** (exponent - 1))
    rounds_up = b.like(smallest - smallest * 2.0 ** -(mantissa + 2), x)
    zero = b("mul", x, b.like(0.0, x))
    return b("select", b.cmp("lt", b("abs", x), rounds_up), zero, rounded)
