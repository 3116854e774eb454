"""Differential tests: derived inputs at the smallest set of shapes, values against both error bounds.

Takes a Judge in progress; adds tests, failures and a check to its evidence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from equivalence.evaluator.frame import OutOfTime
from equivalence.interpretations.depends import Depends
from equivalence.interpretations.hazards import Hazards
from equivalence.interpretations.real import constants_of
from equivalence.judge import boundaries, guards, inputs, magnitudes, overflowed, ranges, ties, undefined
from equivalence.judge.compare import Comparison, compare
from equivalence.judge.evidence import Failure
from equivalence.judge.planes import value
from equivalence.judge.runs import Pair, PairRun
from equivalence.judge.tally import Tally
from equivalence.verdicts import Check, Finding

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

MOST_ELEMENTS = 1 << 22  # of the inputs: beyond, a pair is only compared as given
FEW, FEW_FROM = 6, 1 << 16  # the most telling derived inputs only, where even the smallest shape is large
FEW_MORE = 1 << 14  # the same for shapes beside the smallest
LARGE = ("a hundred times as large", "ties", "far below zero")
MOST_EDGED = 1 << 17
MOST_LITERALS = 64  # of one constant array
CHECK = "differential tests"


@dataclass(frozen=True, slots=True)
class Tested:
    """One test: what its outputs show, and where they follow undefined values, before any of it is evidence."""

    run: PairRun
    seen: list[Comparison]
    moved: dict[int, dict[str, Failure]]

    @property
    def on_path(self) -> bool:
        return self.run.on_path


def run(judge: Judge) -> None:
    """All derived inputs at the smallest set of shapes and where others reach more; says how many there were."""
    tally, before, large = Tally(), _tests(judge), 0
    for number, pair in enumerate(judge.tested()):
        if pair.size > MOST_ELEMENTS:
            large += 1
            _at_large(judge, pair, tally)
            continue
        _at(judge, pair, pair.size > (FEW_MORE if number else FEW_FROM), tally)
    _cancelling(judge, tally)
    _edges(judge, tally)
    _boundaries(judge, tally)
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
        tally.planned += 1
        tally.late |= judge.late()
        done = None
        if not tally.late:
            arrays = ranges.within(inputs.make(name, pair.inputs, judge.options.seed), pair.inputs, declared)
            done = _compared(judge, pair, name, arrays, tally)
        if done is not None and name == "zeros and ones":
            _guard(judge, guards.zero_one(pair, done))
    for label, arrays in _outside(judge, pair, declared):
        tally.planned += 1
        tally.late |= judge.late()
        _compared(judge, pair, label, arrays, tally, one_sided=False)
    if tally.late:
        tally.planned += len(magnitudes.of(pair))
        return
    try:
        for arrays in magnitudes.sets(pair, judge.runner, judge.options.seed, frozenset(declared)):
            tally.planned += 1
            tally.late |= judge.late()
            _compared(judge, pair, magnitudes.LABEL, arrays, tally, one_sided=False)
    except OutOfTime:
        tally.late, tally.planned = True, tally.planned + 1


def _at_large(judge: Judge, pair: Pair, tally: Tally) -> None:
    """The few sets that tell most, where none smaller comes to what is run here."""
    declared = ranges.declared(judge.options.inputs, pair)
    for name in LARGE if any(inputs.is_float(x) for x in pair.inputs.values()) else ():
        tally.planned += 1
        tally.late |= judge.late()
        if not tally.late:
            arrays = ranges.within(inputs.make(name, pair.inputs, judge.options.seed), pair.inputs, declared)
            _compared(judge, pair, name, arrays, tally)


def _at_given(judge: Judge, tally: Tally) -> None:
    """Where only other sets of shapes tell the two apart, what else is to be said of the given one."""
    given = judge.pairs[0]
    failed = {id(failure.run.pair) for evidence in judge.evidence for failure in evidence.witnessed}
    tested = any(pair is given for pair in judge.tested())
    if failed and id(given) not in failed and not tested and given.size <= MOST_ELEMENTS:
        _at(judge, given, given.size > FEW_MORE, tally)


def _cancelling(judge: Judge, tally: Tally) -> None:
    """Equal values at extents that are no powers of two, where their sums are rounded."""
    pair = min(judge.pairs, key=lambda p: (_exact_extents(p), p.size))
    if pair is judge.tested()[0] or pair.size > FEW_FROM or not any(inputs.is_float(x) for x in pair.inputs.values()):
        return
    declared = ranges.declared(judge.options.inputs, pair)
    for name in inputs.EQUAL:
        tally.planned += 1
        tally.late |= judge.late()
        arrays = ranges.within(inputs.make(name, pair.inputs, judge.options.seed), pair.inputs, declared)
        _compared(judge, pair, name, arrays, tally)


def _edges(judge: Judge, tally: Tally) -> None:
    """Each lane beside which blocks meet, at the smallest set of shapes and at the given one, whose blocks are real."""
    smallest, given = judge.tested()[0], judge.pairs[0]
    for pair in [smallest] if given is smallest or id(given) in judge.proved else [smallest, given]:
        if pair.size > MOST_EDGED:
            continue
        declared = ranges.declared(judge.options.inputs, pair)
        for arrays in inputs.edges(pair.inputs, _steps(pair, _whole(pair))):
            tally.planned += 1
            tally.late |= judge.late()
            kept = ranges.within(arrays, pair.inputs, declared)
            _compared(judge, pair, inputs.EDGES, kept, tally, one_sided=False)


def _boundaries(judge: Judge, tally: Tally) -> None:
    """Beside the points at which a decision of either side turns; words that are equal compare the same things."""
    shown = [e.equal["exact"] or e.equal["reassociated"] for e in judge.evidence]
    if any(e.witnessed for e in judge.evidence) or all(shown):
        return
    for arrays in boundaries.sets(judge, judge.tested()[0]):
        tally.planned += 1
        tally.late |= judge.late()
        _compared(judge, judge.tested()[0], boundaries.LABEL, arrays, tally, one_sided=False)


def _exact_extents(pair: Pair) -> int:
    """How many extents of the inputs are powers of two: that many equal terms add up exactly."""
    return sum(n > 1 and n & (n - 1) == 0 for name, x in pair.inputs.items()
               if not name.startswith("weight:") for n in x.shape)  # fmt: skip


def _named(pair: Pair, few: bool) -> list[str]:
    """The names of sets derived from the given values; nothing is derived where no input holds floats."""
    if not any(inputs.is_float(x) for x in pair.inputs.values()):
        return []
    return list(inputs.SETS)[: FEW if few else None]


def _outside(
    judge: Judge, pair: Pair, declared: Mapping[str, ranges.Range]
) -> Iterator[tuple[str, Mapping[str, np.ndarray]]]:
    """Values that need not be in the functions' domain; those of declared ranges stay in them."""
    seed = judge.options.seed
    for arrays in inputs.near(pair.inputs, constants(pair), seed):
        yield inputs.NEAR, ranges.within(arrays, pair.inputs, declared)
    literals = _whole(pair)
    yield from ranges.integers(pair.inputs, declared, literals, seed)
    yield from ranges.throughout(pair.inputs, declared, literals)
    yield from ranges.empty_rows(pair.inputs, seed)
    fixed = _fixed_weights(pair)
    for label, arrays in inputs.outside(pair.inputs, seed, frozenset(declared)):
        if label == inputs.HEAVY and fixed:
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


