"""Accumulator registers of the Scalar and the Vector engine: one f32 per partition, kept across instructions.

NKI.md §1.6: ACT's is shared by activation, activation_reduce and activate2; the Vector engine's by exponential,
range_select, select_reduce, tensor_scalar_reduce and tensor_scalar_cumulative, where an idle one may clobber it.
"""

from __future__ import annotations

from lowering.capture.nki.trace import Instr, Operand
from lowering.errors import Unsupported
from lowering.frontends.nki import alu
from lowering.frontends.nki.numerics import to_f32
from lowering.frontends.nki.state import IMPL, State
from lowering.ir.program import Value
from lowering.ir.types import F32


def accumulate(state: State, instr: Instr, register: str, x: Value, init: Operand = None) -> None:
    """The register takes x's elements (f32, of dst's shape) as ``reduce_cmd`` says; dst[1] gets it where there is one.

    ``reduce_cmd``: idle, reset, reduce, reset_reduce or load_reduce (which starts from ``init``).
    """
    command, op = instr.attrs["reduce_cmd"], instr.attrs.get("reduce_op") or "add"
    lanes = x.type.shape[0]
    if command == "idle":
        if register == "dve":
            state.registers.pop(register, None)
    elif command == "reset":
        state.registers[register] = state.builder.constant(alu.IDENTITY[op], F32, (lanes,))
    else:
        folded = fold(state, op, _taken(state, instr, op, x))
        state.registers[register] = combined(state, op, _before(state, register, command, op, lanes, init), folded)
    if len(instr.dst) > 1:
        give(state, instr, held(state, register, lanes))


def held(state: State, register: str, lanes: int) -> Value:
    """What the register holds, (lanes,); no particular value where nothing has been put in."""
    found = state.registers.get(register)
    if found is None:
        return state.builder("undefined", to="f32", shape=(lanes,))
    if found.type.shape != (lanes,):
        span = state.builder.span
        raise Unsupported(f"an accumulator of {found.type.shape[0]} partitions that is used for {lanes}", span)
    return found


def give(state: State, instr: Instr, total: Value) -> None:
    """dst[1] = the register, negated where asked."""
    negated = instr.attrs.get("negate", False)
    state.put_f32(instr, state.builder("neg", total) if negated else total, 1)


def fold(state: State, op: str, x: Value) -> Value:
    """All free elements of each partition."""
    if op not in alu.COMBINE:
        raise Unsupported(f"an accumulator with {op}", state.builder.span)
    if op in ("max", "min"):
        state.assume("nan")
    order = "sequential" if state.model.reduce_order == "ascending" else "unordered"
    return state.builder("reduce", state.flat(x), axis=1, combine=alu.COMBINE[op], order=order, impl=IMPL)


def combined(state: State, op: str, before: Value | None, folded: Value) -> Value:
    return folded if before is None else alu.apply(state, op, before, folded)


def _before(state: State, register: str, command: str, op: str, lanes: int, init: Operand) -> Value | None:
    match command:
        case "reset_reduce":
            return None
        case "reduce":
            return held(state, register, lanes)
        case "load_reduce":
            return state.spread(to_f32(state.builder, state.typed(init, F32)), (lanes,))
        case _:
            raise Unsupported(f"reduce_cmd {command} with {op}", state.builder.span)


def _taken(state: State, instr: Instr, op: str, x: Value) -> Value:
    """The elements as they are computed, or as they are written to dst; those that the mask bars take no part."""
    b, to = state.builder, state.dtype(instr.dst[0])
    if instr.mask is not None:
        x = b("select", state.constant_mask(instr.mask, x.type.shape), x, b.like(alu.IDENTITY[op], x))
    if to is F32:
        return x
    state.assume("accumulated")
    if state.model.accumulated == "computed" or to.is_integer:
        return x
    return to_f32(b, b.cast(x, to))
