"""Runs a pair under `real` until every decision that matters has been seen both ways, and says what is left open.

Takes a Judge in progress; fills its RealState and the real part of its evidence.  One run proves nothing about roots:
agreements over several primes are read together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from equivalence.evaluator import Lanes
from equivalence.evaluator.lanes import INTEGER_DATA
from equivalence.fields.primes import choose
from equivalence.interpretations.depends import Depends
from equivalence.interpretations.real import Real, agree, dismiss, prepare, together
from equivalence.interpretations.real_cell import DATA, cell
from equivalence.judge import inputs
from equivalence.judge.runs import Pair, PairRun
from equivalence.verdicts import Check
from lowering.errors import Span

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

PRIMES = 3
MOST_DRAWS = 12  # of inputs' residues, until every lane was seen without a root of a non-residue
DRAW = 1000  # between the seeds of draws
MOST_LANES = 1 << 16  # input elements up to which derived inputs steer toward unseen outcomes


def run(judge: Judge) -> None:
    """Every set of shapes once; the smallest also under more primes and, while outcomes are unseen, more inputs."""
    judge.real.available = True
    smallest = min(judge.pairs, key=lambda p: p.size)
    primes = choose(judge.options.seed, PRIMES)
    for number, pair in enumerate(judge.pairs):
        if number and judge.late():
            judge.checks.append(Check("real function", None, "not every set of shapes was run: out of time"))
            break
        reals = [_prepared(judge, pair, number + k * DRAW, primes[k % PRIMES]) for k in range(MOST_DRAWS)]
        _compare(judge, pair, reals, pair.inputs, PRIMES if pair is smallest else 1)
        if pair is smallest:
            judge.real.unseen = _steer(judge, pair, reals)
        for real in reals:
            judge.assumptions.update(dict.fromkeys(real.assumptions))


def _prepared(judge: Judge, pair: Pair, number: int, prime: Any) -> Real:
    real, assumed = prepare(pair.a, pair.b, judge.options.seed + number, prime)
    judge.assumptions.update(dict.fromkeys(assumed))
    return real


def _evaluate(judge: Judge, pair: Pair, real: Real, arrays: inputs.Arrays) -> PairRun:
    outcomes = []
    for side, program in (("A", pair.a), ("B", pair.b)):
        real.sites.side = side
        outcomes.append(judge.runner.one(program, [real, Depends()], arrays))
    return PairRun(pair, dict(arrays), outcomes[0], outcomes[1])


def _agreements(judge: Judge, pair: Pair, real: Real, arrays: inputs.Arrays) -> list[Any]:
    done = _evaluate(judge, pair, real, arrays)
    for evidence, (_, a, b) in zip(judge.evidence, done.outputs(), strict=True):
        evidence.integer_values |= _integer_data(a) or _integer_data(b) or real.used_integer_values
    return [agree(real, a, b) for _, a, b in done.outputs()]


def _integer_data(x: Lanes) -> bool:
    """Whether an output is an integer computed from values of integer inputs."""
    return x.dtype.is_integer and x.taint == INTEGER_DATA and x.planes is not None and cell(x).has(DATA)


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
    return [whole.equal for whole in wholes]


def _share(judge: Judge, pair: Pair, reals: list[Real]) -> None:
    """Dismisses the choices that both sides make alike: those with an unseen outcome alone, or all of them together."""
    choices = reals[0].choices()
    missing = {key for key, *_ in reals[0].unseen()} & choices
    if not missing:
        return
    for keys in (missing, choices):
        if _alike_whatever_is_chosen(judge, pair, reals, keys):
            reals[0].dismiss_choices(keys)
            break


def _alike_whatever_is_chosen(judge: Judge, pair: Pair, reals: list[Real], keys: set[str]) -> bool:
    """Whether the two sides agree when every extremum is an arbitrary function of its operands, the same on both.

    So the clamp that both apply to one value, which no input reaches, need not be seen both ways.
    """
    for real in reals:
        real.alike = keys
    try:
        return all(_equal(judge, pair, reals, pair.inputs, PRIMES))
    finally:
        for real in reals:
            real.alike = set()


def _steer(judge: Judge, pair: Pair, reals: list[Real]) -> list[tuple[Span, str]]:
    """Derived inputs until nothing is unseen; then the choices that move no output are dismissed."""
    real = reals[0]
    if pair.size <= MOST_LANES:
        for _, arrays in inputs.sets(pair.inputs, judge.options.seed, inputs.STEERING):
            if not real.unseen() or judge.late():
                break
            _compare(judge, pair, reals, arrays)

    def outputs() -> list[Lanes]:
        """Those that a choice can move: an index has no planes."""
        done = _evaluate(judge, pair, real, pair.inputs)
        return [lanes for _, a, b in done.outputs() for lanes in (a, b) if lanes.planes is not None]

    if real.unseen():
        dismiss(real, outputs)
    _share(judge, pair, reals)
    return [(span, outcome) for _, outcome, span in real.unseen()]
