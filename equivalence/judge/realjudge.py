"""Runs a pair under `real` until every decision has been seen both ways, and says what is left open.

Takes a Judge in progress; fills its RealState and the real part of its evidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from equivalence.fields.primes import choose
from equivalence.interpretations.depends import Depends
from equivalence.judge import inputs
from equivalence.judge.runs import Pair

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

MOST_RUNS = 10


def run(judge: Judge) -> None:
    """The given shape first, then derived inputs at the smallest shape until no outcome is unseen."""
    try:
        from equivalence.interpretations.real import agree, prepare
    except ImportError:
        return

    judge.real.available = True
    primes = choose(judge.options.seed, 2)
    smallest = min(judge.pairs, key=lambda p: p.size)
    unseen: dict[object, tuple] = {}
    for number, pair in enumerate(judge.pairs):
        if number and judge.late():
            break
        real, assumed = prepare(pair.a, pair.b, judge.options.seed + number, primes[number % len(primes)])
        judge.assumptions.update(dict.fromkeys(assumed))
        _one(judge, pair, real, pair.inputs, agree)
        unseen = {key: missing for key, *missing in real.unseen()}
        if pair is smallest:
            for _name, arrays in inputs.sets(pair.inputs, judge.options.seed):
                if not real.unseen() and judge.evidence[0].real_runs > 3:
                    break
                _one(judge, pair, real, arrays, agree)
            judge.real.unseen = [(m[-1], m[0]) for m in ({k: v for k, *v in real.unseen()}).values()]
    del unseen


def _one(judge: Judge, pair: Pair, real: object, arrays: dict, agree: object) -> None:
    done = judge.runner.run(pair, [real, Depends()], arrays)  # type: ignore[list-item]
    for evidence, (_, a, b) in zip(judge.evidence, done.outputs(), strict=True):
        agreement = agree(real, a, b)  # type: ignore[operator]
        evidence.real_runs += 1
        evidence.real_mismatch |= not agreement.equal
