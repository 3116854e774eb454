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
from equivalence.tolerance.metrics import distance
from equivalence.tolerance.references import Reference
from equivalence.tolerance.result import Failing, TolerancesReport
from equivalence.tolerance.trials import Bench, first_refused
from equivalence.tolerance.work import Work
from lowering.errors import UNKNOWN_SPAN
from lowering.ir.program import Program

Array = np.ndarray
ORDERS_SHARE = 0.5  # of the time that is left, after which mutants are tried


def reorder(work: Work, bench: Bench, report: TolerancesReport) -> None:
    """Every order on every draw: within the derived tolerances, and within the proposed one."""
    programs = {"A": work.request.a}
    if work.request.b is not None and not strays(work, bench):
        programs["B"] = work.request.b
    programs = {side: p for side, p in programs.items() if orders.leaves_open(p)}
    if not programs:
        report.notes.append("no order of additions is left open: there is nothing to reorder")
        return
    sampled = list(orders.orders(work.request.seed))
    report.orders = [order.name for order in sampled]
    left = work.request.deadline - time.monotonic()
    until = time.monotonic() + ORDERS_SHARE * left
    turns = itertools.product(sampled, programs, range(len(work.drawn)))  # every order on something, first of all
    for order, side, number in turns:
        try:
            _one_order(work, bench, report, Turn(programs[side], side, order, number, until))
        except OutOfTime:
            planned = len(sampled) * len(programs) * len(work.drawn)
            report.notes.append(f"out of time: {report.runs} of {planned} runs in other orders were made")
            report.thin |= report.runs < len(sampled)
            return


@dataclass(frozen=True, slots=True)
class Turn:
    """One run in another order, of ``side`` on the draw called ``number``."""

    program: Program
    side: str
    order: Summation
    number: int
    until: float


def _one_order(work: Work, bench: Bench, report: TolerancesReport, turn: Turn) -> None:
    (label, arrays), found, side = work.drawn[turn.number], work.found[turn.number], turn.side
    if time.monotonic() > turn.until:
        raise OutOfTime(UNKNOWN_SPAN)
    outputs = orders.values(orders.run(turn.program, arrays, turn.order, turn.until))
    report.runs += 1
    words = turn.order.name if work.request.b is None else f"{side}, {turn.order.name}"
    for own, one, candidate in zip(report.outputs, found, outputs, strict=True):
        if side == "A":
            own.observed = own.observed.worse(distance(candidate, one.value, one.dtype, one.known))
    for name in ("worst", "expected"):
        if (failing := first_refused(bench, name, found, outputs, label, f"{words} ({name})")) is not None:
            report.broken.append(failing)
    if bench.check is not None:
        report.tight += refusals(bench, found, outputs, label, words, of_b=side == "B")


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
