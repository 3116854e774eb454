"""Excludes outcomes that no input brings to an output: guards of what a selection throws away (real_regions).

Takes a Real whose sites were seen on some inputs, and the inputs; marks the outcomes in its records.
"""

from __future__ import annotations

from collections.abc import Sequence

from equivalence.interpretations.depends import Depends
from equivalence.interpretations.real import Real
from equivalence.interpretations.real_regions import MOST, Regions, Watched, candidates
from equivalence.judge.inputs import Arrays
from equivalence.judge.runs import Pair, Runner

MOST_WATCHED = 4 * MOST


def exclude(runner: Runner, pair: Pair, real: Real, sets: Sequence[Arrays]) -> None:
    """An outcome is excluded where on every set of inputs its region ends before an output; most end on the first."""
    left = candidates(real)[:MOST_WATCHED]
    off, real.sites.off = real.sites.off, True
    try:
        for arrays in sets:
            if not left:
                return
            left = [
                one for k in range(0, len(left), MOST) for one in _ended(runner, pair, real, left[k : k + MOST], arrays)
            ]
    finally:
        real.sites.off = off
    real.sites.exclude(left)


def _ended(runner: Runner, pair: Pair, real: Real, watched: Sequence[Watched], arrays: Arrays) -> list[Watched]:
    """Those that were met, and reach neither an output nor control."""
    regions = Regions(real, watched)
    for side, program in (("A", pair.a), ("B", pair.b)):
        real.sites.side = side
        done = runner.one(program, [real, Depends(marks=False), regions], arrays)
        regions.collect(done.outputs.values())
    return [one for one in watched if one in regions.met and one not in regions.alive]
