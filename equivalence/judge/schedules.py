"""Replays of what a source leaves open: equal keys of an unstable sort, and several values set at one place.

The evaluator keeps equal keys in place and lets the last value stay.  Each program is run with both the other way
round: what then moves in B while it is fixed in A is not determined by B's source.  Takes a Judge in progress; leaves
findings with it, and a reason not to call an output equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from equivalence.evaluator import Lanes
from equivalence.evaluator.frame import OutOfTime
from equivalence.evaluator.freedoms import Choice
from equivalence.evaluator.machine import Machine
from equivalence.evaluator.tied import tied_extrema, tied_rows
from equivalence.judge import inputs, ranges, searches, sensitivity
from equivalence.judge.evidence import Evidence, scale_of
from equivalence.judge.planes import value
from equivalence.judge.runs import Pair
from equivalence.verdicts import Finding
from lowering.errors import Unsupported
from lowering.ir.program import Op, Program

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

KEYS, SETS = "keys", "sets"
CODE = {KEYS: "unstable-order", SETS: "unordered-sets"}
OPEN = {
    KEYS: "leaves the order of equal keys open",
    SETS: "leaves open which of several values set at one place stays",
}
EXTREMA = "which of several equal extrema"
MOST_ELEMENTS, MOST_PAIRS, MOST_SORTS = 1 << 17, 3, 4


@dataclass(frozen=True, slots=True)
class Moved:
    """An element that another making of an open choice moves; NaN where the host then reads something else."""

    label: str
    index: tuple[int, ...]
    one: float
    other: float


def run(judge: Judge) -> None:
    """Both kinds, at the smallest sets of shapes and at the given one."""
    small = sorted(judge.pairs[1:], key=lambda p: p.size)
    for pair in [p for p in (judge.pairs[0], *small) if p.size <= MOST_ELEMENTS][:MOST_PAIRS]:
        for kind in (KEYS, SETS):
            if any(leaves_open(program, kind) for program in (pair.a, pair.b)):
                _try(judge, pair, kind)


def leaves_open(program: Program, kind: str) -> Op | None:
    """The first operation that has such a choice."""
    return next((op for op in program.walk() if _open(op, kind)), None)


def _open(op: Op, kind: str) -> bool:
    if kind == KEYS:
        return op.name == "sort" and not op.attrs["stable"]
    return op.name == "scatter" and op.attrs["combine"] == "set" and op.attrs["order"] != "sequential"


def _try(judge: Judge, pair: Pair, kind: str) -> None:
    """The first inputs on which an output moves on one side alone decide what is said of it."""
    for label, arrays in _inputs(judge, pair):
        if judge.late():
            return
        sides = [_moved(judge, pair, side, kind, label, arrays) for side in (0, 1)]
        if kind == KEYS:
            sides = _apart_from_shared(judge, pair, label, arrays, sides)
        for position, (a, b) in enumerate(zip(*sides, strict=True)):
            if (a is None) != (b is None):
                _say(judge, pair, kind, position, a, b)


def _apart_from_shared(
    judge: Judge, pair: Pair, label: str, arrays: inputs.Arrays, sides: list[list[Moved | None]]
) -> list[list[Moved | None]]:
    """What moves by equal keys that the other side does not leave open for that output: B's where both move by own."""
    found: list[list[Moved | None]] = [list(side) for side in sides]
    for side, moved in enumerate(sides):
        for position, one in enumerate(moved):
            if one is None:
                continue
            shared = _open_rows(judge, pair, 1 - side, position, label, arrays)
            if shared:
                found[side][position] = _moved(judge, pair, side, KEYS, label, arrays, shared)[position]
    found[0] = [a if b is None else None for a, b in zip(*found, strict=True)]
    return found


def _open_rows(
    judge: Judge, pair: Pair, side: int, position: int, label: str, arrays: inputs.Arrays
) -> frozenset[bytes]:
    """Rows of equal keys whose order this side leaves open, where that moves the output.

    Of extrema, where their choice reaches it.
    """
    program, recorder = (pair.a, pair.b)[side], _Rows()
    limits = replace(judge.runner.limits, side=side)
    try:
        Machine(program, (), judge.runner.freedoms, limits, recorder).run(arrays)
    except (Unsupported, OutOfTime):
        return frozenset()
    known = judge.runner.freedoms.of(_freedoms(judge.evidence[position], "AB"[side]))
    named = any(choice.what.startswith(EXTREMA) for choice in known)
    rows = frozenset[bytes]().union(*recorder.extrema) if named else frozenset[bytes]()
    for own in recorder.sorts[:MOST_SORTS]:
        rest = frozenset[bytes]().union(*recorder.sorts) - own
        if own and _moved(judge, pair, side, KEYS, label, arrays, rest)[position] is not None:
            rows |= own
    return rows


