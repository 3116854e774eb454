"""MLIR types of TTIR -> KIR types.  Knows no ops.

Signless integers become signed ones; a tensor of pointers becomes dtype ptr, its pointee is asked for where it matters
(``element_bytes``).  A tensor descriptor is several KIR values: base, extents, strides, and whether it pads with NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

from jaxlib.mlir import ir
from jaxlib.triton import dialect as triton_dialect

from lowering.errors import Span, Unsupported
from lowering.ir.types import BOOL, DTYPES, I64, PTR, DType, TensorType

#: Element types by their MLIR spelling.
ELEMENTS: dict[str, str] = {
    **{f"i{n}": f"i{n}" for n in (1, 8, 16, 32, 64)},
    **{f"ui{n}": f"u{n}" for n in (8, 16, 32, 64)},
    **{f"si{n}": f"i{n}" for n in (8, 16, 32, 64)},
    "index": "i64",
    **{name: name for name in ("f64", "f32", "f16", "bf16")},
    "f8E4M3FN": "f8e4m3fn",
    "f8E5M2": "f8e5m2",
    "f8E4M3FNUZ": "f8e4m3fnuz",
    "f8E5M2FNUZ": "f8e5m2fnuz",
    "f8E4M3B11FNUZ": "f8e4m3b11fnuz",
    "f8E8M0FNU": "f8e8m0fnu",
}
_DESCRIPTOR = "!tt.tensordesc<"


@dataclass(frozen=True, slots=True)
class BlockType:
    """What a tensor descriptor points at: the block that one load moves."""

    dtype: DType
    shape: tuple[int, ...]

    def parts(self) -> list[TensorType]:
        """The KIR types that stand for a descriptor: base, extents, strides, padding is NaN."""
        return [TensorType(PTR), *[TensorType(I64)] * (2 * len(self.shape)), TensorType(BOOL)]


def dtype_of(t: ir.Type, span: Span) -> DType:
    """The dtype of a scalar type."""
    if isinstance(t, triton_dialect.PointerType):
        return PTR
    name = ELEMENTS.get(str(t))
    if name is None:
        raise Unsupported(f"element type {t}", span, f"modelled are {', '.join(ELEMENTS)}")
    return DTYPES[name]


def tensor_type(t: ir.Type, span: Span) -> TensorType:
    """The KIR type of a scalar or of a ranked tensor."""
    if isinstance(t, ir.RankedTensorType):
        return TensorType(dtype_of(t.element_type, span), tuple(t.shape))
    return TensorType(dtype_of(t, span))


def pointee(t: ir.Type, span: Span) -> DType:
    """What a pointer, or each pointer of a tensor of them, points at."""
    element = t.element_type if isinstance(t, ir.RankedTensorType) else t
    if not isinstance(element, triton_dialect.PointerType):
        raise Unsupported(f"a pointer of type {t}", span)
    return dtype_of(element.pointee_type, span)


def block_type(t: ir.Type, span: Span) -> BlockType | None:
    """The block behind a tensor descriptor type; None for any other type."""
    text = str(t)
    if not text.startswith(_DESCRIPTOR):
        return None
    # The bindings have no class for descriptors: what is inside is read by MLIR's own type parser.
    inner = ir.RankedTensorType(ir.Type.parse(f"tensor<{text[len(_DESCRIPTOR) : -1]}>", t.context))
    return BlockType(dtype_of(inner.element_type, span), tuple(inner.shape))


def flat_types(t: ir.Type, span: Span) -> list[TensorType]:
    """The KIR types that stand for a value of type ``t``: one, except for descriptors."""
    block = block_type(t, span)
    return [tensor_type(t, span)] if block is None else block.parts()
