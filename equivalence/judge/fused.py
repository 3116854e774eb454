"""Explicit fused multiply-adds against open contractions (SEMANTICS §3).

Takes a Judge in progress; a pair equal but for contraction gets equal words up to order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equivalence.evaluator.frame import OutOfTime
from equivalence.interpretations.depends import Depends
from equivalence.interpretations.reassociated import Reassociated, contradict
from equivalence.judge.runs import Pair, PairRun
from equivalence.verdicts import Check

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge


def run(judge: Judge) -> None:
    """An explicit fma on one side may meet an open contraction on the other (SEMANTICS §3).

    The uncontracted forms must match, and no product may be fixed fused on one side and fixed rounded on the other.
    """
    given = judge.pairs[0]
    explicit = any(op.name == "fma" for program in (given.a, given.b) for op in program.walk())
    if not explicit or all(e.equal["exact"] or e.equal["reassociated"] for e in judge.evidence):
        return
    try:
        for number, pair in enumerate(judge.pairs):
            _uncontracted(judge, number, pair)
    except OutOfTime:
        judge.checks.append(Check("contracted forms", None, "stopped: out of time"))
        return
    for evidence in judge.evidence:
        evidence.equal["reassociated"] |= evidence.uncontracted_equal


def _uncontracted(judge: Judge, number: int, pair: Pair) -> None:
    sides = [Reassociated(judge.options.seed + number, uncontracted=True) for _ in "ab"]
    outcomes = [
        judge.runner.one(program, [side, Depends(marks=False)], pair.inputs)
        for program, side in zip((pair.a, pair.b), sides, strict=True)
    ]
    run = PairRun(pair, pair.inputs, outcomes[0], outcomes[1])
    clash = contradict(sides[0], sides[1])
    for evidence, (_, a, b) in zip(judge.evidence, run.outputs(), strict=True):
        evidence.add_uncontracted(run, a, b, clash)
