"""Accumulator registers of the Scalar and the Vector engine: one f32 per partition, kept across instructions.

NKI.md §1.6: ACT's is shared by activation, activation_reduce and activate2; the Vector engine's by exponential,
range_select, select_reduce, tensor_scalar_reduce and tensor_scalar_cumulative, where an idle one may clobber it.  Every
core has its own.  An instruction's lanes are the partitions of its destination.
"""

from __future__ import annotations

from math import prod

from lowering.capture.nki.dtypes import size_of
from lowering.capture.nki.trace import Indirect, Instr, Operand
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
            _clobber(state, instr, register)
    elif command == "reset":
        keep(state, instr, register, state.builder.constant(alu.IDENTITY[op], F32, (lanes,)))
    else:
        folded = fold(state, op, _taken(state, instr, op, x))
        before = _before(state, instr, register, op, lanes, init)
        keep(state, instr, register, combined(state, op, before, folded))
    if len(instr.dst) > 1:
        give(state, instr, held(state, instr, register, lanes))


def keep(state: State, instr: Instr, register: str, value: Value) -> None:
    """The register holds ``value``, (lanes,), in the instruction's lanes; what it held in some of these is gone."""
    first = _first_lane(state, instr)
    for key in _others(state, instr, register, value.type.shape[0]):
        del state.registers[key]
    state.registers[register, instr.core, first] = value


def held(state: State, instr: Instr, register: str, lanes: int) -> Value:
    """What the register holds, (lanes,); no particular value where nothing has been put in."""
    found = state.registers.get((register, instr.core, _first_lane(state, instr)))
    if found is not None and found.type.shape == (lanes,):
        return found
    for _, _, first in _others(state, instr, register, lanes):
        said = (
            f"an accumulator of partitions from {first} on that is used for {lanes} from {_first_lane(state, instr)} on"
        )
        raise Unsupported(said, state.builder.span)
    return state.builder("undefined", to="f32", shape=(lanes,))


def _others(state: State, instr: Instr, register: str, lanes: int) -> list[tuple[str, int, int]]:
    """Where the register of the core holds something in one of so many lanes."""
    start = _first_lane(state, instr)
    return [
        (name, core, first)
        for (name, core, first), value in state.registers.items()
        if (name, core) == (register, instr.core) and first < start + lanes and start < first + value.type.shape[0]
    ]


def _clobber(state: State, instr: Instr, register: str) -> None:
    for key in [key for key in state.registers if key[:2] == (register, instr.core)]:
        del state.registers[key]


def _first_lane(state: State, instr: Instr) -> int:
    """The partition that the destination starts at."""
    view = instr.dst[0]
    base = view.base if isinstance(view, Indirect) else view
    storage = state.trace.storages[base.storage]
    row = prod(storage.shape[storage.blocks + 1 :]) * size_of(storage.dtype)
    lane = base.offset * size_of(base.dtype) // row % storage.shape[storage.blocks]
    return lane + (storage.pinned[0] if storage.pinned else 0)


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


def _before(state: State, instr: Instr, register: str, op: str, lanes: int, init: Operand) -> Value | None:
    match instr.attrs["reduce_cmd"]:
        case "reset_reduce":
            return None
        case "reduce":
            return held(state, instr, register, lanes)
        case "load_reduce":
            return state.spread(to_f32(state.builder, state.typed(init, F32)), (lanes,))
        case command:
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
