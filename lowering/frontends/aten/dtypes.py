"""torch's dtypes: their KIR names, the dtype torch computes in, and type promotion.  Knows no ops."""

from __future__ import annotations

from collections.abc import Sequence

from lowering.ir.types import BOOL, DTYPES, F32, I64, DType

KIR_NAMES: dict[str, str] = {
    "bool": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2": "f8e5m2",
    "float8_e4m3fnuz": "f8e4m3fnuz",
    "float8_e5m2fnuz": "f8e5m2fnuz",
    "float8_e8m0fnu": "f8e8m0fnu",
}
TORCH_NAMES: dict[str, str] = {kir: torch for torch, kir in KIR_NAMES.items()}


def opmath(dt: DType) -> DType:
    """The dtype torch computes in: f32 for the narrow floats, the dtype itself otherwise."""
    return F32 if dt.is_float and dt.bits < 32 else dt


def _category(dt: DType) -> int:
    return 0 if dt is BOOL else 2 if dt.is_float else 1


def promote(a: DType, b: DType) -> DType:
    """torch.promote_types."""
    if a is b:
        return a
    low, high = sorted((a, b), key=lambda dt: (_category(dt), dt.bits))
    if _category(low) < _category(high):
        return high
    if high.is_float:
        return F32 if low.bits == high.bits else high
    if low.kind == high.kind or (high.kind == "int" and high.bits > low.bits):
        return high
    return DTYPES.get(f"i{2 * max(low.bits, high.bits)}", I64)


def result_type(entries: Sequence[tuple[DType, int] | bool | int | float]) -> DType:
    """torch.result_type: tensors (dtype, rank), then 0-d tensors, then Python numbers if their category is higher."""
    groups: list[DType | None] = [None, None, None]  # dimensioned, 0-d, Python numbers
    for entry in entries:
        place, dt = (0 if entry[1] else 1, entry[0]) if isinstance(entry, tuple) else (2, _default(entry))
        groups[place] = dt if groups[place] is None else promote(groups[place], dt)  # type: ignore[arg-type]
    result: DType | None = None
    for dt in groups:
        if result is None or (dt is not None and _category(dt) > _category(result)):
            result = dt
    assert result is not None, "result_type of nothing"
    return result


def _default(number: bool | int | float) -> DType:
    return BOOL if isinstance(number, bool) else I64 if isinstance(number, int) else F32
