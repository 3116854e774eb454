"""The whole assessment: references, derived tolerances, legal reorderings, then null outputs and mutants.

Takes a Request; gives a TolerancesReport.  B, where there is one, is a candidate among the others, beside A.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from equivalence.evaluator import Outcome
from equivalence.interpretations.summation import Summation
from equivalence.judge.quick import same_terms
from equivalence.mutants.draw import Mutant
from equivalence.tolerance import orders, references
from equivalence.tolerance.battery import battery
from equivalence.tolerance.metrics import distance
from equivalence.tolerance.nulls import nulls
from equivalence.tolerance.references import Draw, Reference
from equivalence.tolerance.result import Failing, TolerancesReport, Trial
from equivalence.tolerance.trials import Bench, Tally, first_refused
from lowering.errors import InternalError, IrverifyError, Unsupported
from lowering.ir.program import Program

Array = np.ndarray
MUTANT_SECONDS = 20.0
OTHER_FILL = 7.0  # of undefined memory, beside 0: an element that follows it is whatever lies there


@dataclass(frozen=True, slots=True)
class Request:
    """``check``: the proposed (rtol, atol); ``deadline`` on the monotonic clock, after which no more is tried.

    ``wrong``: gives up to so many mutants of a program by a seed.
    """

    a: Program
    inputs: dict[str, Array]
    b: Program | None = None
    check: tuple[float, float] | None = None
    seed: int = 0
    draws: int = 3
    mutants: int = 32
    wrong: Callable[[Program, int, int], Iterator[Mutant]] = battery
    deadline: float = math.inf


@dataclass(slots=True)
class Work:
    """What one assessment has so far."""

    request: Request
    drawn: list[Draw] = field(default_factory=list["Draw"])
    found: list[list[Reference]] = field(default_factory=list["list[Reference]"])
    of_b: list[list[Array]] = field(default_factory=list["list[Array]"])

    def late(self) -> bool:
        return time.monotonic() > self.request.deadline


def assess(request: Request) -> TolerancesReport:
    """Derived tolerances, and what a proposed one lets pass or refuses."""
    with np.errstate(all="ignore"):
        work = Work(request)
        notes = list(_refer(work))
        outputs = references.derive(work.found, request.b is not None)
        report = TolerancesReport(outputs, [label for label, _ in work.drawn], [], check=request.check, notes=notes)
        bench = Bench(outputs, request.check)
        _reorder(work, bench, report)
        report.uncovered = _uncovered(work, bench)
        if request.b is not None:
            report.side = _side(work, bench, report)
        report.trials = [*_nulls(work, bench), *_mutants(work, bench, report)]
        if any(t.kind == "null" and t.status != "equivalent" and t.passes["expected"] for t in report.trials):
            report.notes.append(
                "null outputs pass the expected tolerance: the error bounds are too coarse to test with"
            )
        return report


def _refer(work: Work) -> Iterator[str]:
    """Runs the reference on every draw; a draw on which a host that reads data may do something else is left out."""
    request = work.request
    reads: tuple[bytes, ...] | None = None
    for label, arrays in references.draws(request.inputs, request.draws, request.seed):
        a = references.evaluate(request.a, arrays, request.deadline)
        b = None if request.b is None else references.evaluate(request.b, arrays, request.deadline)
        here = a.reads + (b.reads if b is not None else ())
        reads = here if reads is None else reads
        if here != reads:
            yield f"not counted: {label}, on which the host reads something else"
            continue
        work.drawn.append((label, arrays))
        work.found.append(references.references(a, b))
        work.of_b.append([] if b is None else _b_values(work, arrays, a, b))


def _b_values(work: Work, arrays: dict[str, Array], a: Outcome, b: Outcome) -> list[Array]:
    """B's outputs; NaN where they are what happens to lie in memory, and A's are not."""
    found = orders.values(b)
    undefined = [references.lost(x, y) for x, y in zip(a.outputs.values(), b.outputs.values(), strict=True)]
    assert work.request.b is not None
    if not any(mask.any() for mask in undefined):
        return found
    again = orders.values(orders.run(work.request.b, arrays, None, work.request.deadline, OTHER_FILL))
    results = []
    for first, second, mask in zip(found, again, undefined, strict=True):
        with_nan = np.issubdtype(first.dtype, np.inexact) or first.dtype.kind == "V"
        moved = mask & (first != second)
        results.append(np.where(moved, np.asarray(np.nan, first.dtype), first) if with_nan else first)
    return results


# -- legal reorderings -------------------------------------------------------------------------------------------


def _reorder(work: Work, bench: Bench, report: TolerancesReport) -> None:
    """Every order on every draw: within the derived tolerances, and within the proposed one."""
    programs = {"A": work.request.a}
    if work.request.b is not None and not _strays(work, bench):
        programs["B"] = work.request.b
    programs = {side: p for side, p in programs.items() if orders.leaves_open(p)}
    if not programs:
        report.notes.append("no order of additions is left open: there is nothing to reorder")
        return
    sampled = list(orders.orders(work.request.seed))
    report.orders = [order.name for order in sampled]
    for side, program in programs.items():
        for (label, arrays), found in zip(work.drawn, work.found, strict=True):
            for order in sampled:
                if work.late():
                    report.notes.append("out of time: not every order was tried")
                    return
                _one_order(work, bench, report, program, label, arrays, found, order, side)


def _one_order(
    work: Work,
    bench: Bench,
    report: TolerancesReport,
    program: Program,
    label: str,
    arrays: dict[str, Array],
    found: list[Reference],
    order: Summation,
    side: str,
) -> None:
    outputs = orders.values(orders.run(program, arrays, order, work.request.deadline))
    report.runs += 1
    words = order.name if work.request.b is None else f"{side}, {order.name}"
    for own, one, candidate in zip(report.outputs, found, outputs, strict=True):
        if side == "A":
            own.observed = own.observed.worse(distance(candidate, one.value, one.dtype, one.known))
    for name in ("worst", "expected"):
        if (failing := first_refused(bench, name, found, outputs, label, f"{words} ({name})")) is not None:
            report.broken.append(failing)
    if bench.check is not None:
        report.tight += _refusals(bench, found, outputs, label, words, of_b=side == "B")


def _refusals(
    bench: Bench, found: list[Reference], outputs: list[Array], label: str, words: str, of_b: bool = False
) -> list[Failing]:
    """What makes a proposed tolerance too tight; B's elements only as far as A's own rounding may take A."""
    if of_b:
        outputs = [np.where(_near(one, x), x, one.value) for one, x in zip(found, outputs, strict=True)]
    failing = first_refused(bench, "proposed", found, outputs, label, words)
    return [] if failing is None else [failing]


def _near(one: Reference, candidate: Array) -> Array:
    return np.abs(candidate.astype(np.float64) - one.value.astype(np.float64)) <= 2 * one.own["worst"]


def _uncovered(work: Work, bench: Bench) -> int:
    """Elements that the expected error may take beyond the proposed tolerance."""
    if bench.check is None:
        return 0
    rtol, atol = bench.check
    count = 0
    for one in (one for found in work.found for one in found):
        room = atol + rtol * np.abs(one.value.astype(np.float64))
        count += int(((one.errors["expected"] > room) & one.known).sum())
    return count


# -- candidates --------------------------------------------------------------------------------------------------


def _strays(work: Work, bench: Bench) -> bool:
    """Whether B, as it is, is beyond a derived tolerance: its orders are then no legal ones."""
    for found, outputs in zip(work.found, work.of_b, strict=True):
        for position, (one, candidate) in enumerate(zip(found, outputs, strict=True)):
            if any(bench.refused(name, position, one, candidate).any() for name in ("worst", "expected")):
                return True
    return False


def _side(work: Work, bench: Bench, report: TolerancesReport) -> Trial:
    """B as a candidate: beyond both bounds it is another program, within A's a tolerance must let it pass."""
    request, tally, strays = work.request, Tally.of(bench), _strays(work, bench)
    for (label, _), found, outputs in zip(work.drawn, work.found, work.of_b, strict=True):
        for position, (one, candidate) in enumerate(zip(found, outputs, strict=True)):
            tally.add(position, one, candidate)
        if bench.check is not None and not strays:
            report.tight += _refusals(bench, found, outputs, label, "B as it is", of_b=True)
    assert request.b is not None
    trial = tally.trial("side", "B", "the other side", lambda: _same(request.a, request.b, request))
    if trial.beyond_bounds and trial.status == "inseparable":
        report.notes.append("B is beyond the bounds of both sides, yet no derived tolerance tells it from A")
    if any(np.isnan(x.astype(np.float64)).any() for outputs in work.of_b for x in outputs):
        report.notes.append(
            "elements of B that are NaN, or hold what lies in memory that nothing wrote, count as wrong"
        )
    return trial


