"""Differential tests: derived inputs at the smallest set of shapes, values against both error bounds.

Takes a Judge in progress; adds tests, failures and a check to its evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from equivalence.evaluator.frame import OutOfTime
from equivalence.interpretations.real import constants_of
from equivalence.judge import beyond, guards, inputs, magnitudes, ranges, searches, swept, ties
from equivalence.judge import steps as whole_steps
from equivalence.judge.runs import Pair
from equivalence.judge.searches import steps, whole
from equivalence.judge.tally import Tally
from equivalence.judge.testing import attempt, compared
from equivalence.verdicts import Check

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

MOST_ELEMENTS = 1 << 22  # of the inputs: beyond, a pair is only compared as given
FEW, FEW_FROM = 6, 1 << 16  # the most telling derived inputs only, where even the smallest shape is large
FEW_MORE = 1 << 14  # the same for shapes beside the smallest
CHECK = "differential tests"


def run(judge: Judge) -> None:
    """All derived inputs at the smallest set of shapes and where others reach more; says how many there were."""
    tally, before, large = Tally(), _tests(judge), 0
    _again(judge)
    for number, pair in enumerate(judge.tested()):
        if pair.size > MOST_ELEMENTS:
            large += 1
            searches.at_large(judge, pair, tally)
            continue
        _at(judge, pair, pair.size > (FEW_MORE if number else FEW_FROM), tally)
    searches.run(judge, tally)
    _ranges_at_given(judge, tally)
    _at_given(judge, tally)
    judge.checks.append(_check(judge, tally, before, large))


def _tests(judge: Judge) -> int:
    return judge.evidence[0].tests if judge.evidence else 0


def _check(judge: Judge, tally: Tally, before: int, large: int) -> Check:
    """Passed only where derived inputs were run, as far as there are any, and time did not end first."""
    of = "" if tally.complete else f" of {before + tally.planned}"
    failed = any(evidence.witnessed for evidence in judge.evidence)
    detail = f"{before + tally.ran}{of} inputs, values {'beyond' if failed else 'within'} both bounds"
    why = [tally.missing()] if tally.missing() else []
    why += [f"derived ones at {large} sets of shapes, too large for them"] if large else []
    detail += f"; not run: {', '.join(why)}" if why else ""
    unrun = tally.late or ((large or tally.planned) and not tally.ran)
    return Check(CHECK, False if failed else None if unrun else True, detail)


def _at(judge: Judge, pair: Pair, few: bool, tally: Tally) -> None:
    """The derived inputs of one set of shapes; once time is out they are only counted."""
    declared = ranges.declared(judge.options.inputs, pair)
    for name in _named(pair, few):
        arrays = ranges.within(inputs.make(name, pair.inputs, judge.options.seed), pair.inputs, declared)
        done = attempt(judge, pair, name, arrays, tally)
        if done is not None and name == "zeros and ones":
            _guard(judge, guards.zero_one(pair, done))
    for label, arrays in _outside(judge, pair, declared, few):
        attempt(judge, pair, label, arrays, tally, one_sided=False)
    if tally.late:
        tally.planned += len(magnitudes.of(pair))
        return
    try:
        for arrays in magnitudes.sets(pair, judge.runner, judge.options.seed, frozenset(declared)):
            attempt(judge, pair, magnitudes.LABEL, arrays, tally, one_sided=False)
    except OutOfTime:
        tally.late, tally.planned = True, tally.planned + 1


def _again(judge: Judge) -> None:
    """What the fingerprints were taken on, where decisions may explain how values differ: ties count in tests alone."""
    loose = [e for e in judge.evidence if e.max_abs and not (e.equal["exact"] or e.equal["reassociated"])]
    if not loose or any(e.witnessed for e in judge.evidence):
        return
    counts = _tests(judge)
    for number, pair in enumerate(judge.pairs):
        if pair.size <= MOST_ELEMENTS and (ties.decides(pair.a) or ties.decides(pair.b)) and not judge.late():
            label = "random" if number else "given"
            compared(judge, pair, label, pair.inputs, Tally(), one_sided=False)
    for evidence in judge.evidence:
        evidence.tests = counts  # no inputs more


def _ranges_at_given(judge: Judge, tally: Tally) -> None:
    """Integers whose range follows a dimension have fewer values where it is small: the others, at the given shapes.

    Equal words are no reason to leave them out: they are about the given integers.
    """
    given = judge.pairs[0]
    declared = ranges.declared(judge.options.inputs, given)
    tested = judge.tested()
    if any(pair is given for pair in tested) or given.size > MOST_ELEMENTS:
        return
    smaller = [ranges.declared(judge.options.inputs, pair) for pair in tested]
    wider = {n: r for n, r in declared.items() if all(s[n].high < r.high for s in smaller if n in s)}
    blocks, few = steps(given, whole(given)), given.size > FEW_MORE
    for label, arrays in swept.sets(given.inputs, wider, blocks, judge.options.seed, few):
        attempt(judge, given, label, arrays, tally, one_sided=False)


def _at_given(judge: Judge, tally: Tally) -> None:
    """Where only other sets of shapes tell the two apart, what else is to be said of the given one."""
    given = judge.pairs[0]
    failed = {id(failure.run.pair) for evidence in judge.evidence for failure in evidence.witnessed}
    tested = any(pair is given for pair in judge.tested())
    if failed and id(given) not in failed and not tested and given.size <= MOST_ELEMENTS:
        _at(judge, given, given.size > FEW_MORE, tally)


def _named(pair: Pair, few: bool) -> list[str]:
    """The names of sets derived from the given values; nothing is derived where no input holds floats."""
    if not any(inputs.is_float(x) for x in pair.inputs.values()):
        return []
    return [*list(inputs.SETS)[:FEW], inputs.MIXED] if few else list(inputs.SETS)


def _outside(
    judge: Judge, pair: Pair, declared: Mapping[str, ranges.Range], few: bool
) -> Iterator[tuple[str, Mapping[str, np.ndarray]]]:
    """Values that need not be in the functions' domain; those of declared ranges stay in them."""
    seed = judge.options.seed
    for arrays in beyond.near(pair.inputs, constants(pair), seed):
        yield beyond.NEAR, ranges.within(arrays, pair.inputs, declared)
    if whole_steps.rounds(pair.a) or whole_steps.rounds(pair.b):
        for arrays in whole_steps.sets(pair.inputs, constants(pair), seed):
            yield whole_steps.LABEL, ranges.within(arrays, pair.inputs, declared)
    literals = whole(pair)
    yield from ranges.integers(pair.inputs, declared, literals, seed)
    yield from ranges.throughout(pair.inputs, declared, literals)
    if declared:
        yield from swept.sets(pair.inputs, declared, steps(pair, literals), seed, few)
    yield from ranges.empty_rows(pair.inputs, seed, ranges.integer_masks(pair.inputs))
    fixed = _fixed_weights(pair)
    for label, arrays in beyond.outside(pair.inputs, seed, frozenset(declared)):
        if label in (beyond.HEAVY, beyond.DRAWN) and fixed:
            judge.assumptions[f"weights were tried at their given sizes only: {fixed}"] = None
        else:
            yield label, arrays


def _fixed_weights(pair: Pair) -> str:
    """Why weights cannot be made larger in both programs alike; '' where they can."""
    sides = ("A", pair.a), ("B", pair.b)
    for side, program in sides:
        derived = program.attrs.get("derived", ())
        if derived:
            return f"{side} holds tensors that may have been computed from them when it was built: {', '.join(derived)}"
    names = [{name for name in program.input_names if name.startswith("weight:")} for _, program in sides]
    return "" if names[0] == names[1] else "they are constants of one side"


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
