"""The NKI front end: ``lower_instr`` turns one recorded instruction into KIR.  Importing it registers every handler."""

from __future__ import annotations

from lowering.capture.nki.trace import Instr
from lowering.errors import Unsupported
from lowering.frontends.nki import (
    contractions,
    elementwise,
    functions,
    moves,
    randoms,
    reductions,
    scans,
    searches,
    selections,
)
from lowering.frontends.nki.model import Model
from lowering.frontends.nki.state import HANDLERS, State

FAMILIES = (contractions, elementwise, functions, moves, randoms, reductions, scans, searches, selections)


def lower_instr(state: State, instr: Instr) -> None:
    """KIR of one instruction; raises Unsupported where it has no handler."""
    state.engine = instr.engine
    with state.builder.at(instr.span):
        if instr.op not in HANDLERS:
            raise Unsupported(f"the NKI instruction {instr.op}", instr.span)
        HANDLERS[instr.op](state, instr)


__all__ = ["FAMILIES", "HANDLERS", "Model", "State", "lower_instr"]
