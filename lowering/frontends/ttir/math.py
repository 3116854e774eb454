"""Handlers of the math dialect.  Elementary functions have a declared error on NVIDIA, no exact value (impl 'cuda')."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir

from lowering.frontends.ttir.arith import refuse_fast_math
from lowering.frontends.ttir.registry import Result, lowers
from lowering.frontends.ttir.state import Lowering
from lowering.ir.program import Value
from lowering.ir.types import DTYPES, F64

#: math.<name> -> function of KIR's ``math``.
FUNCTIONS: dict[str, str] = {
    **{
        f"math.{name}": name
        for name in (
            *("rsqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos"),
            *("atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "cbrt", "atan2"),
        )
    },
    "math.powf": "pow",
}
#: Ops with exact meaning -> (KIR op, attributes).
EXACT: dict[str, tuple[str, dict[str, Any]]] = {
    "math.fma": ("fma", {}),
    "math.absf": ("abs", {}),
    "math.absi": ("abs", {}),
    "math.floor": ("round", {"mode": "floor"}),
    "math.ceil": ("round", {"mode": "ceil"}),
    "math.trunc": ("round", {"mode": "trunc"}),
    "math.roundeven": ("round", {"mode": "even"}),
    "math.round": ("round", {"mode": "away"}),
    "math.ctpop": ("popcount", {}),
    "math.ctlz": ("clz", {}),
}


@lowers(*FUNCTIONS)
def function(low: Lowering, op: ir.Operation) -> Result:
    refuse_fast_math(low, op)
    return low.build("math", *low.operands(op), fn=FUNCTIONS[op.name], impl="cuda")


@lowers("math.sqrt")
def sqrt(low: Lowering, op: ir.Operation) -> Result:
    """f32 is sqrt.approx, f64 sqrt.rn."""
    refuse_fast_math(low, op)
    x = low.value(op.operands[0])
    if x.type.dtype is F64:
        return low.build("math", x, fn="sqrt", accuracy="exact")
    return low.build("math", x, fn="sqrt", impl="cuda")


@lowers(*EXACT)
def exact(low: Lowering, op: ir.Operation) -> Result:
    name, attrs = EXACT[op.name]
    return low.build(name, *low.operands(op), **attrs)


@lowers("math.cttz")
def cttz(low: Lowering, op: ir.Operation) -> Result:
    """The ones of ~x & (x - 1) are the zeros below the lowest one of x."""
    x = low.value(op.operands[0])
    below = low.build("and", low.build("not", x), low.build("sub", x, low.build.like(1, x)))
    return low.build("popcount", below)


@lowers("math.isnan")
def isnan(low: Lowering, op: ir.Operation) -> Result:
    return low.build.is_nan(low.value(op.operands[0]))


@lowers("math.isinf")
def isinf(low: Lowering, op: ir.Operation) -> Result:
    return infinite(low, low.value(op.operands[0]))


@lowers("math.isfinite")
def isfinite(low: Lowering, op: ir.Operation) -> Result:
    return finite(low, low.value(op.operands[0]))


@lowers("math.copysign")
def copysign_op(low: Lowering, op: ir.Operation) -> Result:
    return copysign(low, *low.operands(op))


def infinite(low: Lowering, x: Value) -> Value:
    size = low.build("abs", x)
    return low.build.cmp("eq", size, low.build.like(float("inf"), x))


def finite(low: Lowering, x: Value) -> Value:
    size = low.build("abs", x)
    return low.build.cmp("lt", size, low.build.like(float("inf"), x))


def copysign(low: Lowering, x: Value, sign: Value) -> Value:
    """The bits of |x| with the sign bit of ``sign``."""
    bits = DTYPES[f"i{x.type.dtype.bits}"]
    top = low.build.constant(-(1 << (bits.bits - 1)), bits, x.type.shape)
    size = low.build.bitcast(low.build("abs", x), bits)
    taken = low.build("and", low.build.bitcast(sign, bits), top)
    return low.build.bitcast(low.build("or", size, taken), x.type.dtype)
