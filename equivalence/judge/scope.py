"""What a verdict rests on, in words, and where the two programs part.

Takes pairs and evidence; gives assumptions and a Divergence.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from equivalence.evaluator.frame import DEADLINE
from equivalence.judge import undefined
from equivalence.judge.evidence import Evidence
from equivalence.judge.inputs import is_float
from equivalence.judge.planes import plane, value
from equivalence.judge.runs import Pair, PairRun, Runner
from equivalence.judge.structure import scaled
from equivalence.verdicts import Divergence, Level, Report
from lowering.errors import IrverifyError, Span
from lowering.ir.program import Program

if TYPE_CHECKING:
    from equivalence.divergence.runs import Wanted

#: What an evaluator sees of a program that breaks its own rules: a device may do anything then, or stops.
FAULTS = frozenset({"out-of-bounds", "false-promise", "assert-fails"})
#: What is looked for where a verdict is weaker than bitwise: the words or values that part.
WANTED: dict[Level, Wanted] = {Level.REASSOCIATED: "exact", Level.REAL: "reassociated", Level.DIFFERENT: "ieee"}
TRACED = 1 << 18  # input elements up to which the first failure is traced rather than a smaller one
EXPLAIN_SECONDS = 20.0  # of runs that look for the place of a difference


#: What was done at the sets of shapes that count, where it was more than running them.
DONE = {
    Level.BITWISE: "proved",
    Level.REASSOCIATED: "proved",
    Level.REAL: "examined",
    Level.CLOSE: "examined",
    Level.TESTED: "compared",
}


def assumptions(pairs: Sequence[Pair], level: Level) -> list[str]:
    """Scope that every verdict has, and what the sources leave open.  Words are equal at all pairs or nowhere."""
    given = pairs[0]
    where = f"{len(pairs)} set{'' if len(pairs) == 1 else 's'} of shapes"
    lines = [f"inputs are finite; {DONE.get(level, 'run')} at {where}"]
    whole = [name for name, x in given.inputs.items() if not is_float(x)]
    if whole:
        lines.append(f"integer inputs have the given values: {', '.join(whole)}")
    for side, program in (("A", given.a), ("B", given.b)):
        lines += [f"{side}: {note}" for note in program.notes]
        lines += [f"{side}: {note}" for kernel in program.kernels.values() for note in kernel.attrs.get("notes", ())]
    return list(dict.fromkeys(lines))


def failing(run: PairRun, runner: Runner) -> dict[str, str]:
    """The sides that fail at these shapes ('A', 'B'), in words: one leaves its buffers, breaks a promise, or has an
    output that depends on undefined lanes.

    A side that fails at other shapes than the given ones is specialised: these do not count (SEMANTICS §9).
    """
    found: dict[str, str] = {}
    for side, outcome in (("A", run.a), ("B", run.b)):
        outside = next((event for event in outcome.events if event.code in FAULTS), None)
        if outside is not None:
            found[side] = f"{side} fails: {outside.what} at {outside.span}"
    poisoned = any(plane(x, "poison").any() for _, a, b in run.outputs() for x in (a, b))
    for sides in undefined.influence(run, runner, "random").values() if poisoned else ():
        for side in (side.upper() for side in sides):
            found.setdefault(side, f"{side} leaves part of an output undefined")
    return found


def silent(failing: Mapping[str, str], given: Pair, pair: Pair) -> bool:
    """Whether B alone fails where A works and neither refuses: an error of B, as it is at the given shapes.

    Not where sizes that are equal at the given shapes are not: that B takes them for one size is its scope.
    """
    return set(failing) == {"B"} and scaled(given, pair)


def numberless(run: PairRun, given: PairRun) -> str:
    """The output in which A gives an infinity or a NaN at these shapes, as it does not at the given ones; '' for none.

    A row of a window that ends before it, where queries outnumber keys: such a shape is none that A is for.
    """
    for (name, a, _), (_, at_given, _) in zip(run.outputs(), given.outputs(), strict=True):
        if a.dtype.is_float and np.isfinite(value(at_given)).all() and not np.isfinite(value(a)).all():
            return "" if _apart(run) else f"{name} has no number everywhere in A"
    return ""


def _apart(run: PairRun) -> bool:
    """Whether numbers of both sides are further apart than rounding explains: then the set counts all the same."""
    for _, a, b in run.outputs():
        x, y = value(a).astype(np.float64), value(b).astype(np.float64)
        with np.errstate(all="ignore"):
            beyond = np.abs(x - y) > plane(a, "bound") + plane(b, "bound")
        if (beyond & np.isfinite(x) & np.isfinite(y)).any():
            return True
    return False


def draws(program: Program) -> frozenset[tuple[Any, ...]]:
    """The random numbers that reach something: named draws of torch's generators, and constants drawn by the host."""
    named = {(op.attrs["dist"], op.attrs["stream"], op.attrs["to"]) for op in program.walk() if op.name == "random"}
    return frozenset(named) | {("host", name) for name in program.attrs.get("draws", ())}


def by_host(draws: frozenset[tuple[Any, ...]]) -> frozenset[tuple[Any, ...]]:
    """Those that a host drew for itself: what it did with them need not be part of the program."""
    return frozenset(draw for draw in draws if draw[0] == "host")


def streams_differ(a: set[int], b: set[int]) -> bool:
    """Whether two counter-based generators were run at other counters or keys (padding lanes may differ)."""
    if not a or not b:
        return bool(a) != bool(b)
    return len(a & b) < 0.9 * min(len(a), len(b))


def divergence(
    pairs: Sequence[Pair], report: Report, position: int | None, evidence: Sequence[Evidence]
) -> Divergence | None:
    """The earliest values that part; None for bitwise pairs, or when nothing can be named."""
    verdict = report.verdict
    if verdict.level is Level.BITWISE:
        return None
    if verdict.level is Level.UNDECIDED and verdict.reason.startswith("random streams"):
        what = "the two draw random numbers from streams that cannot be matched: nothing further is compared"
        return Divergence(drawn(pairs[0].a), drawn(pairs[0].b), what)
    if position is not None:
        failures = evidence[position].witnessed
        small = [f for f in failures if f.run.pair.size <= TRACED]
        failure = failures[0] if failures[0] in small or not small else small[0]
        tried = [(failure.run.pair, failure.run.inputs, failure.index)]
    else:
        tried = [(pair, pair.inputs, None) for pair in sorted(pairs, key=lambda p: p.size)]
    return _explained(tried, position, WANTED.get(verdict.level, "real"))


def _explained(tried: Sequence[tuple[Pair, Any, Any]], position: int | None, wanted: Wanted) -> Divergence | None:
    """At the first of the pairs where something parts; some may agree where others do not."""
    from equivalence.divergence import NOTHING, explain

    found: Divergence | None = None
    token = DEADLINE.set(time.monotonic() + EXPLAIN_SECONDS)
    try:
        for pair, arrays, element in tried:
            found = explain(pair.a, pair.b, dict(arrays), dict(arrays), position, element, level_wanted=wanted)
            if found.what != NOTHING:
                break
    except IrverifyError:
        return found
    finally:
        DEADLINE.reset(token)
    return found


def drawn(program: Program) -> Span | None:
    """Where a program draws its random numbers: torch's generators, or a counter-based one's arithmetic."""
    generators = ("random", "mulhi")
    places = [(op.name, op.span) for op in program.walk() if op.name in generators and op.span.line]
    return next((span for name in generators for made, span in places if made == name), None)


def kernels(program: Program) -> list[str]:
    return list(program.kernels)
