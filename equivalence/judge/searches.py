"""Tests beside the derived sets: where terms cancel, where blocks meet, where decisions turn, what is only large.

Takes a Judge in progress and its Tally.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from equivalence.judge import beyond, boundaries, inputs, ranges
from equivalence.judge.runs import Pair
from equivalence.judge.tally import Tally
from equivalence.judge.testing import attempt

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

LARGE = ("a hundred times as large", "ties", "far below zero")
MEETING = ("all equal", "ties")
MOST_CANCELLING, MOST_EDGED = 1 << 16, 1 << 17  # input elements
MOST_LITERALS = 64  # of one constant array


def run(judge: Judge, tally: Tally) -> None:
    """All of them but ``at_large``."""
    cancelling(judge, tally)
    meeting(judge, tally)
    edges(judge, tally)
    turning(judge, tally)


def derived(judge: Judge, pair: Pair, names: Sequence[str], tally: Tally) -> None:
    """Named sets at one set of shapes; nothing where no input holds floats."""
    declared = ranges.declared(judge.options.inputs, pair)
    for name in names if any(inputs.is_float(x) for x in pair.inputs.values()) else ():
        arrays = ranges.within(inputs.make(name, pair.inputs, judge.options.seed), pair.inputs, declared)
        attempt(judge, pair, name, arrays, tally)


def at_large(judge: Judge, pair: Pair, tally: Tally) -> None:
    """The few sets that tell most, where none smaller comes to what is run here."""
    derived(judge, pair, LARGE, tally)


def cancelling(judge: Judge, tally: Tally) -> None:
    """Equal values at extents that are no powers of two, where their sums are rounded."""
    pair = min(judge.pairs, key=lambda p: (_exact_extents(p), p.size))
    if pair is not judge.tested()[0] and pair.size <= MOST_CANCELLING:
        derived(judge, pair, list(inputs.EQUAL), tally)


def meeting(judge: Judge, tally: Tally) -> None:
    """One value throughout at extents that are powers of two: there a mean, or a share of a sum, is met exactly."""
    pair = max(judge.pairs, key=lambda p: (_exact_extents(p), -p.size))
    if pair is not judge.tested()[0] and pair.size <= MOST_CANCELLING and _exact_extents(pair):
        derived(judge, pair, MEETING, tally)


def edges(judge: Judge, tally: Tally) -> None:
    """Each lane beside which blocks meet, at the smallest set of shapes and at the given one, whose blocks are real."""
    smallest, given = judge.tested()[0], judge.pairs[0]
    for pair in [smallest] if given is smallest or id(given) in judge.proved else [smallest, given]:
        if pair.size > MOST_EDGED:
            continue
        declared = ranges.declared(judge.options.inputs, pair)
        for arrays in beyond.edges(pair.inputs, steps(pair, whole(pair))):
            attempt(judge, pair, beyond.EDGES, ranges.within(arrays, pair.inputs, declared), tally, one_sided=False)


def turning(judge: Judge, tally: Tally) -> None:
    """Beside the points at which a decision of either side turns; words that are equal compare the same things."""
    shown = [e.equal["exact"] or e.equal["reassociated"] for e in judge.evidence]
    if any(e.witnessed for e in judge.evidence) or all(shown):
        return
    smallest = judge.tested()[0]
    declared = ranges.declared(judge.options.inputs, smallest)
    for arrays in boundaries.sets(judge, smallest):
        kept = ranges.within(arrays, smallest.inputs, declared)
        attempt(judge, smallest, boundaries.LABEL, kept, tally, one_sided=False)


def _exact_extents(pair: Pair) -> int:
    """How many extents of the inputs are powers of two: that many equal terms add up exactly."""
    return sum(n > 1 and n & (n - 1) == 0 for name, x in pair.inputs.items()
               if not name.startswith("weight:") for n in x.shape)  # fmt: skip


def steps(pair: Pair, literals: Sequence[int]) -> list[int]:
    """Lengths of blocks: whole literals, the last extents of arrays on the way, and where slices begin and end."""
    extents = {
        value.type.shape[-1]
        for program in (pair.a, pair.b)
        for op in program.walk()
        for value in op.results
        if value.type.shape
    }
    slices = [op for program in (pair.a, pair.b) for op in program.walk() if op.name == "slice" and op.attrs["start"]]
    ends = {v for op in slices for v in (op.attrs["start"][-1], op.attrs["limit"][-1])}
    return sorted({v for v in (*literals, *extents, *ends) if v > 1})


def whole(pair: Pair) -> list[int]:
    """Every integer literal of either program: padding indices, labels that are left out."""
    found: set[int] = set()
    for op in (op for program in (pair.a, pair.b) for op in program.walk()):
        if op.name == "constant" and op.results[0].type.dtype.is_integer:
            found.update(int(v) for v in np.unique(np.asarray(op.attrs["value"]))[:MOST_LITERALS])
    return sorted(found)
