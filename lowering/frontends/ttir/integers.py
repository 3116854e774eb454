"""MLIR's signless integers: the same bits read as signed or unsigned KIR dtypes.  Knows no ops.

KIR keeps the sign in the dtype, TTIR in the op; values are kept signed and read as unsigned where an op says so.
"""

from __future__ import annotations

from collections.abc import Callable

from lowering.ir.builder import Builder
from lowering.ir.program import Value
from lowering.ir.types import DTYPES, DType


def unsigned_dtype(dt: DType) -> DType:
    return DTYPES["u" + dt.name[1:]] if dt.kind == "int" else dt


def signed_dtype(dt: DType) -> DType:
    return DTYPES["i" + dt.name[1:]] if dt.kind == "uint" else dt


def unsigned(build: Builder, x: Value) -> Value:
    """The bits of x as an unsigned integer; truth values stay as they are."""
    return build.bitcast(x, unsigned_dtype(x.type.dtype))


def signed(build: Builder, x: Value) -> Value:
    """The bits of x as a signed integer; everything but unsigned integers stays as it is."""
    return build.bitcast(x, signed_dtype(x.type.dtype))


def as_unsigned(build: Builder, emit: Callable[..., Value], *operands: Value) -> Value:
    """``emit`` on the operands read as unsigned, its result read as signed again."""
    return signed(build, emit(*(unsigned(build, x) for x in operands)))
