"""The whole assessment: references, derived tolerances, legal reorderings, then null outputs and mutants.

Takes a Request; gives a TolerancesReport.  B, where there is one, is a candidate among the others, beside A.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from equivalence.mutants.draw import Mutant
from equivalence.tolerance import orders, references
from equivalence.tolerance.nulls import nulls
from equivalence.tolerance.reordered import refusals, reorder, strays, uncovered
from equivalence.tolerance.result import Failing, TolerancesReport, Trial
from equivalence.tolerance.trials import Bench, Tally
from equivalence.tolerance.work import Request, Work, refer
from lowering.errors import InternalError, IrverifyError, Unsupported

Array = np.ndarray
MUTANT_SECONDS = 20.0
FEW = 8  # mutants without which nothing is called adequate
LARGE = 1 << 18  # elements of all outputs from which a mutant is not tried further once every tolerance refuses it


def assess(request: Request) -> TolerancesReport:
    """Derived tolerances, and what a proposed one lets pass or refuses."""
    with np.errstate(all="ignore"):
        work = Work(request)
        notes = list(refer(work))
        outputs = references.derive(work.found, request.b is not None)
        report = TolerancesReport(outputs, [label for label, _ in work.drawn], [], check=request.check, notes=notes)
        bench = Bench(outputs, request.check)
        reorder(work, bench, report)
        report.uncovered = uncovered(work, bench)
        if request.b is not None:
            report.side = _side(work, bench, report)
        report.trials = [*_nulls(work, bench), *_mutants(work, bench, report)]
        if any(t.kind == "null" and t.status != "equivalent" and t.passes["expected"] for t in report.trials):
            report.notes.append(
                "null outputs pass the expected tolerance: the error bounds are too coarse to test with"
            )
        return report


def _side(work: Work, bench: Bench, report: TolerancesReport) -> Trial:
    """B as a candidate: beyond both bounds it is another program, within A's a tolerance must let it pass."""
    request, tally, far = work.request, Tally.of(bench), strays(work, bench)
    for (label, _), found, outputs in zip(work.drawn, work.found, work.of_b, strict=True):
        for position, (one, candidate) in enumerate(zip(found, outputs, strict=True)):
            tally.add(position, one, candidate)
        if bench.check is not None and not far:
            report.tight += refusals(bench, found, outputs, label, "B as it is", of_b=True)
    b = request.b
    assert b is not None
    trial = tally.trial("side", "B", "the other side", lambda: work.terms.same(b))
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
            same = tally.distance.identical
            yield tally.trial("null", name, f"as {own.name}" if many else "", lambda same=same: same)


def _mutants(work: Work, bench: Bench, report: TolerancesReport) -> Iterator[Trial]:
    request, failed = work.request, 0
    made = request.wrong(request.a, request.mutants, request.seed)
    for number, mutant in enumerate(made):
        if work.late():
            report.notes.append(f"out of time: {number} mutants of up to {request.mutants} were tried")
            report.thin |= number < FEW
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
        if not any(tally.passes.values()) and sum(one.value.size for one in found) >= LARGE:
            break
        may_be_permitted = tally.passes["worst"] and not tally.passes.get("proposed", True)
        if may_be_permitted and not any(x.dtype != o.value.dtype for x, o in zip(outputs, found)):
            refused += refusals(bench, found, outputs, label, f"as the mutant '{mutant.what}', of the same terms")
    trial = tally.trial("mutant", mutant.operator, mutant.what, lambda: work.terms.same(mutant.program))
    if trial.status == "permitted":
        report.tight += refused
    return trial


def _attempt(run: Callable[[], list[Array]]) -> list[Array] | None:
    """None where a mutant cannot be run: it reads beyond its buffers, does not end, is nothing that is modelled."""
    try:
        return run()
    except (IrverifyError, InternalError, Unsupported, IndexError, ValueError, KeyError, ArithmeticError):
        return None