def _nulls(work: Work, bench: Bench) -> Iterator[Trial]:
    """Per output; those that are the output itself count as equivalent."""
    many = len(bench.found) > 1
    for position, own in enumerate(bench.found):
        tallies: dict[str, Tally] = {}
        for number, found in enumerate(work.found):
            one = found[position]
            previous = work.found[number - 1][position].value if len(work.found) > 1 else None
            for name, candidate in nulls(one.value, work.drawn[number][1], previous):
                tallies.setdefault(name, Tally.of(bench)).add(position, one, candidate)
        for name, tally in tallies.items():
            yield tally.trial("null", name, f"as {own.name}" if many else "", lambda: True)


def _mutants(work: Work, bench: Bench, report: TolerancesReport) -> Iterator[Trial]:
    request, failed = work.request, 0
    made = request.wrong(request.a, request.mutants, request.seed)
    for number, mutant in enumerate(made):
        if work.late():
            report.notes.append(f"out of time: {number} mutants of up to {request.mutants} were tried")
            break
        trial = _mutant(work, bench, mutant, report)
        failed += trial.status == "not run"
        yield trial
    if failed:
        report.notes.append(f"{failed} mutants do not run to their end and are not counted")


def _mutant(work: Work, bench: Bench, mutant: Mutant, report: TolerancesReport) -> Trial:
    tally, request = Tally.of(bench), work.request
    deadline = min(request.deadline, time.monotonic() + MUTANT_SECONDS)
    refused: list[Failing] = []
    for (label, arrays), found in zip(work.drawn, work.found, strict=True):
        outputs = _attempt(lambda arrays=arrays: orders.values(orders.run(mutant.program, arrays, None, deadline)))
        if outputs is None:
            return Trial("mutant", mutant.operator, mutant.what, "not run")
        for position, (one, candidate) in enumerate(zip(found, outputs, strict=True)):
            tally.add(position, one, candidate)
        if bench.check is not None and not any(x.dtype != o.value.dtype for x, o in zip(outputs, found)):
            refused += _refusals(bench, found, outputs, label, f"as the mutant '{mutant.what}', of the same terms")
    trial = tally.trial("mutant", mutant.operator, mutant.what, lambda: _same(request.a, mutant.program, request))
    if trial.status == "permitted":
        report.tight += refused
    return trial


def _attempt(run: Callable[[], list[Array]]) -> list[Array] | None:
    """None where a mutant cannot be run: it reads beyond its buffers, does not end, is nothing that is modelled."""
    try:
        return run()
    except (IrverifyError, InternalError, Unsupported, IndexError, ValueError, KeyError, ArithmeticError):
        return None


def _same(a: Program, b: Program | None, request: Request) -> bool:
    return b is not None and same_terms(a, b, request.inputs, request.seed)


def worst_first(failing: Sequence[Failing]) -> list[Failing]:
    """The clearest refusals of a proposed tolerance first."""

    def over(f: Failing) -> float:
        return abs(f.value - f.reference) / f.allowed if f.allowed else math.inf

    return sorted(failing, key=over, reverse=True)
