"""How NKI's engines convert: every operand to f32, one rounding on the way out; what is exact stays exact.

Sources: NKI.md §2.2 and §2.3 (documentation of nki.isa, and the 0.6 release notes for float to integer).
"""

from __future__ import annotations

from math import inf

from lowering.errors import Unsupported
from lowering.ir.builder import Builder
from lowering.ir.program import Value
from lowering.ir.types import DTYPES, F32, DType

KIR_NAMES = {
    "uint8": "u8", "int8": "i8", "uint16": "u16", "int16": "i16", "uint32": "u32", "int32": "i32", "int64": "i64",
    "uint64": "u64", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "tfloat32": "f32", "float64": "f64",
    "float8_e5m2": "f8e5m2", "float8_e4m3": "f8e4m3", "float8_e4m3fn": "f8e4m3fn", "float8_e8m0fnu": "f8e8m0fnu",
    "float8_e4m3fn_x4": "u32", "float8_e5m2_x4": "u32", "float4_e2m1fn_x4": "u16",
}  # fmt: skip


def kir_dtype(name: str) -> DType:
    if name not in KIR_NAMES:
        raise Unsupported(f"a tensor of dtype {name}")
    return DTYPES[KIR_NAMES[name]]


def to_f32(b: Builder, x: Value) -> Value:
    """Integers beyond 2^24 are rounded, as on the engines that compute in f32."""
    return b.cast(x, F32)


Range = tuple[float, float]
ANY: Range = (-inf, inf)


def from_f32(b: Builder, x: Value, to: DType, within: Range = ANY, whole: bool = False) -> Value:
    """One rounding to nearest even; integers saturate, a NaN becomes 0.

    ``within``: where x is known to lie; ``whole``: whether x is a whole number.  Saturation is spelled out, as ports of
    it are, where its ends are f32 numbers.
    """
    if not to.is_integer:
        return b.cast(x, to)
    x = x if whole else b("round", x, mode="even")
    if to.bits > 16:
        return b.cast(x, to, overflow="saturate")
    low, high = range_of(to)
    if within[0] < low:
        x = b("max", x, b.like(float(low), x))
    if within[1] > high:
        x = b("min", x, b.like(float(high), x))
    return b.cast(x, to)


def range_of(dt: DType) -> Range:
    """The least and the greatest number of an integer dtype."""
    if dt.kind == "int":
        return -(2 ** (dt.bits - 1)), 2 ** (dt.bits - 1) - 1
    return 0, 2**dt.bits - 1


def converted(b: Builder, x: Value, to: DType) -> Value:
    """A copy: bit for bit between equal dtypes, through f32 otherwise (which narrow integers pass unchanged)."""
    source = x.type.dtype
    if source is to:
        return x
    if not source.is_integer:
        return from_f32(b, to_f32(b, x), to)
    own = range_of(source)
    if to.is_integer and source.bits <= 16 and range_of(to)[0] <= own[0] and own[1] <= range_of(to)[1]:
        return b.cast(x, to)
    return from_f32(b, to_f32(b, x), to, own, whole=True)
