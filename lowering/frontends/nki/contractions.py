"""Matrix products, transposes and reductions: where orders are open and where they are fixed (NKI.md §2.1, §2.4)."""

from __future__ import annotations

from math import prod

import numpy as np

from lowering.capture.nki.trace import Instr
from lowering.errors import Unsupported
from lowering.frontends.nki.alu import COMBINE
from lowering.frontends.nki.numerics import converted, to_f32
from lowering.frontends.nki.state import IMPL, State, handler
from lowering.ir.types import F32


@handler("nc_mat_mul")
def nc_mat_mul(state: State, instr: Instr) -> None:
    """One pass of the PE: its products in an open order, then added to what PSUM holds, rounded to f32."""
    b, (dst,) = state.builder, instr.dst
    if instr.attrs["perf_mode"] != "none" or instr.attrs["is_transpose"]:
        raise Unsupported("nc_matmul with a perf_mode or is_transpose", instr.span)
    stationary, moving = (state.read(view) for view in instr.src)  # type: ignore[arg-type]
    k = stationary.type.shape[0]
    left = b("transpose", b.reshape(stationary, (k, prod(stationary.type.shape[1:]))), perm=(1, 0))
    right = b.reshape(moving, (k, prod(moving.type.shape[1:])))
    if left.type.dtype is not right.type.dtype:
        left, right = to_f32(b, left), to_f32(b, right)
    product = b.reshape(b("dot", left, right, acc="f32", order="unordered", impl=IMPL), state.shape(dst))
    adds = instr.attrs["accumulate"]
    if adds is not False:
        total = b("add", state.f32(dst, state.shape(dst)), product)
        mixed = isinstance(adds, np.ndarray)
        product = b("select", state.constant_mask(adds, total.type.shape), total, product) if mixed else total
    state.put_f32(instr, product)


@handler("transpose")
def transpose(state: State, instr: Instr) -> None:
    """Moves elements; nothing is rounded."""
    x, to = state.read(instr.src[0]), state.dtype(instr.dst[0])  # type: ignore[arg-type]
    flat = state.builder.reshape(x, (x.type.shape[0], prod(x.type.shape[1:])))
    state.put(instr, converted(state.builder, state.builder("transpose", flat, perm=(1, 0)), to))


@handler("dma_transpose")
def dma_transpose(state: State, instr: Instr) -> None:
    value = state.builder("transpose", state.read(instr.src[0]), perm=instr.attrs["axes"])  # type: ignore[arg-type]
    state.put(instr, value)


@handler("tensor_reduce")
def tensor_reduce(state: State, instr: Instr) -> None:
    """The trailing axes folded in f32, in an order that the documentation leaves open."""
    b, op = state.builder, instr.attrs["op"]
    if op not in COMBINE:
        raise Unsupported(f"tensor_reduce with {op}", instr.span)
    x = state.f32(instr.src[0])
    kept = x.type.shape[: x.type.rank - len(instr.attrs["axes"])]
    flat = b.reshape(x, (*kept, prod(x.type.shape[len(kept) :])))
    value = b("reduce", flat, axis=len(kept), combine=COMBINE[op], order="unordered", impl=IMPL)
    assert value.type.dtype is F32
    state.put_f32(instr, b("neg", value) if instr.attrs["negate"] else value)
