"""Scans along the free axes: strictly from left to right, the state in f32 (NKI.md §2.4)."""

from __future__ import annotations

from collections.abc import Callable

from lowering.capture.nki.trace import Instr
from lowering.errors import Unsupported
from lowering.frontends.nki import alu
from lowering.frontends.nki.elementwise import with_operand
from lowering.frontends.nki.registers import held, keep
from lowering.frontends.nki.state import IMPL, State, handler
from lowering.ir.program import Value
from lowering.ir.types import F32, TensorType


@handler("tensor_tensor_scan")
def tensor_tensor_scan(state: State, instr: Instr) -> None:
    """r = op1(op0(data0[i], r), data1[i]); dst[i] = r."""
    x, y, (op0, op1) = state.rows(instr.src[0]), state.rows(instr.src[1]), (instr.attrs["op0"], instr.attrs["op1"])
    first = state.f32(instr.src[2], (x.type.shape[0],))
    state.assume("scan_state")

    def step(r: Value, a: Value, c: Value) -> Value:
        inner = alu.apply(state, op0, *((r, a) if instr.attrs["reverse0"] else (a, r)))
        return alu.apply(state, op1, *((c, inner) if instr.attrs["reverse1"] else (inner, c)))

    state.put_f32(instr, scanned(state, first, (x, y), step))


def scanned(state: State, first: Value, rows: tuple[Value, ...], step: Callable[..., Value]) -> Value:
    """r = step(r, *column) from ``first`` on, along axis 1 of ``rows``; all r, (partitions, elements).

    ``first`` goes before the columns as the accumulator that the first step takes.
    """
    b, (lanes, extent) = state.builder, rows[0].type.shape
    first = b.reshape(first, (lanes, 1))
    carried = b("concat", first, *([_unused(state, lanes, extent)] if extent else []), axis=1)
    padded = [b("concat", b.constant(0.0, F32, (lanes, 1)), row, axis=1) for row in rows]
    scalar = TensorType(F32)

    def body(*arguments: Value) -> list[Value]:
        r, column = arguments[0], arguments[len(rows) + 2 :]
        return [step(r, *column), *column]

    region = b.region([scalar] * (2 * len(rows) + 2), body)
    attrs = {"axis": 1, "combine": "region", "order": "sequential", "impl": IMPL}
    results = b.op("scan", [carried, *padded], [region], **attrs).results
    return b("slice", results[0], start=(0, 1), limit=(lanes, extent + 1), step=(1, 1))


def _unused(state: State, lanes: int, extent: int) -> Value:
    """Places of the accumulator's operand that no step looks at."""
    return state.builder.constant(0.0, F32, (lanes, extent))


@handler("tensor_scalar_cumulative")
def tensor_scalar_cumulative(state: State, instr: Instr) -> None:
    """acc = op1(op0(src[i], imm0), acc); dst[i] = acc."""
    b, op = state.builder, instr.attrs["op1"]
    x = with_operand(state, instr.attrs["op0"], state.rows(instr.src[0]), instr.src[1])
    lanes, extent = x.type.shape
    first = _first(state, instr, lanes)
    state.assume("scan_state")
    if op in alu.COMBINE:
        whole = b("concat", b.reshape(first, (lanes, 1)), x, axis=1)
        sums = b("scan", whole, axis=1, combine=alu.COMBINE[op], order="sequential", impl=IMPL)
        value = b("slice", sums, start=(0, 1), limit=(lanes, extent + 1), step=(1, 1))
    else:
        value = scanned(state, first, (x,), lambda acc, a: alu.apply(state, op, a, acc))
    last = b("slice", value, start=(0, extent - 1), limit=(lanes, extent), step=(1, 1))
    keep(state, instr, "dve", b.reshape(last, (lanes,)))
    state.put_f32(instr, value)


def _first(state: State, instr: Instr, lanes: int) -> Value:
    """What the accumulator holds before the first element."""
    match instr.attrs["reduce_cmd"]:
        case "reset_reduce":
            return state.builder.constant(alu.IDENTITY[instr.attrs["op1"]], F32, (lanes,))
        case "load_reduce":
            return state.f32(instr.src[2], (lanes,))
        case "reduce":
            return held(state, instr, "dve", lanes)
        case other:
            raise Unsupported(f"tensor_scalar_cumulative with reduce_cmd {other}", instr.span)