class _Rows:
    """A Recorder of the rows of equal keys of every sort and extremum that leaves their order open."""

    def __init__(self) -> None:
        self.sorts: list[frozenset[bytes]] = []
        self.extrema: list[frozenset[bytes]] = []

    def record(self, op: Op, results: Sequence[Lanes], operands: Sequence[Lanes], active: np.ndarray | None) -> None:
        named = op.name == "reduce" and op.attrs["combine"] in ("argmax", "argmin")
        if not (_open(op, KEYS) or (named and (op.attrs["tie"] != "lowest" or op.attrs["order"] == "racing"))):
            return
        keys, axis = np.asarray(operands[0].full(operands[0].data)), op.attrs["axis"] + 1
        if named:
            self.extrema.append(tied_extrema(keys, axis, op.attrs["combine"] == "argmax"))
        else:
            self.sorts.append(tied_rows(keys, axis))


def _inputs(judge: Judge, pair: Pair) -> Iterator[tuple[str, inputs.Arrays]]:
    """The given ones, integers of declared ranges, and floats that tie."""
    yield "given", pair.inputs
    declared = ranges.declared(judge.options.inputs, pair)
    yield from ranges.integers(pair.inputs, declared, searches.whole(pair), judge.options.seed)
    if any(inputs.is_float(x) for x in pair.inputs.values()):
        yield "ties", ranges.within(inputs.make("ties", pair.inputs, judge.options.seed), pair.inputs, declared)


def _moved(
    judge: Judge,
    pair: Pair,
    side: int,
    kind: str,
    label: str,
    arrays: inputs.Arrays,
    spared: frozenset[bytes] = frozenset(),
) -> list[Moved | None]:
    """By output: where this side gives something else once the choices are made the other way round."""
    program = (pair.a, pair.b)[side]
    nothing: list[Moved | None] = [None] * len(program.outputs)
    if leaves_open(program, kind) is None:
        return nothing
    try:
        runners = judge.runner, judge.runner.the_other_way(kind, spared)
        one, other = (runner.one(program, (), arrays, side=side) for runner in runners)
    except (Unsupported, OutOfTime):
        return nothing
    if one.reads != other.reads:  # what the host does then was not captured: any output may be another one
        return [Moved(label, (), math.nan, math.nan) for _ in program.outputs] if kind == KEYS else nothing
    names = [name for name, _ in program.outputs]
    return [_apart(label, one.outputs[name], other.outputs[name]) for name in names]


def _apart(label: str, one: Lanes, other: Lanes) -> Moved | None:
    """Beyond what another order of a sum comes to."""
    x, y = value(one), value(other)
    with np.errstate(all="ignore"):
        distance = np.abs(x.astype(np.float64) - y.astype(np.float64))
    room = sensitivity.allowed(one.dtype.name, None) * scale_of(x) if one.dtype.is_float else 0.0
    distance = np.where(np.isfinite(distance), distance, 0.0)
    if not (distance > room).any():
        return None
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(distance)), distance.shape))
    return Moved(label, index, float(x[index]), float(y[index]))


def _say(judge: Judge, pair: Pair, kind: str, position: int, a: Moved | None, b: Moved | None) -> None:
    """B alone: an error, or no verdict at all; A alone: B fixes what A leaves open, which a port may do."""
    moved, side, program, other = (b, "B", pair.b, "A") if b is not None else (a, "A", pair.a, "B")
    op, evidence = leaves_open(program, kind), judge.evidence[position]
    assert moved is not None and op is not None
    if any(_as_open(choice) for choice in judge.runner.freedoms.of(_freedoms(evidence, other))):
        return
    if any(found.code == CODE[kind] and found.message.startswith(side) for found in judge.findings):
        return
    where = f"{evidence.name}[{', '.join(map(str, moved.index))}]"
    may_be = f"{where} may be {moved.one:.9g} or {moved.other:.9g} in {side}"
    if math.isnan(moved.one) and math.isnan(moved.other):
        may_be = f"the host of {side} reads other data where they are ordered otherwise"
    said = f"{side} {OPEN[kind]}, {other} does not: {may_be} ({moved.label} inputs)"
    if side == "B" and kind == SETS:
        evidence.undetermined = said, op.span
    likely = side == "B" and kind == KEYS and (moved.label == "given" or moved.label in ranges.INTEGERS)
    judge.find(Finding(CODE[kind], said, op.span, "error" if likely else "warning" if side == "B" else "note"))


def _freedoms(evidence: Evidence, side: str) -> int:
    return evidence.freedoms_a if side == "A" else evidence.freedoms_b


def _as_open(choice: Choice) -> bool:
    """Whether a side with this choice fixes nothing either: it races."""
    if choice.kind == "race":
        return True
    return choice.kind == "racing" and choice.what.endswith("exchanges")