def _compared(
    judge: Judge, pair: Pair, label: str, arrays: Mapping[str, np.ndarray], tally: Tally, one_sided: bool = True
) -> PairRun | None:
    """One more test of every output; None where the inputs cannot be run, or take the host elsewhere."""
    test = tally.attempt(lambda: _tested(judge, pair, label, arrays))
    if test is None or (label in ranges.INTEGERS and test.moved):  # a smaller table has no place for such an index
        return None
    if label in inputs.BEYOND:
        one_sided = _finite(test.run)
    one_sided |= label in ranges.IN_DOMAIN
    for evidence, seen in zip(judge.evidence, test.seen, strict=True):
        evidence.add_test(test.run, label, seen, one_sided)
        if label in inputs.USUAL:
            evidence.count_turns(test.run)
            evidence.count_unsure(seen)
    if label in inputs.EQUAL:
        _below_zero(judge, test.run)
    _undefined(judge, test.moved)
    return test.run


def _finite(done: PairRun) -> bool:
    """Whether A's outputs are numbers throughout: then the inputs are in its domain."""
    return all(np.isfinite(value(a).astype(np.float64)).all() for _, a, _ in done.outputs() if a.dtype.is_float)


def _tested(judge: Judge, pair: Pair, label: str, arrays: Mapping[str, np.ndarray]) -> Tested:
    done = ties.run(judge.runner, pair, judge.error(pair), arrays)
    if not done.on_path:
        return Tested(done, [], {})
    seen = [compare(a, b, ()) for _, a, b in done.outputs()]
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
        _compared(judge, pair, label, arrays, Tally(), one_sided=False)


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


def _steps(pair: Pair, literals: Sequence[int]) -> list[int]:
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


def _whole(pair: Pair) -> list[int]:
    """Every integer literal of either program: padding indices, labels that are left out."""
    found: set[int] = set()
    for op in (op for program in (pair.a, pair.b) for op in program.walk()):
        if op.name == "constant" and op.results[0].type.dtype.is_integer:
            found.update(int(v) for v in np.unique(np.asarray(op.attrs["value"]))[:MOST_LITERALS])
    return sorted(found)
