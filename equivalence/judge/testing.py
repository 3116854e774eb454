"""One test: both programs on one set of inputs, every output against both error bounds, and what else it shows.

Takes a Judge in progress; leaves failures, doubts and findings with it.  Which inputs are tried is not its matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from equivalence.interpretations.depends import Depends
from equivalence.interpretations.hazards import Hazards
from equivalence.judge import beyond, inputs, lost, overflowed, ranges, ties, undefined
from equivalence.judge.compare import Comparison, compare
from equivalence.judge.evidence import Failure
from equivalence.judge.planes import value
from equivalence.judge.runs import Pair, PairRun
from equivalence.judge.tally import Tally
from equivalence.verdicts import Finding

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge


@dataclass(frozen=True, slots=True)
class Tested:
    """One test: what its outputs show, and where they follow undefined values, before any of it is evidence."""

    run: PairRun
    seen: list[Comparison]
    moved: dict[int, dict[str, Failure]]

    @property
    def on_path(self) -> bool:
        return self.run.on_path


def attempt(
    judge: Judge, pair: Pair, label: str, arrays: Mapping[str, np.ndarray], tally: Tally, one_sided: bool = True
) -> PairRun | None:
    """One more planned test; once time is out it is only counted."""
    tally.planned += 1
    tally.late |= judge.late()
    return compared(judge, pair, label, arrays, tally, one_sided)


def compared(
    judge: Judge, pair: Pair, label: str, arrays: Mapping[str, np.ndarray], tally: Tally, one_sided: bool = True
) -> PairRun | None:
    """One more test of every output; None where the inputs cannot be run, or take the host elsewhere."""
    test = tally.attempt(lambda: _tested(judge, pair, label, arrays, in_scope=label in inputs.SETS))
    if test is None or (label in ranges.INTEGERS and test.moved and _strays(test.run)):
        return None  # a smaller table has no place for such an index
    if label in beyond.BEYOND:
        one_sided = _finite(test.run)
    one_sided |= label in ranges.IN_DOMAIN
    one_sided &= not _out_of_scope(test.run, label)
    for evidence, seen in zip(judge.evidence, test.seen, strict=True):
        evidence.add_test(test.run, label, seen, one_sided)
        if label in inputs.USUAL:
            evidence.count_turns(test.run)
            evidence.count_unsure(seen)
    lost.look(judge, test.run, label, test.seen)
    if label in inputs.EQUAL:
        _below_zero(judge, test.run)
    _undefined(judge, test.moved)
    return test.run


def _strays(done: PairRun) -> bool:
    """Whether a side leaves its buffers."""
    return any(event.code == "out-of-bounds" for outcome in (done.a, done.b) for event in outcome.events)


def _finite(done: PairRun) -> bool:
    """Whether A's outputs are numbers throughout: then the inputs are in its domain."""
    return all(np.isfinite(value(a).astype(np.float64)).all() for _, a, _ in done.outputs() if a.dtype.is_float)


def _out_of_scope(done: PairRun, label: str) -> bool:
    """Derived inputs on which A overflows as well: a matter of where it does, not of which side does."""
    return label in inputs.SETS and overflowed.everywhere(done.outputs())


def _tested(judge: Judge, pair: Pair, label: str, arrays: Mapping[str, np.ndarray], in_scope: bool) -> Tested:
    done = ties.run(judge.runner, pair, judge.error(pair), arrays)
    if not done.on_path:
        return Tested(done, [], {})
    in_scope &= not _out_of_scope(done, label)
    seen = [compare(a, b, (), in_scope) for _, a, b in done.outputs()]
    poisoned = any(c.undefined_a.any() or c.undefined_b.any() for c in seen)
    return Tested(done, seen, undefined.influence(done, judge.runner, label) if poisoned else {})


def _below_zero(judge: Judge, done: PairRun) -> None:
    """A root of what rounding makes negative where terms cancel: a NaN in some order, whatever this run gave."""
    sides = [any(overflowed.below(outcome.outputs[name]) for name in outcome.outputs) for outcome in (done.a, done.b)]
    for number, (side, program) in enumerate((("A", done.pair.a), ("B", done.pair.b))):
        if not sides[number]:
            continue
        hazards = Hazards()
        found = [Depends(marks=False), judge.error(done.pair), hazards]
        judge.runner.one(program, found, done.inputs, side=number)
        said = (
            f"{side} takes a root or a logarithm of a difference that rounding may make negative where values are equal"
        )
        severity = "note" if all(sides) else "warning"
        judge.find(Finding("rounds-below-zero", said, next(iter(hazards.below), None), severity))


def _undefined(judge: Judge, moved: Mapping[int, Mapping[str, Failure]]) -> None:
    """An output that follows an undefined value on these inputs: a difference on one side, a doubt on both."""
    for position, sides in moved.items():
        evidence = judge.evidence[position]
        if len(sides) == 1 and not (evidence.undefined_a or evidence.undefined_b):
            evidence.failures.append(next(iter(sides.values())))
        evidence.undefined_a |= "a" in sides
        evidence.undefined_b |= "b" in sides


def outside(judge: Judge, pair: Pair, label: str, arrays: Mapping[str, np.ndarray]) -> None:
    """One test more, on values that need not be in the functions' domain: NaN and infinities are out of scope there."""
    if not judge.late():
        compared(judge, pair, label, arrays, Tally(), one_sided=False)
