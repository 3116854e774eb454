"""Legal results under the tolerances: A, and B where it is one, in every sampled order on every draw.

Takes Work and a Bench; leaves what is refused in the report.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from equivalence.evaluator.frame import OutOfTime
from equivalence.interpretations.summation import Summation
from equivalence.tolerance import orders
from equivalence.tolerance.measure import measure
from equivalence.tolerance.references import Reference, derive
from equivalence.tolerance.result import Failing, TolerancesReport
from equivalence.tolerance.trials import Bench, first_refused
from equivalence.tolerance.work import Work
from lowering.errors import UNKNOWN_SPAN
from lowering.ir.program import Program

Array = np.ndarray
ORDERS_SHARE = 0.5  # of the time that is left, after which mutants are tried


def reorder(work: Work, bench: Bench, report: TolerancesReport) -> None:
    """Every order on every draw, of A and then of B where it is within what A's allow; raises what is expected."""
    request, start = work.request, time.monotonic()
    open_sides = [side for side, p in (("A", request.a), ("B", request.b)) if p is not None and orders.leaves_open(p)]
    sampled = list(orders.orders(request.seed)) if open_sides else []
    report.orders = [order.name for order in sampled]
    if not open_sides:
        report.notes.append("no order of additions is left open: there is nothing to reorder")
    for number, side in enumerate(open_sides, 1):
        if side == "A" or not strays(work, bench):
            share = ORDERS_SHARE * number / len(open_sides)
            _every(work, bench, report, side, sampled, start + share * (request.deadline - start))


def _every(
    work: Work, bench: Bench, report: TolerancesReport, side: str, sampled: Sequence[Summation], until: float
) -> None:
    program = work.request.a if side == "A" else work.request.b
    assert program is not None
    before, raised = report.runs, False
    for order, number in itertools.product(sampled, range(len(work.drawn))):  # every order on something, first of all
        try:
            raised |= _one_order(work, bench, report, Turn(program, side, order, number, until))
        except OutOfTime:
            made, planned = report.runs - before, len(sampled) * len(work.drawn)
            report.notes.append(f"out of time: {made} of {planned} runs of {side} in other orders were made")
            report.thin |= made < len(sampled)
            break
    if raised:
        for own, again in zip(report.outputs, derive(work.found, work.request.b is not None), strict=True):
            own.expected, own.expected_alone = again.expected, again.expected_alone
        report.notes.append(f"{side}'s roundings go one way in some order: what is expected is raised to what it shows")


@dataclass(frozen=True, slots=True)
class Turn:
    """One run in another order, of ``side`` on the draw called ``number``."""

    program: Program
    side: str
    order: Summation
    number: int
    until: float


def _one_order(work: Work, bench: Bench, report: TolerancesReport, turn: Turn) -> bool:
    """Whether some element was further from the reference than expected."""
    (label, arrays), found, side = work.drawn[turn.number], work.found[turn.number], turn.side
    if time.monotonic() > turn.until:
        raise OutOfTime(UNKNOWN_SPAN)
    outputs = orders.values(orders.run(turn.program, arrays, turn.order, turn.until))
    report.runs += 1
    words = turn.order.name if work.request.b is None else f"{side}, {turn.order.name}"
    raised = False
    refused: set[str] = set()
    for position, (own, one, candidate) in enumerate(zip(report.outputs, found, outputs, strict=True)):
        asked = bench.asked(position)
        here = measure(one, candidate, list(asked.values()), 0.0, one.known)
        refused |= {name for name, count in zip(asked, here.refused) if count}
        if side == "A":
            own.observed = own.observed.worse(here.distance)
        raised |= here.beyond["expected"] > 0 and _raised(one, candidate, side)
    if "worst" in refused and (failing := first_refused(bench, "worst", found, outputs, label, words)) is not None:
        report.broken.append(failing)
    if "proposed" in refused:
        report.tight += refusals(bench, found, outputs, label, words, of_b=side == "B")
    return raised


def _raised(one: Reference, candidate: Array, side: str) -> bool:
    """Takes a legal order's distance for expected where it is more: roundings of equal terms are not independent."""
    apart = np.where(one.known, np.abs(candidate.astype(np.float64) - one.value.astype(np.float64)), 0.0)
    if not (apart > one.errors["expected"]).any():
        return False
    one.errors["expected"] = np.maximum(one.errors["expected"], apart)
    if side == "A":
        one.own["expected"] = np.maximum(one.own["expected"], apart / 2)
    return True


def refusals(
    bench: Bench, found: list[Reference], outputs: list[Array], label: str, words: str, of_b: bool = False
) -> list[Failing]:
    """What makes a proposed tolerance too tight; B's elements only as far as A's own rounding may take A."""
    if of_b:
        outputs = [np.where(_near(one, x), x, one.value) for one, x in zip(found, outputs, strict=True)]
    failing = first_refused(bench, "proposed", found, outputs, label, words)
    return [] if failing is None else [failing]


def _near(one: Reference, candidate: Array) -> Array:
    return np.abs(candidate.astype(np.float64) - one.value.astype(np.float64)) <= 2 * one.own["worst"]


def uncovered(work: Work, bench: Bench) -> int:
    """Elements that the expected error may take beyond the proposed tolerance."""
    if bench.check is None:
        return 0
    rtol, atol = bench.check
    count = 0
    for one in (one for found in work.found for one in found):
        room = atol + rtol * np.abs(one.value.astype(np.float64))
        count += int(((one.errors["expected"] > room) & one.known).sum())
    return count


def strays(work: Work, bench: Bench) -> bool:
    """Whether B, as it is, is beyond a derived tolerance: its orders are then no legal ones."""
    for found, outputs in zip(work.found, work.of_b, strict=True):
        for position, (one, candidate) in enumerate(zip(found, outputs, strict=True)):
            if any(bench.refused(name, position, one, candidate).any() for name in ("worst", "expected")):
                return True
    return False


def worst_first(failing: Sequence[Failing]) -> list[Failing]:
    """The clearest refusals of a proposed tolerance first."""

    def over(f: Failing) -> float:
        return abs(f.value - f.reference) / f.allowed if f.allowed else math.inf

    return sorted(failing, key=over, reverse=True)
