"""What depends on the order of things: memory that was not written, turns of a loop, sums in PSUM, tiles in one place.

Takes a trace; gives findings.  One pass over the instructions with a History of who wrote what last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lowering.capture.nki.trace import BETA1, Indirect, Instr, NkiTrace
from lowering.capture.trace import TensorRef
from lowering.legality import turns
from lowering.legality.finding import Finding
from lowering.legality.hardware import HARDWARE
from lowering.legality.history import GIVEN, UNDEFINED, History, distinct
from lowering.legality.places import named
from lowering.legality.undefined import Undefined, result, where_it_matters

_MATMULS = ("nc_mat_mul", "mat_mul_mx")


def hazards(trace: NkiTrace) -> Iterator[Finding]:
    """In program order; outputs last."""
    history = History(trace)
    owners: dict[int, set[int]] = {}  # by shared memory: the tiles that have written to it
    for number, instr in enumerate(trace.instrs):
        if instr.op == "core_barrier":  # names data, and reads none
            continue
        reads = [view if isinstance(view, TensorRef) and history.reaches(view) else None for view in instr.src]
        undefined: Undefined = [None if view is None else history.undefined(view) for view in reads]
        said = list(_undefined(trace, instr, reads, undefined))
        yield from said
        undefined = [None] * len(undefined) if said else undefined  # what comes of it is no finding of its own
        others = turns.carried(trace, history, instr, reads)
        one = turns.told(trace, history, instr, reads, others)
        if one is not None:
            yield one
            others = [None] * len(others)
        for view in _read(instr):
            if history.reaches(view):
                yield from _stale(trace, history, owners, instr, view)
        if instr.op in _MATMULS:
            yield from _accumulates(trace, history, instr)
        _write(trace, history, owners, number, (undefined, others))
    for name, ref in trace.outputs:
        missing = history.undefined(ref) if history.reaches(ref) else None
        if missing is not None:
            said = f"{int(missing.sum())} of {missing.size} elements of {name} are never written"
            yield Finding("nki-output-undefined", said, trace.storages[ref.storage].span)


def _read(instr: Instr) -> Iterator[TensorRef]:
    """Views whose elements are known to be read."""
    for view in instr.src:
        if isinstance(view, TensorRef):
            yield view
        elif isinstance(view, Indirect):
            yield view.index
    yield from (view.index for view in instr.dst if isinstance(view, Indirect))


def _write(
    trace: NkiTrace, history: History, owners: dict[int, set[int]], number: int, parts: tuple[Undefined, Undefined]
) -> None:
    instr = trace.instrs[number]
    for place, view in enumerate(instr.dst):
        if isinstance(view, Indirect):
            history.fill(view.base.storage, number)
        elif history.reaches(view):
            mask = instr.mask if place == 0 and instr.mask is not None and instr.mask.shape == view.shape else None
            history.write(view, number, mask, *(result(instr, part, place) for part in parts))
            if history.shared(view.storage):
                owners.setdefault(history.placed(view).storage, set()).add(view.storage)


# -- undefined memory ------------------------------------------------------------------------------------------------


def _undefined(
    trace: NkiTrace, instr: Instr, reads: Sequence[TensorRef | None], undefined: Undefined
) -> Iterator[Finding]:
    if all(part is None for part in undefined):
        return
    for number in where_it_matters(trace, instr, undefined):
        view, part = reads[number], undefined[number]
        if view is not None and part is not None:
            yield Finding("nki-undefined", f"{instr.op} reads {named(trace, view)}: {_missing(part)}", instr.span)


def _missing(part: np.ndarray) -> str:
    return "nothing of it has contents" if part.all() else f"{int(part.sum())} of {part.size} elements have no contents"


def _accumulates(trace: NkiTrace, history: History, instr: Instr) -> Iterator[Finding]:
    dst, adds = instr.dst[0], instr.attrs.get("accumulate")
    if not isinstance(dst, TensorRef) or adds is False or adds is None or not history.reaches(dst):
        return
    writers = history.writers(dst)
    if isinstance(adds, np.ndarray) and adds.shape == writers.shape:
        writers = writers[adds]
    if instr.mask is not None and instr.mask.shape == writers.shape:
        writers = writers[instr.mask]
    found = [int(w) for w in distinct(writers)]
    if UNDEFINED in found:
        said = f"{instr.op} adds to {named(trace, dst)}: {_missing(writers == UNDEFINED)}"
        yield Finding("nki-accumulate-undefined", said, instr.span)
    if HARDWARE[trace.target].generation >= 4:
        return
    for writer in found:
        other = None if not 0 < writer < GIVEN else trace.instrs[writer - 1]
        if other is not None and other.engine != "pe" and not _starts_at_zero(trace, other):
            said = f"{instr.op} adds to {named(trace, dst)}, which {other.op} at line {other.span.line} has written"
            yield Finding("nki-accumulate-other", said, instr.span)
            return


def _starts_at_zero(trace: NkiTrace, instr: Instr) -> bool:
    """Beta-1 begins a sum with nl.zeros in PSUM, which its compiler makes the first matmul's overwriting."""
    return trace.generation == BETA1 and instr.op == "mem_set" and instr.src[0] in (0, 0.0)


# -- tiles in one place -----------------------------------------------------------------------------------------------


def _stale(
    trace: NkiTrace, history: History, owners: dict[int, set[int]], instr: Instr, view: TensorRef
) -> Iterator[Finding]:
    """What was written through a tile and overwritten through another one at the same address."""
    if not history.shared(view.storage) or view.storage not in owners.get(history.placed(view).storage, ()):
        return
    for writer in distinct(history.writers(view)):
        other: Any = None if not 0 < writer < GIVEN else trace.instrs[int(writer) - 1]
        if other is None or any(_storage(dst) == view.storage for dst in other.dst):
            continue
        taken = next((dst for dst in other.dst if isinstance(dst, TensorRef)), None)
        by = f" as {named(trace, taken)}" if taken is not None else ""
        said = f"{instr.op} reads {named(trace, view)}, whose place line {other.span.line} has written{by}"
        yield Finding("nki-stale", said, instr.span)
        return


def _storage(view: Any) -> int:
    return view.base.storage if isinstance(view, Indirect) else view.storage
