"""Inputs beside which a decision turns: what two programs compare need not be the same where both outcomes were seen.

Takes a Judge in progress.  Between two sets of inputs on which a comparison, a place or a rounding of one side comes
out otherwise, the way is halved until it turns; on both sides of that point, nearer and farther, the outputs are
compared.  A threshold moved by a part in a thousand, or a coefficient before it, so meets a witness.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from equivalence.evaluator.frame import OutOfTime
from equivalence.evaluator.lanes import FLOAT_DATA, Lanes
from equivalence.evaluator.machine import Machine
from equivalence.judge import inputs
from equivalence.judge.runs import Inputs, Pair
from lowering.errors import Unsupported
from lowering.ir.program import Op, Program

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

LABEL = "beside a turning point"
MOST_ELEMENTS = 1 << 13  # of the inputs
SECONDS = 1.0
MOST_SITES = 8  # of one side
HALVINGS = 30
WAYS = ("negative", "reordered", "large", "mean far from zero")
#: How far from the point, as parts of the way.
STEPS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
MOST_VISITS = 3

Site = tuple[int, int]  # an operation and how often it had run


@dataclass(slots=True)
class Decisions:
    """A Recorder: the results of operations that turn, by site; only those of ``wanted`` where it is given."""

    wanted: Site | None = None
    found: dict[Site, np.ndarray] = field(default_factory=dict)
    visits: dict[int, int] = field(default_factory=dict)

    def record(self, op: Op, results: Sequence[Lanes], operands: Sequence[Lanes], active: np.ndarray | None) -> None:
        if not turns(op) or operands[0].taint != FLOAT_DATA:
            return
        visit = self.visits.get(id(op), 0)
        self.visits[id(op)] = visit + 1
        if visit < MOST_VISITS and self.wanted in (None, (id(op), visit)):
            self.found[id(op), visit] = results[-1].full(results[-1].data).copy()


def turns(op: Op) -> bool:
    """Whether an operation's result jumps where its float operands change a little."""
    if not op.operands or not op.operands[0].type.dtype.is_float:
        return False
    if op.name == "cast":
        return not op.results[0].type.dtype.is_float
    if op.name in ("reduce", "scan"):
        return op.attrs["combine"] in ("argmax", "argmin")
    return op.name in ("cmp", "round") or (op.name == "sort" and len(op.results) > 1)


def sets(judge: Judge, pair: Pair) -> Iterator[Inputs]:
    """Inputs on either side of the turning points of either program, nearest first."""
    if pair.size > MOST_ELEMENTS:
        return
    ends = {name: inputs.make(name, pair.inputs, judge.options.seed) for name in WAYS}
    until = time.monotonic() + SECONDS
    for side, program in enumerate((pair.a, pair.b)):
        if not any(turns(op) for op in program.walk()):
            continue
        search = _Search(judge, program, side, pair.inputs, until)
        for site, lane, end in search.turned(ends):
            if time.monotonic() > until or judge.late():
                return
            at = search.point(site, lane, end)
            if at is None:
                continue
            for step in STEPS:
                yield between(pair.inputs, end, at - step)
                yield between(pair.inputs, end, at + step)


def between(one: Inputs, other: Inputs, part: float) -> dict[str, np.ndarray]:
    """``part`` of the way from one set of inputs to another; what is no float stays."""
    made = dict(one)
    for name, x in one.items():
        if other[name] is not x:
            with np.errstate(all="ignore"):
                wide = x.astype(np.float64) * (1 - part) + other[name].astype(np.float64) * part
                made[name] = wide.astype(x.dtype)
    return made


@dataclass(slots=True)
class _Search:
    """The turning points of one side."""

    judge: Judge
    program: Program
    side: int
    given: Inputs
    until: float

    def outcomes(self, arrays: Inputs, wanted: Site | None = None) -> Mapping[Site, np.ndarray]:
        runner = self.judge.runner
        recorder = Decisions(wanted)
        Machine(self.program, (), runner.freedoms, replace(runner.limits, side=self.side), recorder).run(arrays)
        return recorder.found

    def turned(self, ends: Mapping[str, Inputs]) -> Iterator[tuple[Site, int, Inputs]]:
        """(site, a lane of its result, the inputs on which it comes out otherwise than on the given ones)."""
        try:
            start, left = self.outcomes(self.given), MOST_SITES
            for end in ends.values():
                now = self.outcomes(end)
                for site in [s for s in start if s in now and now[s].shape == start[s].shape]:
                    apart = np.flatnonzero(start[site] != now[site])
                    if apart.size and left:
                        left -= 1
                        del start[site]  # type: ignore[attr-defined]
                        yield site, int(apart[apart.size // 2]), end
        except (Unsupported, OutOfTime):
            return

    def point(self, site: Site, lane: int, end: Inputs) -> float | None:
        """The part of the way at which the lane turns; None where the search cannot go on."""
        low, high, first = 0.0, 1.0, None
        try:
            for _ in range(HALVINGS):
                if time.monotonic() > self.until:
                    return None
                middle = (low + high) / 2
                if first is None:
                    first = self.outcomes(self.given, site)[site].reshape(-1)[lane]
                found = self.outcomes(between(self.given, end, middle), site).get(site)
                if found is None or found.size <= lane:
                    return None
                low, high = (middle, high) if found.reshape(-1)[lane] == first else (low, middle)
        except (Unsupported, OutOfTime):
            return None
        return high
