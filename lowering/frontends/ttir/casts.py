"""Handlers of conversions: arith.*ext*, *trunc*, *to*, bitcasts, and tt.fp_to_fp.

An i1 is 0 or -1 where TTIR reads it as signed; KIR's cast of i1 gives 0 or 1.
"""

from __future__ import annotations

from jaxlib.mlir import ir

from lowering.frontends.ttir.integers import signed, unsigned, unsigned_dtype
from lowering.frontends.ttir.registry import Result, attribute, lowers
from lowering.frontends.ttir.state import Lowering
from lowering.ir.program import Value
from lowering.ir.types import BOOL, DType

#: arith.RoundingMode by its printed name.
ARITH_ROUNDINGS = {
    "to_nearest_even": "rne",
    "downward": "rtn",
    "upward": "rtp",
    "toward_zero": "rtz",
    "to_nearest_away": "rna",
}
#: arith.RoundingMode and tt.RoundingMode by number.
ARITH_ROUNDING_NUMBERS = dict(enumerate(ARITH_ROUNDINGS.values()))
TRITON_ROUNDING_NUMBERS = {0: "rtz", 1: "rne"}


def _sign_extended(low: Lowering, x: Value, to: DType) -> Value:
    wide = low.build.cast(x, to)
    return low.build("neg", wide) if x.type.dtype is BOOL else wide


@lowers("arith.extsi", "arith.sitofp")
def from_signed(low: Lowering, op: ir.Operation) -> Result:
    return _sign_extended(low, low.value(op.operands[0]), low.result_dtype(op))


@lowers("arith.extui", "arith.uitofp")
def from_unsigned(low: Lowering, op: ir.Operation) -> Result:
    return low.build.cast(unsigned(low.build, low.value(op.operands[0])), low.result_dtype(op))


@lowers("arith.trunci")
def trunci(low: Lowering, op: ir.Operation) -> Result:
    x, to = low.value(op.operands[0]), low.result_dtype(op)
    if to is BOOL:  # the low bit, not x != 0
        x = low.build("and", x, low.build.like(1, x))
    return low.build.cast(x, to)


@lowers("arith.index_cast")
def index_cast(low: Lowering, op: ir.Operation) -> Result:
    return _sign_extended(low, low.value(op.operands[0]), low.result_dtype(op))


@lowers("arith.index_castui")
def index_castui(low: Lowering, op: ir.Operation) -> Result:
    return low.build.cast(unsigned(low.build, low.value(op.operands[0])), low.result_dtype(op))


@lowers("arith.extf")
def extf(low: Lowering, op: ir.Operation) -> Result:
    return low.build.cast(low.value(op.operands[0]), low.result_dtype(op))


@lowers("arith.truncf")
def truncf(low: Lowering, op: ir.Operation) -> Result:
    return _narrowed(low, op, _arith_rounding(attribute(op, "roundingmode")))


@lowers("tt.fp_to_fp")
def fp_to_fp(low: Lowering, op: ir.Operation) -> Result:
    return _narrowed(low, op, TRITON_ROUNDING_NUMBERS[attribute(op, "rounding", 1)])


def _arith_rounding(given: int | str | None) -> str:
    if given is None:
        return "rne"
    return ARITH_ROUNDING_NUMBERS[given] if isinstance(given, int) else ARITH_ROUNDINGS[given.strip('"')]


def _narrowed(low: Lowering, op: ir.Operation, rounding: str) -> Value:
    """Triton's conversions to 8-bit floats are NVIDIA's cvt.satfinite: they clamp where other narrowings overflow."""
    x, to = low.value(op.operands[0]), low.result_dtype(op)
    saturate = to.bits == 8 and x.type.dtype.bits > 8
    return low.build.cast(x, to, rounding=rounding, saturate=saturate)


@lowers("arith.fptosi")
def fptosi(low: Lowering, op: ir.Operation) -> Result:
    return low.build.cast(low.value(op.operands[0]), low.result_dtype(op))


@lowers("arith.fptoui")
def fptoui(low: Lowering, op: ir.Operation) -> Result:
    return signed(low.build, low.build.cast(low.value(op.operands[0]), unsigned_dtype(low.result_dtype(op))))


@lowers("arith.bitcast", "tt.bitcast", "tt.ptr_to_int", "tt.int_to_ptr")
def bitcast(low: Lowering, op: ir.Operation) -> Result:
    x, to = low.value(op.operands[0]), low.result_dtype(op)
    if x.type.dtype.bits != to.bits:
        raise low.unsupported(f"{op.name} from {x.type.dtype} to {to}", "the widths differ")
    return low.build.bitcast(x, to)
