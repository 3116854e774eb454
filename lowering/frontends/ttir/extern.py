"""Handlers of tt.extern_elementwise (libdevice by symbol) and tt.elementwise_inline_asm.

What is not known by its exact symbol or text is ``opaque``: equal only to itself on equal operands.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from jaxlib.mlir import ir

from lowering.frontends.ttir.integers import as_unsigned, unsigned
from lowering.frontends.ttir.libdevice import BITCASTS, CONVERSIONS, ELEMENTWISE, TO_INTEGERS, UNSIGNED
from lowering.frontends.ttir.math import copysign, finite, infinite
from lowering.frontends.ttir.registry import Result, attribute, lowers
from lowering.frontends.ttir.state import Lowering
from lowering.ir.program import Value

Special = Callable[..., Value]


def _fixed_sum(low: Lowering, a: Value, b: Value) -> Value:
    """a + b that no compiler may fuse: KIR's add may be contracted, its fma may not, and 1 * a is exact."""
    return low.build("fma", a, low.build.like(1.0, a), b)


def _fixed_difference(low: Lowering, a: Value, b: Value) -> Value:
    return low.build("fma", b, low.build.like(-1.0, b), a)


def _fixed_product(low: Lowering, a: Value, b: Value) -> Value:
    """a * b that no compiler may fuse: adding -0 changes nothing, not even a zero's sign."""
    return low.build("fma", a, b, low.build.like(-0.0, a))


def _reciprocal(low: Lowering, x: Value) -> Value:
    return low.build("div", low.build.like(1.0, x), x)


def _reciprocal_sqrt(low: Lowering, x: Value) -> Value:
    return low.build("math", x, fn="rsqrt", accuracy="exact")


def _saturate(low: Lowering, x: Value) -> Value:
    """To [0, 1]; NaN becomes 0 (PTX .sat)."""
    above = low.build("max", x, low.build.like(0.0, x), nan="number")
    return low.build("min", above, low.build.like(1.0, x), nan="number")


def _positive_difference(low: Lowering, a: Value, b: Value) -> Value:
    """C's fdim: a - b where a > b, else +0; NaN in, NaN out."""
    keeps = low.build.cmp("gt", a, b, unordered=True)
    return low.build("select", keeps, low.build("sub", a, b), low.build.like(0.0, a))


def _whole_power(low: Lowering, x: Value, n: Value) -> Value:
    """x to an integer power; x's format holds integers up to 2^24."""
    return low.build("math", x, low.build.cast(n, x.type.dtype), fn="pow", impl="libdevice")


def _is_nan(low: Lowering, x: Value) -> Value:
    return low.build.is_nan(x)


def _sign_bit(low: Lowering, x: Value) -> Value:
    one = low.build.like(1.0, x)
    return low.build.cmp("lt", copysign(low, one, x), low.build.like(0.0, x))


SPECIAL: dict[str, Special] = {
    **{f"__nv_{t}add_rn": _fixed_sum for t in "fd"},
    **{f"__nv_{t}sub_rn": _fixed_difference for t in "fd"},
    **{f"__nv_{t}mul_rn": _fixed_product for t in "fd"},
    **{f"__nv_{t}rcp_rn": _reciprocal for t in "fd"},
    "__nv_frsqrt_rn": _reciprocal_sqrt,
    "__nv_saturatef": _saturate,
    **{f"__nv_fdim{t}": _positive_difference for t in ("", "f")},
    **{f"__nv_copysign{t}": copysign for t in ("", "f")},
    **{f"__nv_powi{t}": _whole_power for t in ("", "f")},
    **{f"__nv_isnan{t}": _is_nan for t in "fd"},
    **{f"__nv_isinf{t}": infinite for t in "fd"},
    "__nv_finitef": finite,
    "__nv_isfinited": finite,
    **{f"__nv_signbit{t}": _sign_bit for t in "fd"},
}


@lowers("tt.extern_elementwise")
def extern_elementwise(low: Lowering, op: ir.Operation) -> Result:
    symbol, operands = attribute(op, "symbol"), low.operands(op)
    if symbol in SPECIAL:
        return low.build.cast(SPECIAL[symbol](low, *operands), low.result_dtype(op))
    if symbol in ELEMENTWISE:
        name, attrs = ELEMENTWISE[symbol]
        return low.build(name, *operands, **attrs)
    if symbol in UNSIGNED:
        name, attrs = UNSIGNED[symbol]
        return as_unsigned(low.build, partial(low.build, name, **attrs), *operands)
    return _converted(low, op, symbol, operands)


def _converted(low: Lowering, op: ir.Operation, symbol: str, operands: list[Value]) -> Result:
    to = low.result_dtype(op)
    if symbol in BITCASTS:
        return low.build.bitcast(operands[0], to)
    if symbol in CONVERSIONS:
        is_unsigned, rounding = CONVERSIONS[symbol]
        x = unsigned(low.build, operands[0]) if is_unsigned else operands[0]
        return low.build.cast(x, to, rounding=rounding)
    if symbol in TO_INTEGERS:
        whole = low.build("round", operands[0], mode=TO_INTEGERS[symbol])
        return low.build.cast(whole, to, overflow="saturate")
    library = attribute(op, "libname", "")
    return _opaque(low, op, f"{library}:{symbol}" if library else symbol, f"function {symbol}")


@lowers("tt.elementwise_inline_asm")
def inline_asm(low: Lowering, op: ir.Operation) -> Result:
    """The text as printed is the function; constraints and packing belong to it."""
    parts = (attribute(op, "constraints"), attribute(op, "packed_element", 1), attribute(op, "asm_string"))
    return _opaque(low, op, "asm:" + ":".join(map(str, parts)), "inline assembly")


def _opaque(low: Lowering, op: ir.Operation, fn: str, what: str) -> Result:
    operands = low.operands(op)
    if attribute(op, "pure", True) is False or not operands:
        raise low.unsupported(f"{what} with side effects or without operands", "mark it is_pure=True if it is")
    names = [fn] if len(op.results) == 1 else [f"{fn}#{i}" for i in range(len(op.results))]
    return [
        low.build("opaque", *operands, fn=name, to=low.type(result).dtype.name)
        for name, result in zip(names, op.results, strict=True)
    ]
