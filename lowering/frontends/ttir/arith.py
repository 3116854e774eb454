"""Handlers of the arith and ub dialects: constants, integer and float arithmetic, comparisons, selects.

Conversions are in casts.py.  f32 ``divf`` is NVIDIA's div.full (2 ulp, PTX ISA), so 'declared'; f64 division is exact.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from lowering.frontends.ttir.integers import as_unsigned
from lowering.frontends.ttir.registry import Result, attribute, lowers
from lowering.frontends.ttir.state import Lowering
from lowering.ir.program import Value
from lowering.ir.types import BOOL, F64

#: Ops that are one KIR op of the same operands.
PLAIN: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"arith.{name}{kind}": (name, {}) for name in ("add", "sub", "mul") for kind in "if"},
    "arith.andi": ("and", {}),
    "arith.ori": ("or", {}),
    "arith.xori": ("xor", {}),
    "arith.shli": ("shl", {}),
    "arith.shrsi": ("shr", {}),
    "arith.divsi": ("div", {"rounding": "trunc"}),
    "arith.floordivsi": ("div", {"rounding": "floor"}),
    "arith.remsi": ("rem", {}),
    "arith.remf": ("rem", {}),
    "arith.negf": ("neg", {}),
    "arith.maxnumf": ("max", {"nan": "number"}),
    "arith.minnumf": ("min", {"nan": "number"}),
    "arith.maximumf": ("max", {"nan": "propagate"}),
    "arith.minimumf": ("min", {"nan": "propagate"}),
}
UNSIGNED: dict[str, str] = {
    "arith.divui": "div",
    "arith.remui": "rem",
    "arith.shrui": "shr",
    "arith.maxui": "max",
    "arith.minui": "min",
}
#: arith.cmpi by number: the predicate and whether it reads unsigned.
INTEGER_PREDICATES: tuple[tuple[str, bool], ...] = (
    ("eq", False),
    ("ne", False),
    *((pred, False) for pred in ("lt", "le", "gt", "ge")),
    *((pred, True) for pred in ("lt", "le", "gt", "ge")),
)
#: arith.cmpf by number: the predicate and whether a NaN makes it true.
FLOAT_PREDICATES: dict[int, tuple[str, bool]] = {
    **{1 + i: (pred, False) for i, pred in enumerate(("eq", "gt", "ge", "lt", "le", "ne"))},
    **{8 + i: (pred, True) for i, pred in enumerate(("eq", "gt", "ge", "lt", "le", "ne"))},
}
_FALSE, _ORDERED, _UNORDERED, _TRUE = 0, 7, 14, 15


def refuse_fast_math(low: Lowering, op: ir.Operation) -> None:
    """Fast-math flags would open freedoms that nothing here declares; Triton sets none."""
    if attribute(op, "fastmath", "#arith.fastmath<none>") != "#arith.fastmath<none>":
        raise low.unsupported(f"{op.name} with {attribute(op, 'fastmath')}")


@lowers(*PLAIN)
def plain(low: Lowering, op: ir.Operation) -> Result:
    refuse_fast_math(low, op)
    name, attrs = PLAIN[op.name]
    operands = low.operands(op)
    if operands[0].type.dtype is BOOL and name in ("div", "rem", "shl", "shr"):
        raise low.unsupported(f"{op.name} on i1")
    return low.build(name, *operands, **attrs)


@lowers(*UNSIGNED)
def unsigned_op(low: Lowering, op: ir.Operation) -> Result:
    return as_unsigned(low.build, partial(low.build, UNSIGNED[op.name]), *low.operands(op))


@lowers("arith.maxsi", "arith.minsi")
def signed_extremum(low: Lowering, op: ir.Operation) -> Result:
    a, b = low.operands(op)
    maximum = op.name == "arith.maxsi"
    if a.type.dtype is BOOL:  # a signed i1 holds 0 and -1
        return low.build("and" if maximum else "or", a, b)
    return low.build("max" if maximum else "min", a, b)


@lowers("arith.divf")
def divf(low: Lowering, op: ir.Operation) -> Result:
    refuse_fast_math(low, op)
    a, b = low.operands(op)
    if a.type.dtype is F64:
        return low.build("div", a, b)
    return low.build("div", a, b, accuracy="declared", impl="cuda")


@lowers("arith.ceildivsi", "arith.ceildivui")
def ceildiv(low: Lowering, op: ir.Operation) -> Result:
    raise low.unsupported(op.name, "Triton prints tl.cdiv as additions and a division")


@lowers("arith.mulsi_extended", "arith.mului_extended")
def mul_extended(low: Lowering, op: ir.Operation) -> Result:
    a, b = low.operands(op)
    high = partial(low.build, "mulhi")
    signed = op.name == "arith.mulsi_extended"
    return [low.build("mul", a, b), high(a, b) if signed else as_unsigned(low.build, high, a, b)]


@lowers("arith.addui_extended")
def add_extended(low: Lowering, op: ir.Operation) -> Result:
    a, b = low.operands(op)
    total = low.build("add", a, b)
    return [total, as_unsigned(low.build, partial(low.build.cmp, "lt"), total, a)]


@lowers("arith.cmpi")
def cmpi(low: Lowering, op: ir.Operation) -> Result:
    a, b = low.operands(op)
    pred, is_unsigned = INTEGER_PREDICATES[attribute(op, "predicate")]
    if is_unsigned:
        return as_unsigned(low.build, partial(low.build.cmp, pred), a, b)
    if a.type.dtype is BOOL and pred not in ("eq", "ne"):  # a signed i1 holds 0 and -1: the order is turned round
        a, b = b, a
    return low.build.cmp(pred, a, b)


@lowers("arith.cmpf")
def cmpf(low: Lowering, op: ir.Operation) -> Result:
    a, b = low.operands(op)
    number = attribute(op, "predicate")
    if number in (_FALSE, _TRUE):
        return low.build.constant(number == _TRUE, BOOL, a.type.shape)
    if number == _ORDERED:
        return low.build("and", low.build.cmp("eq", a, a), low.build.cmp("eq", b, b))
    if number == _UNORDERED:
        return low.build("or", low.build.is_nan(a), low.build.is_nan(b))
    pred, true_for_nan = FLOAT_PREDICATES[number]
    return low.build.cmp(pred, a, b, unordered=true_for_nan != (pred == "ne"))


@lowers("arith.select")
def select(low: Lowering, op: ir.Operation) -> Result:
    condition = low.value(op.operands[0])
    yes, no = (low.flat([operand]) for operand in list(op.operands)[1:])
    return [_select(low, condition, a, b) for a, b in zip(yes, no, strict=True)]


def _select(low: Lowering, condition: Value, a: Value, b: Value) -> Value:
    if condition.type.rank == 0:
        condition = low.build.broadcast(condition, a.type.shape)
    return low.build("select", condition, a, b)


@lowers("arith.constant")
def constant(low: Lowering, op: ir.Operation) -> Result:
    to, given = low.type(op.results[0]), op.attributes["value"]
    if isinstance(given, (ir.DenseFPElementsAttr, ir.DenseIntElementsAttr)):
        if not given.is_splat:
            return low.build.constant(_lanes(low, given).reshape(to.shape), to.dtype)
        given = given.get_splat_value()
    return low.build.constant(_number(low, given), to.dtype, to.shape)


def _number(low: Lowering, given: ir.Attribute) -> float:
    if isinstance(given, (ir.FloatAttr, ir.IntegerAttr, ir.BoolAttr)):
        return given.value
    raise low.unsupported(f"constant {given}")


def _lanes(low: Lowering, given: ir.Attribute) -> np.ndarray:
    try:
        return np.array(list(given))  # type: ignore[call-overload]  # the bindings' sequences are untyped
    except TypeError as error:
        raise low.unsupported(f"constant {given}", str(error)) from None


@lowers("ub.poison")
def poison(low: Lowering, op: ir.Operation) -> Result:
    return [low.build("undefined", to=t.dtype.name, shape=t.shape) for t in low.flat_types(op.results[0])]
