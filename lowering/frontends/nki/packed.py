"""Packed elements (`float8_e4m3fn_x4` and its kin): views of them as the bytes that they hold, those of one
element along a last dimension; moves of packed tiles as moves of those.

Takes Instr and TensorRefs; gives the like.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lowering.capture.nki.dtypes import size_of
from lowering.capture.nki.trace import Indirect, Instr, Operand, View
from lowering.capture.trace import TensorRef
from lowering.errors import Unsupported

#: what a packed dtype holds, as far as there is a dtype of a byte; 4-bit floats are two to a byte, the first one lower
HELD = {"float8_e4m3fn_x4": "float8_e4m3fn", "float8_e5m2_x4": "float8_e5m2", "float4_e2m1fn_x4": "uint8"}
_MOVES = frozenset(["nc_copy", "nc_dma_copy", "send_recv", "dma_transpose", "shuffle", "mem_set"])
_MICROSCALED = frozenset(["quantize_mx", "mat_mul_mx"])


def packed(operand: Operand) -> bool:
    base = operand.base if isinstance(operand, Indirect) else operand
    return isinstance(base, TensorRef) and base.dtype in HELD


def held(ref: TensorRef) -> TensorRef:
    """The bytes of a packed view: (..., 4) of 8-bit floats, or (..., 2) bytes of 4-bit floats."""
    times = size_of(ref.dtype)
    strides = (*(stride * times for stride in ref.strides), 1)
    return TensorRef(ref.storage, HELD[ref.dtype], (*ref.shape, times), strides, ref.offset * times)


def unpacked(instr: Instr) -> Instr:
    """A move of packed tiles as a move of bytes; raises Unsupported for what else is done with such a tile."""
    views = [view for view in (*instr.dst, *instr.src) if packed(view)]
    if not views or instr.op in _MICROSCALED:
        return instr
    names = {_dtype(view) for view in (*instr.dst, *instr.src) if isinstance(view, TensorRef | Indirect)}
    if instr.op not in _MOVES or len(names) > 1:
        with_others = f" of {' and '.join(sorted(names))}" if len(names) > 1 else ""
        said = f"{instr.op}{with_others}: packed elements are moved, quantized and multiplied, and nothing else"
        raise Unsupported(said, instr.span, "view the tile as a dtype of the same size, t.view(nl.uint32)")
    dst = tuple(_opened(instr, view) for view in instr.dst)
    src = tuple(_opened(instr, view) if isinstance(view, TensorRef | Indirect) else view for view in instr.src)
    attrs = instr.attrs
    if instr.op == "mem_set" and src != (0,):
        raise Unsupported(f"memset of a packed tile to {src[0]}", instr.span, "packed tiles take 0 alone")
    if instr.op == "dma_transpose":
        attrs = {**attrs, "axes": (*attrs["axes"], len(attrs["axes"]))}
    mask = None if instr.mask is None else np.repeat(instr.mask[..., None], size_of(names.pop()), axis=-1)
    return replace(instr, dst=dst, src=src, attrs=attrs, mask=mask)


def _dtype(view: View) -> str:
    return view.base.dtype if isinstance(view, Indirect) else view.dtype


def _opened(instr: Instr, view: View) -> View:
    if isinstance(view, TensorRef):
        return held(view)
    if view.kind == "free":
        raise Unsupported("an indirect free axis of a packed tile", instr.span)
    step = view.step * size_of(view.base.dtype) if view.kind == "scalar" else view.step
    return replace(view, base=held(view.base), step=step)
