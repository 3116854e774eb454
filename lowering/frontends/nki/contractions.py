"""The Tensor engine, and transposes on every engine: which orders are open and which are fixed (NKI.md §2.1, §2.4)."""

from __future__ import annotations

from math import prod

import numpy as np

from lowering.capture.nki.trace import Indirect, Instr, Operand
from lowering.errors import Unsupported
from lowering.frontends.nki.numerics import to_f32
from lowering.frontends.nki.state import IMPL, State, handler
from lowering.ir.program import Value


@handler("nc_mat_mul")
def nc_mat_mul(state: State, instr: Instr) -> None:
    """One pass of the PE: its products in an open order, then added to what PSUM holds, rounded to dst's dtype.

    With is_transpose one operand is an identity: the same product, which moves elements.
    """
    b, (dst,) = state.builder, instr.dst
    pairs = instr.attrs["perf_mode"] == "double_row"
    if instr.attrs["perf_mode"] not in ("none", "double_row"):
        raise Unsupported(f"nc_matmul with perf_mode {instr.attrs['perf_mode']}", instr.span)
    left, right = (_matrix(state, operand, pairs) for operand in instr.src)
    left = b("transpose", left, perm=(1, 0))
    if left.type.dtype is not right.type.dtype:
        left, right = to_f32(b, left), to_f32(b, right)
    precision = _precision(state, instr)
    product = b("dot", left, right, acc="f32", precision=precision, order="unordered", impl=IMPL)
    state.assume("pe_product_rounding")
    state.put_f32(instr, accumulated(state, instr, b.reshape(product, state.shape(dst))))


def _matrix(state: State, operand: Operand, pairs: bool) -> Value:
    """(contracted, kept): partitions, and with ``pairs`` the first free axis too, are contracted."""
    x = state.view(operand)
    contracted = x.type.shape[0] * (x.type.shape[1] if pairs else 1)
    return state.builder.reshape(x, (contracted, prod(x.type.shape) // contracted))


def _precision(state: State, instr: Instr) -> str:
    """Operands of tfloat32 are rounded to 10 fraction bits."""
    names = [(x.base if isinstance(x, Indirect) else x).dtype for x in instr.src]  # type: ignore[union-attr]
    if "tfloat32" in names:
        if set(names) != {"tfloat32"}:
            raise Unsupported("nc_matmul of a tfloat32 operand and another dtype", instr.span)
        state.assume("tfloat32")
        return "tf32"
    if "float32" in names:
        state.assume("fp32_matmul")
    return "ieee"


def accumulated(state: State, instr: Instr, product: Value) -> Value:
    """PSUM's contents plus the product where the pass accumulates."""
    adds, b = instr.attrs["accumulate"], state.builder
    if adds is False:
        return product
    total = b("add", state.f32(instr.dst[0], product.type.shape), product)
    if not isinstance(adds, np.ndarray):
        return total
    return b("select", state.constant_mask(adds, total.type.shape), total, product)


@handler("transpose")
def transpose(state: State, instr: Instr) -> None:
    """Moves elements; nothing is rounded."""
    flat, to = state.flat(state.view(instr.src[0])), state.dtype(instr.dst[0])
    state.put(instr, state.converted(state.builder("transpose", flat, perm=(1, 0)), to))


@handler("dma_transpose")
def dma_transpose(state: State, instr: Instr) -> None:
    value = state.builder("transpose", state.view(instr.src[0]), perm=instr.attrs["axes"])
    state.put(instr, state.converted(value, state.dtype(instr.dst[0])))
