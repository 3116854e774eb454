"""What enclosures of the real functions say about a pair, at the smallest shape.

Takes a Judge in progress.  Each side's output must lie within its own error bound of its real result: a Check, and a
contradiction where it does not.  Disjoint enclosures show that the real functions differ: `close` where `real` has
mismatched, a contradiction where the two were found equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from equivalence.evaluator import Lanes
from equivalence.evaluator.frame import Outcome
from equivalence.interpretations.depends import Depends
from equivalence.interpretations.enclosure import Enclosure, prepare
from equivalence.interpretations.error_meaning import MeantError
from equivalence.judge import inputs
from equivalence.judge.evidence import Evidence, scale_of
from equivalence.judge.planes import plane, value
from equivalence.judge.runs import Pair, PairRun
from equivalence.verdicts import Check
from lowering.errors import IrverifyError, Span
from lowering.ir.program import Op, Program

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

CHECK = "each side within its error bound of the real result"
MOST_ELEMENTS = 1 << 19  # inputs beyond this have no enclosures
SENTINELS = "finite masks"  # under this assumption of `real` finite masks are no numbers
_SLACK = 1 + 2.0**-40  # of bounds, which are f64 themselves
_OPAQUE_MATH = frozenset(["sin", "cos", "tan", "asin", "acos", "atan", "atan2", "erf", "erfc", "erfinv", "lgamma",
                          "digamma"])  # fmt: skip


@dataclass(frozen=True, slots=True)
class Distance:
    """How far one side's output is from its enclosure: the largest share of its bound, and the worst lane."""

    ratio: float
    index: tuple[int, ...]
    value: float
    real: tuple[float, float]
    bound: float
    lanes: int  # that could be judged
    apart: float  # the largest distance from an enclosure, absolute

    @property
    def broken(self) -> bool:
        return self.ratio > _SLACK


def run(judge: Judge) -> None:
    """The check on the given inputs, then the search for a lane where the real functions differ."""
    pair = min(judge.pairs, key=lambda p: p.size)
    wanted = [e for e in judge.evidence if e.real_mismatch and not e.witnessed]
    if all(e.witnessed for e in judge.evidence):
        return
    if pair.size > MOST_ELEMENTS or judge.late():
        judge.checks.append(Check(CHECK, None, "not run: the inputs are too large or time is out"))
        return
    enclosure = prepare(pair.a, pair.b)
    try:
        error = MeantError(enclosure.meaning, target=judge.options.target)
        given = judge.runner.run(pair, [enclosure, Depends(marks=False), error], pair.inputs)
    except IrverifyError as error:
        judge.checks.append(Check(CHECK, None, f"not run: {error}"))
        return
    judge.checks.append(check(judge, given))
    meet(judge, given)
    if wanted:
        judge.real.delta = separated(judge, pair, enclosure, given, wanted)
        judge.real.opaque = opaque_site(pair.a) or opaque_site(pair.b)


# -- each side against its real result ---------------------------------------------------------------------------


def check(judge: Judge, done: PairRun) -> Check:
    """One Check over all outputs of both sides; a broken bound is noted in the output's evidence."""
    largest, judged = 0.0, 0
    for evidence, (name, a, b) in zip(judge.evidence, done.outputs(), strict=True):
        for side, lanes, outcome in (("A", a, done.a), ("B", b, done.b)):
            found = None if steered(outcome) else distance(lanes)
            if found is None:
                continue
            largest, judged = max(largest, found.ratio), judged + found.lanes
            evidence.measured[side] = found.apart / scale_of(value(lanes))
            if found.broken:
                evidence.contradiction = words(side, name, found)
    broken = [e.contradiction for e in judge.evidence if e.contradiction]
    if broken:
        return Check(CHECK, False, broken[0])
    if not judged:
        return Check(CHECK, None, "no lane's real result is known")
    return Check(CHECK, True, f"{judged} lanes; the largest error is {largest:.2g} of its bound")


def meet(judge: Judge, done: PairRun) -> None:
    """Outputs found equal whose enclosures do not meet: one of the two is wrong."""
    if steered(done.a) or steered(done.b) or any(a.startswith(SENTINELS) for a in judge.assumptions):
        return
    for evidence, (name, a, b) in zip(judge.evidence, done.outputs(), strict=True):
        if evidence.equal["exact"]:  # one expression: the enclosures may take a constant for two numbers
            continue
        if not (evidence.real_mismatch or evidence.witnessed) and shown_equal(evidence) and gap(a, b) > 0:
            evidence.contradiction = f"{name} was found equal, yet the real results are {gap(a, b):.3g} apart"
            judge.checks.append(Check("real results that meet", False, evidence.contradiction))


