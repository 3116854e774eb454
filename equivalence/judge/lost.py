"""Digits that one side loses on inputs where the other keeps them, though its own bound explains the difference.

exp(x) - 1 against expm1(x), E[x^2] - E[x]^2 against the mean of squared differences: as real functions the same.
Takes a Judge in progress and one test of it; leaves at most one finding by output and side with the evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from equivalence.evaluator.frame import OutOfTime
from equivalence.interpretations.depends import Depends
from equivalence.judge import ties
from equivalence.judge.compare import Comparison
from equivalence.judge.conditioning import explained
from equivalence.judge.evidence import Evidence, scale_of
from equivalence.judge.given import bounds
from equivalence.judge.planes import plane
from equivalence.judge.runs import PairRun
from equivalence.judge.sensitivity import allowed
from equivalence.numerics.formats import format_of
from equivalence.verdicts import Finding
from lowering.errors import Unsupported
from lowering.ir.program import Program

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

#: Sets of the size and signs that the given values have, or of an ordinary multiple: what is lost there is an error.
ORDINARY = frozenset(["reordered", "positive", "negative", "small", "large"])
#: Sets far from them.  Not those in which sums cancel to nothing but their rounding.
FAR = frozenset(["a hundred times as large", "rows of very different size", "mean far from zero", "mean far below zero",
                 "far below zero", "tiny", "minute"])  # fmt: skip
CLEARLY = 4  # times the other side's own error: what a difference must come to for it to be this side's
SHARE = 0.05  # of an output's elements, where a program decides or rounds to steps: these turn within any bound
_STEPS = frozenset({"round", "floor", "ceil", "trunc"})
SEVERITIES = ("note", "warning", "error")

Array = np.ndarray


def look(judge: Judge, done: PairRun, label: str, seen: list[Comparison]) -> None:
    """What one test shows of each output; the expected errors are only computed where values are that far apart."""
    if label not in ORDINARY | FAR or all(e.witnessed for e in judge.evidence):
        return
    apart = [_apart(judge, evidence, found) for evidence, found in zip(judge.evidence, seen, strict=True)]
    wanted = [position for position, (whole, each) in enumerate(apart) if whole is not None or each is not None]
    if not wanted or judge.late():
        return
    error = bounds(done.pair, True, judge.options.target)
    try:
        run = judge.runner.run(done.pair, [Depends(marks=False), error], done.inputs)
    except (Unsupported, OutOfTime):
        return
    for position in wanted:
        _, a, b = run.outputs()[position]
        own = plane(a, "expected"), plane(b, "expected")
        for lanes, ordinary in zip(apart[position], (label in ORDINARY, False), strict=True):
            if lanes is not None:
                _blame(judge, position, done, seen[position], label, own, lanes, ordinary)


def _apart(judge: Judge, evidence: Evidence, seen: Comparison) -> tuple[Array | None, Array | None]:
    """What each element may be off by (of the output's largest value, then of its own), infinite where it is not."""
    if not evidence.of_floats or evidence.witnessed:
        return None, None
    limit, smallest = allowed(evidence.dtype, judge.options.tolerance), format_of(evidence.dtype).smallest_normal
    x, y = (side.astype(np.float64) for side in (seen.a, seen.b))
    with np.errstate(all="ignore"):
        distance, sizes = np.abs(x - y), np.maximum(np.abs(x), np.abs(y))
        usable = np.isfinite(distance) & ~(seen.undefined_a | seen.undefined_b)
        least = np.minimum(seen.bound_a, seen.bound_b) <= limit * sizes
    scale = max(scale_of(seen.a), scale_of(seen.b))
    whole = np.where(usable, limit * scale, np.inf)
    each = np.where(usable & least & (sizes > smallest), limit * sizes, np.inf)
    return (
        whole if scale > smallest and (distance > whole).any() else None,
        each if (distance > each).any() else None,
    )


def _blame(
    judge: Judge, position: int, done: PairRun, seen: Comparison, label: str, own: tuple[Array, Array], room: Array,
    error: bool,
) -> None:  # fmt: skip
    """The side whose expected error is beyond ``room`` where the other's is far within the difference."""
    x, y = (side.astype(np.float64) for side in (seen.a, seen.b))
    pair, evidence = judge.pairs[0], judge.evidence[position]
    stepped = steps(pair.a) or steps(pair.b)
    with np.errstate(all="ignore"):
        distance = np.abs(x - y)
        for side, mine, other in (("A", own[0], own[1]), ("B", own[1], own[0])):
            lanes = (distance > room) & (mine > room) & (CLEARLY * other <= distance) & (other <= room)
            if not lanes.any() or (stepped and lanes.mean() < SHARE):
                continue
            at = np.unravel_index(int(np.argmax(np.where(lanes, distance / room, 0.0))), lanes.shape)
            index = tuple(int(i) for i in at)
            found = _note(evidence, side, label, index, (float(x[index]), float(y[index])), error)
            if found is not None:
                evidence.lost[side] = explained(judge, found, side, done.pair, done.inputs, position, index)


def _note(
    evidence: Evidence, side: str, label: str, index: tuple[int, ...], values: tuple[float, float], error: bool
) -> Finding | None:
    """What is to be said anew: the more severe finding stays; a port more precise than its original is no fault."""
    severity = "note" if side == "A" else "error" if error else "warning"
    known = evidence.lost.get(side)
    if known is not None and SEVERITIES.index(known.severity) >= SEVERITIES.index(severity):
        return None
    where, other = f"{evidence.name}[{', '.join(map(str, index))}]", "B" if side == "A" else "A"
    said = (
        f"{side} loses precision where {other} does not: {where} is {values[0]:.9g} in A and {values[1]:.9g} in B "
        f"({label} inputs)"
    )
    return Finding("precision-lost", said, None, severity)


def steps(program: Program) -> bool:
    """Whether values turn by whole steps: decisions, roundings to integers, formats of 8 bits."""
    if ties.decides(program):
        return True
    for op in program.walk():
        if op.name in _STEPS:
            return True
        if op.name == "cast" and op.operands[0].type.dtype.is_float:
            to = op.results[0].type.dtype
            if not to.is_float or to.bits <= 8:
                return True
    return False


def findings(evidences: list[Evidence]) -> Mapping[Finding, None]:
    """Of all outputs, without repetition."""
    return dict.fromkeys(found for evidence in evidences for found in evidence.lost.values())
