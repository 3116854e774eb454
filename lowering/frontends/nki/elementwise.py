"""Copies, fills, elementwise instructions and activations."""

from __future__ import annotations

from typing import Any, cast

from lowering.capture.nki.ops import BITVEC
from lowering.capture.nki.trace import Instr, Operand
from lowering.capture.trace import TensorRef
from lowering.errors import Unsupported
from lowering.frontends.nki import activations, alu
from lowering.frontends.nki.numerics import converted
from lowering.frontends.nki.state import State, handler
from lowering.ir.program import Value


@handler("nc_copy", "nc_dma_copy")
def copy(state: State, instr: Instr) -> None:
    """The same elements, in row-major order of both views."""
    if instr.attrs.get("compute_op", "none") != "none":
        raise Unsupported("a DMA that accumulates", instr.span)
    value = converted(state.builder, state.read(_view(instr.src[0])), state.dtype(instr.dst[0]))
    state.put(instr, value)


@handler("mem_set")
def mem_set(state: State, instr: Instr) -> None:
    to, number = state.dtype(instr.dst[0]), cast("Any", instr.src[0])
    state.put(instr, state.builder.constant(number, to, state.shape(instr.dst[0])))


@handler("tensor_tensor")
def tensor_tensor(state: State, instr: Instr) -> None:
    op, shape = instr.attrs["op"], state.shape(instr.dst[0])
    x, y = (state.spread(state.read(_view(view)), shape) for view in instr.src)
    if op in BITVEC:
        state.put(instr, state.builder.bitcast(alu.on_bits(state, op, x, y), state.dtype(instr.dst[0])))
    elif instr.engine == "pool" and x.type.dtype.is_integer and y.type.dtype is x.type.dtype:
        state.put(instr, converted(state.builder, alu.apply(state, op, x, y), state.dtype(instr.dst[0])))
    else:
        wide = (state.f32(view, shape) for view in instr.src)
        state.put_f32(instr, alu.apply(state, op, *wide))


@handler("tensor_scalar")
def tensor_scalar(state: State, instr: Instr) -> None:
    """op1(op0(x, operand0), operand1), each rounded to f32."""
    shape = state.shape(instr.dst[0])
    if instr.attrs["op0"] in BITVEC:
        raise Unsupported("tensor_scalar with bit operations", instr.span)
    value = state.f32(instr.src[0], shape)
    for number, operand in enumerate(instr.src[1:]):
        op = instr.attrs[f"op{number}"]
        if op is not None:
            value = _one(state, op, value, operand, instr.attrs[f"reverse{number}"])
    state.put_f32(instr, value)


def _one(state: State, op: str, x: Value, operand: Operand, reverse: bool) -> Value:
    if op in alu.UNARY:
        return alu.unary(state, op, x)
    y = state.f32(operand, x.type.shape)
    return alu.apply(state, op, *((y, x) if reverse else (x, y)))


@handler("nc_activate")
def nc_activate(state: State, instr: Instr) -> None:
    """fn(x * scale + bias), product and sum each rounded to f32."""
    shape, (x, bias, scale) = state.shape(instr.dst[0]), instr.src
    value = state.f32(x, shape)
    if isinstance(scale, TensorRef) or scale != 1.0:
        value = state.builder("mul", value, state.f32(scale, shape))
    if bias is not None and (isinstance(bias, TensorRef) or bias != 0.0):
        value = state.builder("add", value, state.f32(bias, shape))
    value = activations.apply(state, instr.attrs["op"], value)
    if instr.attrs["reduce_cmd"] != "idle" or len(instr.dst) > 1:
        raise Unsupported("an activation that accumulates", instr.span)
    state.put_f32(instr, value)


@handler("reciprocal")
def reciprocal(state: State, instr: Instr) -> None:
    state.put_f32(instr, alu.unary(state, "reciprocal", state.f32(instr.src[0], state.shape(instr.dst[0]))))


def _view(operand: Operand) -> TensorRef:
    assert isinstance(operand, TensorRef)
    return operand
