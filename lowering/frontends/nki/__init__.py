"""The NKI front end: ``lower_instr`` turns one recorded instruction into KIR.  Importing it registers every handler."""

from __future__ import annotations

from lowering.capture.nki.trace import Indirect, Instr
from lowering.capture.trace import TensorRef
from lowering.errors import Unsupported
from lowering.frontends.nki import (
    contractions,
    elementwise,
    functions,
    microscaled,
    moves,
    randoms,
    reductions,
    scans,
    searches,
    segments,
    selections,
)
from lowering.frontends.nki.model import Model
from lowering.frontends.nki.state import HANDLERS, State

FAMILIES = (
    contractions,
    elementwise,
    functions,
    microscaled,
    moves,
    randoms,
    reductions,
    scans,
    searches,
    segments,
    selections,
)


_MOVES = ("nc_copy", "nc_dma_copy", "send_recv", "transpose", "dma_transpose", "shuffle")


def lower_instr(state: State, instr: Instr) -> None:
    """KIR of one instruction; raises Unsupported where it has no handler."""
    state.engine = instr.engine
    with state.builder.at(instr.span):
        if instr.op not in HANDLERS:
            raise Unsupported(f"the NKI instruction {instr.op}", instr.span)
        _refuse_tfloat32(instr)
        try:
            HANDLERS[instr.op](state, instr)
        except Unsupported as error:
            if error.span.line:
                raise
            raise Unsupported(error.construct, instr.span, error.hint) from None


def _refuse_tfloat32(instr: Instr) -> None:
    """A tfloat32 is held as the f32 that it came from: the Tensor engine rounds it, and nothing else may look at it."""
    moved = instr.op in _MOVES and all(_dtype(view) == "tfloat32" for view in instr.dst)
    if instr.op != "nc_mat_mul" and not moved and any(_dtype(view) == "tfloat32" for view in instr.src):
        raise Unsupported(f"{instr.op} of a tfloat32 tile, which only the Tensor engine reads", instr.span)


def _dtype(operand: object) -> str:
    view = operand.base if isinstance(operand, Indirect) else operand
    return view.dtype if isinstance(view, TensorRef) else ""


__all__ = ["FAMILIES", "HANDLERS", "Model", "State", "lower_instr"]
