"""Turns of an affine_range that depend on each other (Beta-1; in the new API an affine_range is a range).

Takes an instruction and a History; gives which elements of its sources another turn wrote, and a finding where that
matters: lanes that nobody uses may hold what an earlier turn left there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lowering.capture.nki.trace import BETA1, Instr, NkiTrace
from lowering.capture.trace import TensorRef
from lowering.legality.finding import Finding
from lowering.legality.history import CARRIED, GIVEN, History, distinct
from lowering.legality.overlaps import identical
from lowering.legality.places import named
from lowering.legality.undefined import Undefined, where_it_matters

_ASSOCIATIVE = frozenset(["add", "mult", "max", "min", "logical_and", "logical_or", "bitwise_and", "bitwise_or",
                          "bitwise_xor"])  # fmt: skip


def carried(trace: NkiTrace, history: History, instr: Instr, reads: Sequence[TensorRef | None]) -> Undefined:
    """For every source the elements that come from another turn, in its shape; None where none does."""
    turns = {loop.id: loop.turn for loop in instr.loops if loop.kind == "affine_range"}
    if trace.generation != BETA1 or instr.attrs.get("loop_reduce"):
        return [None] * len(reads)
    return [None if view is None else _of_other_turns(trace, history, turns, view) for view in reads]


def _of_other_turns(trace: NkiTrace, history: History, turns: dict[int, int], view: TensorRef) -> np.ndarray | None:
    writers = history.writers(view)
    others = [w for w in distinct(writers) if w == CARRIED or (0 < w < GIVEN and _elsewhere(trace, int(w), turns))]
    if not others:
        return None
    found = np.isin(writers, others)
    return np.asarray(found.any(axis=-1)) if found.ndim > len(view.shape) else found


def _elsewhere(trace: NkiTrace, writer: int, turns: dict[int, int]) -> bool:
    return any(loop.id in turns and turns[loop.id] != loop.turn for loop in trace.instrs[writer - 1].loops)


def told(
    trace: NkiTrace, history: History, instr: Instr, reads: Sequence[TensorRef | None], found: Undefined
) -> Finding | None:
    """What there is to say of one instruction."""
    sums = [n for n, part in enumerate(found) if part is not None and _adds_to(instr, reads[n])]
    for number in where_it_matters(trace, instr, found) if any(part is not None for part in found) else ():
        view = reads[number]
        if view is not None and number not in sums:
            return Finding("nki-carried", _said(trace, history, instr, view), instr.span)
    for view in (reads[number] for number in sums):
        assert view is not None
        return Finding("nki-affine-accumulate", _said(trace, history, instr, view), instr.span, "warning")
    return None


def _adds_to(instr: Instr, view: TensorRef | None) -> bool:
    """Whether the view is what an associative sum in place adds to."""
    if view is None or instr.op != "tensor_tensor" or instr.attrs.get("op") not in _ASSOCIATIVE:
        return False
    return any(isinstance(dst, TensorRef) and identical(dst, view) for dst in instr.dst)


def _said(trace: NkiTrace, history: History, instr: Instr, view: TensorRef) -> str:
    return f"{instr.op} reads {named(trace, view)}, {_source(trace, history, view)}"


def _source(trace: NkiTrace, history: History, view: TensorRef) -> str:
    known = [int(w) for w in distinct(history.writers(view)) if 0 < w < GIVEN]
    lines = sorted({trace.instrs[w - 1].span.line for w in known})
    at = f" at line {lines[0]}" if lines else ""
    return f"which another turn of the affine_range wrote{at}"
