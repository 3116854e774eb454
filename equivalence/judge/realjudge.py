"""Runs a pair under `real` until every decision that matters has been seen both ways, and says what is left open.

Takes a Judge in progress; fills its RealState and the real part of its evidence.  One run proves nothing about roots:
agreements over several primes are read together.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from equivalence.evaluator import Lanes
from equivalence.evaluator.frame import OutOfTime
from equivalence.evaluator.lanes import INTEGER_DATA
from equivalence.fields.primes import choose
from equivalence.interpretations.depends import Depends
from equivalence.interpretations.real import Real, agree, prepare, together
from equivalence.interpretations.real_cell import CONCRETE, DATA, LITERAL, cell
from equivalence.interpretations.real_followed import Followed
from equivalence.interpretations.real_reach import Reached
from equivalence.judge import beyond, inputs, ranges, testing
from equivalence.judge.exclusion import exclude
from equivalence.judge.fitting import fitting
from equivalence.judge.redrawn import redrawn, zeros
from equivalence.judge.runs import Pair, PairRun
from equivalence.judge.steering import Steering
from equivalence.verdicts import Check
from lowering.errors import UNKNOWN_SPAN, Span

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

PRIMES = 3
#: Sets on which computed values tie though their residues differ: a mismatch there says nothing, nor does an outcome.
DEGENERATE = frozenset(["zero", "all equal", "tiny", "minute", inputs.MASKED, beyond.PAST, *beyond.BEYOND])
MOST_DRAWS = 12  # of inputs' residues, until every lane was seen without a root of a non-residue
MOST_VOID = 0.5  # of an output's lanes on the given inputs that may be no numbers on either side
DRAW = 1000  # between the seeds of draws
MOST_MORE = 1 << 15  # input elements of a set of shapes that is steered beside the smallest
WATCHED = frozenset(["a hundred times as large", "negative", "positive"])  # where only a large set of shapes leads
MOST_LANES = 1 << 16  # input elements up to which derived inputs steer toward unseen outcomes


def run(judge: Judge) -> None:
    """Every set of shapes once; the smallest also under more primes and, while outcomes are unseen, more inputs.

    So is every set of shapes that reaches more of the programs than smaller ones, where that is affordable.  A set of
    shapes for which no time is left counts only where its words are equal; without the smallest nothing is shown.
    """
    judge.real.available = True
    steered = [pair for number, pair in enumerate(judge.tested()) if not number or pair.size <= MOST_MORE]
    primes, every = choose(judge.options.seed, PRIMES), list(judge.pairs)
    for number, pair in enumerate(every):
        try:
            if number and judge.late():
                raise OutOfTime(UNKNOWN_SPAN)
            _examine(judge, pair, number, primes, steered=any(pair is other for other in steered))
        except OutOfTime:
            _leave(judge, every, number)
            judge.real.available &= not any(pair is steered[0] for pair in every[number:])
            return
    _watch(judge, steered, primes)
    judge.real.late |= bool(judge.real.unseen) and judge.late()


def _watch(judge: Judge, steered: Sequence[Pair], primes: Sequence[Any]) -> None:
    """Decisions that only a large set of shapes comes to: what is not seen there, on few inputs, is not seen."""
    for number, pair in enumerate(judge.tested()):
        if any(pair is other for other in steered):
            continue
        try:
            if judge.late():
                raise OutOfTime(UNKNOWN_SPAN)
            real = _prepared(judge, pair, number, fitting(pair, primes, judge.options.seed)[0])
            real.masks, real.spread = zero_one(pair.inputs), inputs.unflagged(pair.inputs)
            real.ranges = _integer_ranges(judge, pair)
            _compare(judge, pair, [real], pair.inputs)
            unseen = _steer(judge, pair, [real], WATCHED)
        except OutOfTime:
            said = f"decisions at {in_words(pair)} were not looked at: out of time"
            judge.checks.append(Check("real function", None, said))
            judge.real.late = True
            return
        judge.real.unseen = [*(judge.real.unseen or []), *(one for one in unseen if one[0] not in judge.real.sites)]


def in_words(pair: Pair) -> str:
    return ", ".join(f"{n}[{','.join(map(str, x.shape))}]" for n, x in pair.inputs.items() if ":" not in n)


def _leave(judge: Judge, every: Sequence[Pair], number: int) -> None:
    """Gives up the sets of shapes from ``number`` on; the given one is the first, and without it nothing is shown."""
    judge.real.late = True
    judge.real.available &= number > 0
    said = f"{number} of {len(every)} sets of shapes were examined: out of time"
    judge.checks.append(Check("real function", None, said))
    for pair in every[max(number, 1) :]:
        if id(pair) not in judge.proved:
            judge.uncounted(pair, "not counted: out of time before the real functions were compared there")


def _examine(judge: Judge, pair: Pair, number: int, primes: Sequence[Any], steered: bool) -> None:
    """One set of shapes."""
    masks, declared = zero_one(pair.inputs), _integer_ranges(judge, pair)
    for evidence in judge.evidence:
        evidence.void = None
    judge.assumptions.update(dict.fromkeys(f"{name} is a mask: it holds only 0 and 1" for name in sorted(masks)))
    fit = fitting(pair, primes, judge.options.seed)
    reals = [_prepared(judge, pair, number + k * DRAW, fit[k % len(fit)]) for k in range(MOST_DRAWS)]
    for real in reals:
        real.masks, real.ranges = masks, declared
        real.spread, real.sites.off = inputs.unflagged(pair.inputs), not steered or real is not reals[0]
    _compare(judge, pair, reals, pair.inputs, PRIMES if steered else 1)
    if masks:
        _compare(judge, pair, reals, shuffled(pair.inputs, masks, judge.options.seed))
    if steered:
        _redraw(judge, pair, reals)
        judge.real.unseen = [*(judge.real.unseen or []), *_steer(judge, pair, reals)]
        judge.real.sites |= {record.span for record in reals[0].sites.values()}
        if _holds_still(pair.inputs, masks):
            for evidence in judge.evidence:
                evidence.real_mismatch |= evidence.void is not None and bool(evidence.void.any())
    for real in reals:
        judge.assumptions.update(dict.fromkeys(real.assumptions))


def _holds_still(arrays: inputs.Arrays, masks: Collection[str]) -> bool:
    """Whether some input keeps its values though it is no mask that is drawn anew: lengths, flags of float type.

    What they make no number on the given inputs was then never compared.
    """
    others = [x for name, x in arrays.items() if name not in masks and x.dtype.kind != "b"]
    return any(inputs.is_flag(x.astype(np.float64)) if inputs.is_float(x) else True for x in others)


def _redraw(judge: Judge, pair: Pair, reals: list[Real]) -> None:
    """On other integers, where all of them are compared: as long as some output is to be shown."""
    first = reals[0]
    if first.used_integer_values or first.rests_on_values:
        return
    declared = ranges.declared(judge.options.inputs, pair)
    kept = first.masks | {name for name, r in declared.items() if not r.drawable}
    for arrays in redrawn(pair.inputs, first, first.ranges, kept, judge.options.seed):
        if all(e.real_mismatch for e in judge.evidence):
            return
        if judge.late():
            judge.real.late, judge.real.available = True, False
            return
        _compare(judge, pair, reals, arrays)
    arrays = zeros(pair.inputs, first, first.ranges, kept, judge.options.seed)
    if arrays is not None and not judge.late():
        seen = first.sites.snapshot()
        for evidence, (_, a, b) in zip(judge.evidence, _evaluate(judge, pair, first, arrays).outputs(), strict=True):
            evidence.real_mismatch |= bool((_is_nan(a) != _is_nan(b)).any())
        first.sites.restore(seen)


def _is_nan(x: Lanes) -> np.ndarray:
    return np.zeros((), bool) if x.planes is None else x.full(np.isnan(cell(x).sample))


def _integer_ranges(judge: Judge, pair: Pair) -> dict[str, tuple[int, int]]:
    """The first and the last integer of the inputs whose range was declared."""
    return {name: r.integers for name, r in ranges.declared(judge.options.inputs, pair).items() if r.drawable}


def zero_one(arrays: inputs.Arrays) -> set[str]:
    """Integer inputs with both values of a mask and no other."""
    whole = {name: x for name, x in arrays.items() if x.dtype.kind in "iu" and x.size >= ranges.LEAST_MASK}
    return {name for name, x in whole.items() if set(np.unique(x).tolist()) == {0, 1}}


def shuffled(arrays: inputs.Arrays, names: Collection[str], seed: int) -> inputs.Arrays:
    """The same inputs with other masks: one that repeats itself along an axis hides which of its elements is read."""
    rng = np.random.default_rng([seed, *b"masks"])
    mixed = {name: rng.permutation(arrays[name].reshape(-1)).reshape(arrays[name].shape) for name in sorted(names)}
    return {**arrays, **mixed}


def _prepared(judge: Judge, pair: Pair, number: int, prime: Any) -> Real:
    real, assumed = prepare(pair.a, pair.b, judge.options.seed + number, prime)
    judge.assumptions.update(dict.fromkeys(assumed))
    return real


def _evaluate(judge: Judge, pair: Pair, real: Real, arrays: inputs.Arrays) -> PairRun:
    if real.sites.off and judge.runner.apart(pair):
        twin = real.twin()
        real.sites.side, twin.sites.side = "A", "B"
        sides = [[own, Depends(marks=False), *_following(own)] for own in (real, twin)]
        a, b = judge.runner.side_by_side(pair, sides[0], sides[1], arrays)
        real.absorb(twin)
        return PairRun(pair, dict(arrays), a, b)
    outcomes = []
    for side, program in (("A", pair.a), ("B", pair.b)):
        real.sites.side = side
        reached = [Reached(real.sites)] if real.sites.traced and not real.sites.off else []
        outcome = judge.runner.one(program, [real, Depends(marks=False), *reached, *_following(real)], arrays)
        for each in reached:
            each.collect(outcome.outputs.values())
        outcomes.append(outcome)
    if not (real.sites.traced or real.sites.off):
        real.sites.trace()
    return PairRun(pair, dict(arrays), outcomes[0], outcomes[1])


def _following(real: Real) -> list[Followed]:
    """Where choices are replaced it matters what goes by them."""
    return [Followed(real)] if real.free or real.alike else []


def _agreements(judge: Judge, pair: Pair, real: Real, arrays: inputs.Arrays) -> list[Any]:
    done = _evaluate(judge, pair, real, arrays)
    for evidence, (_, a, b) in zip(judge.evidence, done.outputs(), strict=True):
        evidence.integer_values |= _integer_data(a) or _integer_data(b) or real.used_integer_values
        evidence.integer_values |= real.rests_on_values
        inexact = real.given | real.numbers  # a float may have rounded them
        evidence.symbolic &= not (inexact & (real.bits.inputs_of(a) | real.bits.inputs_of(b)))
        evidence.symbolic &= _of_symbols(a) and _of_symbols(b)
    judge.real.unread |= real.tables["A"] != real.tables["B"]
    return [agree(real, a, b) for _, a, b in done.outputs()]


def _integer_data(x: Lanes) -> bool:
    """Whether an output is an integer computed from values of integer inputs."""
    return x.dtype.is_integer and x.taint == INTEGER_DATA and x.planes is not None and cell(x).has(DATA)


def _of_symbols(x: Lanes) -> bool:
    """Whether every lane is a function of all values that integer inputs can have, or a literal."""
    if x.planes is None:
        return True
    mark = cell(x).mark
    return not (((mark & DATA) != 0) | ((mark & (CONCRETE | LITERAL)) == CONCRETE)).any()


def _compare(judge: Judge, pair: Pair, reals: list[Real], arrays: inputs.Arrays, least: int = 1) -> None:
    """Agreements on one set of inputs, under ``least`` draws and as many more as stubborn lanes need.

    Lanes that agree on other inputs do not count: there, decisions may have gone the other way.
    """
    for evidence, equal in zip(judge.evidence, _equal(judge, pair, reals, arrays, least), strict=True):
        evidence.real_runs += least
        evidence.real_mismatch |= not equal


def _equal(judge: Judge, pair: Pair, reals: list[Real], arrays: inputs.Arrays, least: int) -> list[bool]:
    """Which outputs agree, with logarithms as homomorphisms or, failing that, with opaque ones."""
    equal = _under(judge, pair, reals, arrays, least)
    if all(equal) or judge.late():
        return equal
    for real in reals:
        real.opaque_logarithms = True
    try:
        again = _under(judge, pair, reals, arrays, least)
    finally:
        for real in reals:
            real.opaque_logarithms = False
    return [a or b for a, b in zip(equal, again, strict=True)]


def _under(judge: Judge, pair: Pair, reals: list[Real], arrays: inputs.Arrays, least: int) -> list[bool]:
    found: list[list[Any]] = []
    wholes: list[Any] = []
    for number, real in enumerate(reals):
        found.append(_agreements(judge, pair, real, arrays))
        wholes = [together(list(column)) for column in zip(*found, strict=True)]
        if number + 1 >= least and (judge.late() or all(w.equal or w.mismatch.any() for w in wholes)):
            break
    for evidence, whole in zip(judge.evidence, wholes, strict=True):
        evidence.void = whole.void if evidence.void is None else evidence.void & whole.void
    given = arrays is pair.inputs
    if not given:
        return [whole.equal or whole.equal_residues for whole in wholes]
    return [whole.equal and float(whole.void.mean() if whole.void.size else 0) <= MOST_VOID for whole in wholes]


def _steer(judge: Judge, pair: Pair, reals: list[Real], only: Collection[str] = ()) -> list[tuple[Span, str]]:
    """What no derived input has shown, the sites that do not matter left out; ``only``: of these sets."""

    def compare(name: str, arrays: inputs.Arrays) -> None:
        before, void = [e.real_mismatch for e in judge.evidence], [e.void for e in judge.evidence]
        seen = reals[0].sites.snapshot()
        for real in reals:
            real.strayed = False
        _compare(judge, pair, reals, arrays)
        if before == [e.real_mismatch for e in judge.evidence]:
            return
        if name not in DEGENERATE or name == beyond.PAST:
            testing.outside(judge, pair, name, arrays)
        if name not in DEGENERATE and not any(real.strayed for real in reals):
            return
        for evidence, mismatch, none in zip(judge.evidence, before, void, strict=True):
            evidence.real_mismatch, evidence.void = mismatch, none
        reals[0].sites.restore(seen)

    def agree_on(arrays: inputs.Arrays, fully: bool) -> bool:
        return all(_equal(judge, pair, reals, arrays, PRIMES if fully else 1))

    def outputs(arrays: inputs.Arrays) -> list[Lanes]:
        """Those that a choice can move: an index has no planes."""
        done = _evaluate(judge, pair, reals[0], arrays)
        return [lanes for _, a, b in done.outputs() for lanes in (a, b) if lanes.planes is not None]

    declared = ranges.declared(judge.options.inputs, pair)

    def keep(arrays: inputs.Arrays) -> inputs.Arrays:
        return ranges.within(arrays, pair.inputs, declared)

    small = pair.size <= MOST_LANES
    outside = list(beyond.outside(pair.inputs, judge.options.seed, frozenset(declared))) if small else []
    steering = Steering(
        reals, pair.inputs, judge.options.seed, compare, agree_on, outputs, judge.late, keep, outside,
        lambda sets: exclude(judge.runner, pair, reals[0], sets),
    )  # fmt: skip
    return steering.run(derived=bool(only) or small, only=only)
