"""What one deep run shows beside equal words: draws, bounds beyond the tolerance, undefined lanes, events on the way.

Takes a Judge in progress and a run; leaves findings and assumptions with it, and marks in the outputs' evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from equivalence.evaluator import Lanes
from equivalence.judge import conditioning, scope, sensitivity, undefined
from equivalence.judge.evidence import Evidence
from equivalence.judge.planes import plane
from equivalence.judge.runs import Pair, PairRun
from equivalence.verdicts import Finding

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

RANDOM = "random-stream"  # the evaluator's word for a draw; a finding only where streams differ


def random_draws(judge: Judge, pair: Pair, run: PairRun) -> None:
    """Whether the two draw the same numbers; where they do, that rests on generators in the same state."""
    draws = [scope.draws(program) for program in (pair.a, pair.b)]
    judge.real.steered |= scope.by_host(draws[0]) != scope.by_host(draws[1])
    judge.real.random |= draws[0] != draws[1] or scope.streams_differ(run.a.draws, run.b.draws)
    if judge.real.random:
        places = [event.span for outcome in (run.a, run.b) for event in outcome.events if event.code == RANDOM]
        said = "A and B draw random numbers that cannot be matched"
        judge.find(Finding("random-streams-differ", said, next(iter(places), None)))
    elif draws[0]:
        judge.assumptions["random numbers: both sides are called with their generators in the same state"] = None


def given_bounds(judge: Judge, evidence: Evidence, pair: Pair, a: Lanes, b: Lanes) -> None:
    evidence.bound_a, evidence.bound_b = (float(np.max(plane(x, "bound"), initial=0.0)) for x in (a, b))
    for side, program, lanes in (("A", pair.a, a), ("B", pair.b, b)):
        for finding in sensitivity.findings(side, program, lanes, evidence.name, judge.options.tolerance):
            judge.bounds.append((evidence, side, finding))


def bound_finding(judge: Judge, evidence: Evidence, side: str, finding: Finding) -> Finding:
    """A bound beyond the tolerance, unless the measured distance clears a result that leaves no order open."""
    bits = evidence.freedoms_a if side == "A" else evidence.freedoms_b
    open_order = any(choice.kind in ("order", "racing", "contraction") for choice in judge.runner.freedoms.of(bits))
    said = sensitivity.exonerated(finding, evidence.dtype, evidence.measured.get(side), open_order)
    given, position = judge.pairs[0], next(i for i, e in enumerate(judge.evidence) if e is evidence)
    if said.code != "order-sensitive" or given.size > conditioning.MOST_ELEMENTS:
        return said
    return conditioning.explained(judge, said, side, given, given.inputs, position)


def undefined_lanes(judge: Judge, run: PairRun, label: str, poisoned: Sequence[bool]) -> None:
    """Poison that moves no output of this run is only a finding; where it does, the two sides cannot be equal.

    What an earlier run showed stays: other shapes may well leave nothing undefined.
    """
    moved = undefined.influence(run, judge.runner, label)
    for position, evidence in enumerate(judge.evidence):
        sides = moved.get(position, {})
        evidence.undefined_a |= "a" in sides
        evidence.undefined_b |= "b" in sides
        if len(sides) == 1:
            evidence.failures.append(next(iter(sides.values())))
        elif poisoned[position] and not sides:
            said = f"an undefined lane may reach {evidence.name}, but only as a NaN or an infinity would"
            garbage = undefined.unwritten(run, judge.runner, position)
            if len(garbage) == 1:  # 0 times what torch.empty holds: one side alone gives NaN where that is one
                said = f"in {garbage.pop().upper()} {said}: it was never written"
                judge.find(Finding("undefined-read", said, None, "error"))
            else:
                judge.find(Finding("undefined-read", said))


def notice(judge: Judge, run: PairRun, given: bool) -> None:
    """Events of the evaluator as findings; a read outside a buffer that one side makes at ``given`` shapes, or a
    promise that it breaks, is its error, even where that moves no output."""
    codes = [{event.code for event in outcome.events} & scope.FAULTS for outcome in (run.a, run.b)]
    for side, outcome in (("A", run.a), ("B", run.b)):
        for event in outcome.events:
            if event.code == RANDOM:
                continue
            alone = given and event.code in codes[0] ^ codes[1]
            severity = "error" if alone else event.severity
            finding = Finding(event.code, f"{side}: {event.what}", event.span, severity)
            judge.find(finding)
