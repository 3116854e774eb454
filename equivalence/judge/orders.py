"""Whether a generic combiner may be applied in any order, as its source lets the compiler choose one.

A reduction or scan by a function of the user's is run once more as a tree, on both sides: what then differs beyond
both bounds differs on a device.  Takes a Judge in progress; adds tests, failures and a check to its evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from equivalence.interpretations.depends import Depends
from equivalence.judge import inputs
from equivalence.judge.compare import compare
from equivalence.judge.evidence import Failure
from equivalence.judge.runs import Pair
from equivalence.judge.tally import Tally
from equivalence.verdicts import Check, Divergence
from lowering.errors import Span
from lowering.ir.program import Op, Program

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

LABEL = "combined in a tree"
CHECK = "generic combiners in another order"
TRIED = ("reordered", "positive", "ties", "rows of very different size")


def leaves_open(program: Program) -> bool:
    """Whether a region combines lanes in an order that is left open."""
    return any(True for _ in _open(program))


def _open(program: Program) -> Iterator[Op]:
    for op in program.walk():
        if op.name in ("reduce", "scan") and op.attrs["combine"] == "region" and op.attrs["order"] != "sequential":
            yield op


def run(judge: Judge) -> None:
    """The given values and a few derived sets, in a tree, at the sets of shapes that are tested."""
    tally = Tally()
    for pair in judge.tested():
        if not (leaves_open(pair.a) or leaves_open(pair.b)):
            continue
        for words, arrays in [("given", pair.inputs), *((n, inputs.make(n, pair.inputs, 0)) for n in TRIED)]:
            tally.planned += 1
            tally.late |= judge.late()
            _test(judge, pair, words, arrays, tally)
    if tally.planned:
        failed = any(f.run.tree for evidence in judge.evidence for f in evidence.failures)
        passed = False if failed else True if tally.complete else None
        detail = "as a tree they give what they give from left to right" if passed else ""
        detail = f"{tally.ran} of {tally.planned} inputs; not run: {tally.missing()}" if passed is None else detail
        judge.checks.append(Check(CHECK, passed, detail or "a tree gives other values than going from left to right"))


def _test(judge: Judge, pair: Pair, words: str, arrays: inputs.Arrays, tally: Tally) -> None:
    error = judge.error(pair)
    done = tally.attempt(lambda: judge.runner.in_a_tree().run(pair, [Depends(marks=False), error], arrays))
    if done is not None:
        for evidence, (_, a, b) in zip(judge.evidence, done.outputs(), strict=True):
            evidence.add_test(done, f"{words} ({LABEL})", compare(a, b, ()))


def divergence(judge: Judge, failure: Failure, position: int) -> Divergence:
    """The combiner of the side whose result depends on the order, beside the same line or output of the other."""
    pair, error = failure.run.pair, judge.error(failure.run.pair)
    folded = judge.runner.run(pair, [Depends(marks=False), error], failure.run.inputs)
    places: list[Span | None] = []
    for program, one, other in ((pair.a, folded.a, failure.run.a), (pair.b, folded.b, failure.run.b)):
        name = program.outputs[position][0]
        moved = compare(one.outputs[name], other.outputs[name], ()).excess.any() and leaves_open(program)
        places.append(next(op.span for op in _open(program)) if moved else None)
    which = " and ".join(side for side, place in zip("AB", places) if place is not None) or "neither"
    what = f"the combiner of {which} gives another result when it is applied in a tree: it is not associative"
    return Divergence(places[0], places[1], f"{what}, or its operands cannot be exchanged")
