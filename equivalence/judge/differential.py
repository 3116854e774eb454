"""Differential tests: derived inputs at the smallest set of shapes, values against both error bounds.

Takes a Judge in progress; adds tests, failures and a check to its evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from equivalence.interpretations.real import constants_of
from equivalence.judge import guards, inputs, magnitudes, scope, ties, undefined
from equivalence.judge.compare import compare
from equivalence.judge.runs import Pair, PairRun
from equivalence.verdicts import Check
from lowering.errors import Unsupported

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

MOST_ELEMENTS = 1 << 22  # of the inputs: beyond, a pair is only compared as given
FEW, FEW_FROM = 6, 1 << 16  # the most telling derived inputs only, where even the smallest shape is large
FEW_MORE = 1 << 14  # the same for shapes beside the smallest
CHECK = "differential tests"


def run(judge: Judge) -> None:
    """All derived inputs at the smallest set of shapes and where others reach more; says how many there were."""
    for number, pair in enumerate(judge.tested()):
        if judge.late():
            judge.checks.append(Check(CHECK, None, "stopped: out of time"))
            return
        if pair.size > MOST_ELEMENTS:
            judge.checks.append(Check(CHECK, None, "not run beyond the given inputs: they are too large"))
            continue
        _at(judge, pair, few=pair.size > (FEW_MORE if number else FEW_FROM))
    count = judge.evidence[0].tests if judge.evidence else 0
    failed = any(evidence.witnessed for evidence in judge.evidence)
    judge.checks.append(Check(CHECK, not failed, f"{count} inputs, values within both bounds"))


def _at(judge: Judge, pair: Pair, few: bool) -> None:
    """The derived inputs of one set of shapes."""
    makers = dict(list(inputs.SETS.items())[:FEW]) if few else inputs.SETS
    for name, arrays in inputs.sets(pair.inputs, judge.options.seed, makers):
        if judge.late():
            return
        done = _compared(judge, pair, name, arrays)
        if done is not None and name == "zeros and ones":
            _guard(judge, guards.zero_one(pair, done))
    for arrays in inputs.near(pair.inputs, constants(pair), judge.options.seed):
        outside(judge, pair, inputs.NEAR, arrays)
    declared = scope.declared(judge.options.inputs, pair)
    outside(judge, pair, inputs.OUTSIDE, inputs.outside(pair.inputs, judge.options.seed, declared))
    if not judge.late():
        for arrays in magnitudes.sets(pair, judge.runner, judge.options.seed, declared):
            outside(judge, pair, magnitudes.LABEL, arrays)


def _compared(
    judge: Judge, pair: Pair, label: str, arrays: Mapping[str, np.ndarray], one_sided: bool = True
) -> PairRun | None:
    """One more test of every output; None where the inputs cannot be run, or take the host elsewhere."""
    try:
        done = ties.run(judge.runner, pair, judge.error(pair), arrays)
    except Unsupported:  # a loop that these inputs do not end, say
        return None
    if not done.on_path:
        return None
    poisoned = False
    for evidence, (_, a, b) in zip(judge.evidence, done.outputs(), strict=True):
        seen = compare(a, b, ())
        evidence.add_test(done, label, seen, one_sided)
        poisoned |= bool(seen.undefined_a.any() or seen.undefined_b.any())
    if poisoned:
        _undefined(judge, done, label)
    return done


def _undefined(judge: Judge, done: PairRun, label: str) -> None:
    """An output that follows an undefined value on these inputs: a difference on one side, a doubt on both."""
    for position, sides in undefined.influence(done, judge.runner, label).items():
        evidence = judge.evidence[position]
        if len(sides) == 1 and not (evidence.undefined_a or evidence.undefined_b):
            evidence.failures.append(next(iter(sides.values())))
        evidence.undefined_a |= "a" in sides
        evidence.undefined_b |= "b" in sides


def outside(judge: Judge, pair: Pair, label: str, arrays: Mapping[str, np.ndarray] | None) -> None:
    """Values that need not be in the functions' domain: NaN and infinities are out of scope there."""
    if arrays is not None and not judge.late():
        _compared(judge, pair, label, arrays, one_sided=False)


def _guard(judge: Judge, checks: Sequence[Check]) -> None:
    """A failed check contradicts words that are equal."""
    judge.checks += checks
    for check in checks:
        for evidence in judge.evidence:
            about = check.name.startswith(f"{evidence.name} on")
            if check.passed is False and about and any(evidence.equal.values()):
                evidence.contradiction = f"{check.name}: the values differ where every partial sum is exact"


def constants(pair: Pair) -> list[float]:
    """Every float literal of either program."""
    return sorted({value for program in (pair.a, pair.b) for _, value in constants_of(program)})
