"""The accumulator registers of the Scalar and the Vector engine: reset before they are read, and not idled away.

Takes a trace; gives findings.
"""

from __future__ import annotations

from collections.abc import Iterator

from lowering.capture.nki.trace import Instr, NkiTrace
from lowering.legality.finding import Finding

#: operations that have a register, by engine
ACCUMULATE = {
    "nc_activate": "act", "activate2": "act", "exponential": "dve", "nc_range_select": "dve", "select_reduce": "dve",
    "tensor_scalar_reduce": "dve", "tensor_scalar_cumulative": "dve",
}  # fmt: skip
_NAMES = {"act": "the Scalar engine", "dve": "the Vector engine"}
_SETS = ("reset", "reset_reduce", "load_reduce")


def registers(trace: NkiTrace) -> Iterator[Finding]:
    """In program order, each core's registers by themselves."""
    state: dict[tuple[int, str], tuple[str, int]] = {}  # 'set' | 'idled', and the line of it
    for instr in trace.instrs:
        engine = ACCUMULATE.get(instr.op)
        if engine is None:
            continue
        key = instr.core, engine
        command = instr.attrs.get("reduce_cmd", "idle")
        if command in _SETS:
            state[key] = "set", instr.span.line
            continue
        if command == "reduce" or len(instr.dst) > 1:
            yield from _read(instr, engine, state.get(key))
        if command == "idle" and engine == "dve" and key in state:
            state[key] = "idled", instr.span.line


def _read(instr: Instr, engine: str, known: tuple[str, int] | None) -> Iterator[Finding]:
    name = f"the accumulator register of {_NAMES[engine]}"
    if known is None:
        yield Finding("nki-register", f"{instr.op} goes on with {name}, which nothing has reset", instr.span)
    elif known[0] == "idled":
        said = f"{instr.op} goes on with {name}, which an idle instruction at line {known[1]} may have overwritten"
        yield Finding("nki-register", said, instr.span)
