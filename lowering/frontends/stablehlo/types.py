"""MLIR types -> KIR types.  Complex, 4-bit, token and dynamic types are not modelled."""

from __future__ import annotations

from typing import Any

from lowering.errors import UNKNOWN_SPAN, Span, Unsupported
from lowering.ir.types import DTYPES, DType, TensorType

#: MLIR spellings that differ from KIR's.  Signless integers are two's complement in StableHLO.
_SPELLED: dict[str, str] = {
    "ui8": "u8",
    "ui16": "u16",
    "ui32": "u32",
    "ui64": "u64",
    "f8E4M3FN": "f8e4m3fn",
    "f8E5M2": "f8e5m2",
    "f8E4M3FNUZ": "f8e4m3fnuz",
    "f8E5M2FNUZ": "f8e5m2fnuz",
    "f8E4M3B11FNUZ": "f8e4m3b11fnuz",
    "f8E8M0FNU": "f8e8m0fnu",
}


def element_type(element: Any, span: Span = UNKNOWN_SPAN) -> DType:
    """The KIR dtype of an MLIR element type."""
    text = str(element)
    found = DTYPES.get(_SPELLED.get(text, text))
    if found is None:
        raise Unsupported(f"element type {text}", span, "irverify models real floats of 8 bits or more and integers")
    return found


def tensor_type(mlir_type: Any, span: Span = UNKNOWN_SPAN) -> TensorType:
    """The KIR type of an MLIR ranked tensor of static shape."""
    from jaxlib.mlir import ir

    if not isinstance(mlir_type, ir.RankedTensorType) or not mlir_type.has_static_shape:
        raise Unsupported(f"a value of type {mlir_type}", span, "only arrays of static shape are modelled")
    return TensorType(element_type(mlir_type.element_type, span), tuple(mlir_type.shape))