def shown_equal(evidence: Evidence) -> bool:
    return evidence.equal["exact"] or evidence.equal["reassociated"] or evidence.real_runs > 0


def steered(outcome: Outcome) -> bool:
    """Whether control or an address followed float data, whose real values might have led elsewhere."""
    return bool(outcome.path_sites)


def distance(lanes: Lanes) -> Distance | None:
    """None where no lane can be judged (unknown, undefined, infinite)."""
    if lanes.planes is None:
        return None
    lo, hi, bound = (plane(lanes, name) for name in ("lo", "hi", "bound"))
    with np.errstate(all="ignore"):
        own = value(lanes).astype(np.float64)
        judged = np.isfinite(own) & np.isfinite(hi - lo) & np.isfinite(bound) & (plane(lanes, "poison") == 0)
        apart = np.maximum(np.maximum(lo - own, own - hi), 0.0)
        ratio = np.where(judged & (apart > 0), apart / bound, 0.0)
    if not judged.any():
        return None
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(ratio)), ratio.shape))
    ends = (float(lo[index]), float(hi[index]))
    most = float(np.max(np.where(judged, apart, 0.0)))
    return Distance(float(ratio[index]), index, float(own[index]), ends, float(bound[index]), int(judged.sum()), most)


def words(side: str, name: str, found: Distance) -> str:
    place = f"{name}[{', '.join(map(str, found.index))}]"
    low, high = found.real
    return (
        f"{side}'s {place} is {found.value:.9g}, its real result lies in [{low:.17g}, {high:.17g}], "
        f"which is {found.ratio:.3g} of its error bound {found.bound:.3g}"
    )


# -- one side against the other ----------------------------------------------------------------------------------


def separated(
    judge: Judge, pair: Pair, enclosure: Enclosure, given: PairRun, wanted: list[Evidence]
) -> dict[str, float]:
    """By output: the largest gap between the two enclosures; only outputs with a gap somewhere."""
    gaps: dict[str, float] = {}
    for done in _runs(judge, pair, enclosure, given):
        if steered(done.a) or steered(done.b):
            continue
        for name, a, b in done.outputs():
            amount = gap(a, b)
            if amount > 0 and any(e.name == name for e in wanted):
                gaps[name] = max(gaps.get(name, 0.0), amount)
        if len(gaps) == len(wanted):
            break
    return gaps


def _runs(judge: Judge, pair: Pair, enclosure: Enclosure, given: PairRun) -> Iterator[PairRun]:
    """The run on the given inputs, then derived ones."""
    yield given
    for _name, arrays in inputs.sets(pair.inputs, judge.options.seed):
        if judge.late():
            return
        yield _enclosed(judge, pair, enclosure, arrays)


def _enclosed(judge: Judge, pair: Pair, enclosure: Enclosure, arrays: Mapping[str, np.ndarray]) -> PairRun:
    return judge.runner.run(pair, [enclosure, Depends(marks=False)], arrays)


def gap(a: Lanes, b: Lanes) -> float:
    """The largest distance between the enclosures of one lane; 0 where they meet everywhere."""
    if a.planes is None or b.planes is None or not a.data.size:
        return 0.0
    (low_a, high_a), (low_b, high_b) = ((plane(x, "lo"), plane(x, "hi")) for x in (a, b))
    with np.errstate(all="ignore"):
        apart = np.maximum(low_a - high_b, low_b - high_a)
    defined = (plane(a, "poison") == 0) & (plane(b, "poison") == 0) & np.isfinite(apart)
    return max(0.0, float(np.max(np.where(defined, apart, 0.0), initial=0.0)))


def opaque_site(program: Program) -> tuple[str, Span] | None:
    """The first operation that `real` cannot see into: (its name, where)."""
    for op in program.walk():
        if op.operands and _opaque(op):
            return str(op.attrs.get("fn", op.name)), op.span
    return None


def _opaque(op: Op) -> bool:
    takes_float = op.operands[0].type.dtype.is_float
    if op.name == "math":
        return op.attrs["fn"] in _OPAQUE_MATH
    if op.name == "cast":
        return takes_float and not op.results[0].type.dtype.is_float and op.attrs["to"] != "i1"
    return op.name == "opaque" or (takes_float and op.name in ("rem", "round", "bitcast"))
