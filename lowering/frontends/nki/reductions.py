"""Folds along the free axes and over partitions: in f32 and in an order that the documentation leaves open."""

from __future__ import annotations

from math import prod

from lowering.capture.nki.trace import Instr
from lowering.errors import Unsupported
from lowering.frontends.nki import alu
from lowering.frontends.nki.elementwise import put_bits, with_operand
from lowering.frontends.nki.numerics import to_f32
from lowering.frontends.nki.registers import accumulate
from lowering.frontends.nki.state import IMPL, State, handler
from lowering.ir.program import Value
from lowering.ir.types import F32


@handler("tensor_reduce")
def tensor_reduce(state: State, instr: Instr) -> None:
    """The trailing axes folded; elements that ``data_mask`` bars take no part."""
    b, op, x = state.builder, instr.attrs["op"], state.view(instr.src[0])
    kept = x.type.shape[: x.type.rank - len(instr.attrs["axes"])]
    mask = instr.attrs.get("data_mask")
    if mask is not None:
        x = _barred(state, instr, x)
    flat = b.reshape(x, (*kept, prod(x.type.shape[len(kept) :])))
    if op in alu.COMBINE_BITS:
        if instr.attrs["negate"]:
            raise Unsupported(f"tensor_reduce by {op}, negated", instr.span)
        return put_bits(state, instr, _bits(state, op, flat, len(kept)))
    value = folded(state, op, to_f32(b, flat), len(kept))
    return state.put_f32(instr, b("neg", value) if instr.attrs["negate"] else value)


def folded(state: State, op: str, x: Value, axis: int) -> Value:
    """x (f32) folded along one axis, in f32."""
    b, order = state.builder, "sequential" if state.model.reduce_order == "ascending" else "unordered"
    if op in alu.COMBINE:
        if op in ("max", "min"):
            state.assume("nan")
        return b("reduce", x, axis=axis, combine=alu.COMBINE[op], order=order, impl=IMPL)
    if op in alu.COMBINE_TRUTH:
        held = b("reduce", state.truth(x), axis=axis, combine=alu.COMBINE_TRUTH[op], order="unordered", impl=IMPL)
        return state.one_or_zero(held)
    raise Unsupported(f"a reduction with {op}", b.span)


def _bits(state: State, op: str, x: Value, axis: int) -> Value:
    b, dt = state.builder, x.type.dtype
    value = b("reduce", alu.bits(b, x), axis=axis, combine=alu.COMBINE_BITS[op], order="unordered", impl=IMPL)
    return b.bitcast(value, dt)


def _barred(state: State, instr: Instr, x: Value) -> Value:
    """x with the operation's identity where the mask bars an element."""
    op, b = instr.attrs["op"], state.builder
    neutral = {**alu.IDENTITY, "logical_and": 1.0, "logical_or": 0.0, "logical_xor": 0.0}.get(op)
    if neutral is None:
        raise Unsupported(f"a masked reduction with {op}", b.span)
    x = to_f32(b, x)
    return b("select", state.constant_mask(instr.attrs["data_mask"], x.type.shape), x, b.like(neutral, x))


@handler("tensor_partition_reduce")
def tensor_partition_reduce(state: State, instr: Instr) -> None:
    """All partitions folded into one; 'average' divides the sum by their number."""
    b, op, x = state.builder, instr.attrs["op"], state.flat(state.view(instr.src[0]))
    if op in alu.COMBINE_BITS:
        return put_bits(state, instr, _bits(state, op, x, 0))
    value = folded(state, "add" if op == "average" else op, to_f32(b, x), 0)
    if op == "average":
        state.assume("average")
        value = b("div", value, b.like(float(x.type.shape[0]), value))
    return state.put_f32(instr, value)


@handler("tensor_scalar_reduce")
def tensor_scalar_reduce(state: State, instr: Instr) -> None:
    """op0(data, operand0), whose elements the Vector engine's accumulator folds."""
    shape, (data, operand, init) = state.shape(instr.dst[0]), instr.src
    value = with_operand(state, instr.attrs["op0"], state.f32(data, shape), operand, instr.attrs["reverse0"])
    accumulate(state, instr, "dve", value, init)
    state.put_f32(instr, value)


# -- statistics ------------------------------------------------------------------------------------------------------


@handler("batch_norm_stats")
def batch_norm_stats(state: State, instr: Instr) -> None:
    """(count, mean, variance * count) of the elements of even index, then of those of odd index."""
    b, x = state.builder, state.rows(instr.src[0])
    lanes, extent = x.type.shape
    state.assume("bn_stats")
    columns: list[Value] = []
    for first in (0, 1):
        if first >= extent:
            columns += [b.constant(0.0, F32, (lanes, 1))] * 3
            continue
        part = b("slice", x, start=(0, first), limit=(lanes, extent), step=(1, 2))
        count = part.type.shape[1]
        mean = b("div", folded(state, "add", part, 1), b.constant(float(count), F32, (lanes,)))
        away = b("sub", part, b.broadcast(mean, part.type.shape, (0,)))
        spread = folded(state, "add", b("mul", away, away), 1)
        found = (b.constant(float(count), F32, (lanes,)), mean, spread)
        columns += [b.reshape(value, (lanes, 1)) for value in found]
    state.put_f32(instr, b("concat", *columns, axis=1))


@handler("batch_norm_aggregate")
def batch_norm_aggregate(state: State, instr: Instr) -> None:
    """Mean and variance of all elements behind triples (count, mean, variance * count)."""
    b, x = state.builder, state.rows(instr.src[0])
    lanes, extent = x.type.shape
    state.assume("bn_stats")
    counts, means, spreads = (b("slice", x, start=(0, first), limit=(lanes, extent), step=(1, 3)) for first in range(3))
    total = folded(state, "add", counts, 1)
    mean = b("div", folded(state, "add", b("mul", counts, means), 1), total)
    away = b("sub", means, b.broadcast(mean, means.type.shape, (0,)))
    squares = b("add", spreads, b("mul", counts, b("mul", away, away)))
    variance = b("div", folded(state, "add", squares, 1), total)
    state.put_f32(instr, b("concat", b.reshape(mean, (lanes, 1)), b.reshape(variance, (lanes, 1)), axis=1))
