"""How both sides add up one element of each output, and how their orders are related.

Takes a Judge and its Report; leaves OrderResults in the Report.  Informs only: no verdict depends on it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from equivalence.divergence.trace import Trace
from equivalence.evaluator.frame import DEADLINE, OutOfTime
from equivalence.judge.realjudge import in_words
from equivalence.judge.runs import Pair
from equivalence.order.element import run as traced
from equivalence.order.pairing import Paired, pair
from equivalence.verdicts import Check, OrderResult, Report
from lowering.errors import Unsupported

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

CHECK = "order of accumulation"
MOST_ELEMENTS = 1 << 14  # of the inputs of a set of shapes whose orders are looked at
MOST_OUTPUTS, MOST_EACH = 6, 8
SECONDS = 10.0  # of all outputs: what only informs is not worth more


def run(judge: Judge, report: Report) -> None:
    """At the largest set of shapes that is small enough: there a loop has several rounds."""
    fitting = [p for p in judge.pairs if p.size <= MOST_ELEMENTS]
    if not fitting or judge.late():
        why = "out of time" if fitting else "every set of shapes is too large; irverify order takes smaller inputs"
        judge.checks.append(Check(CHECK, None, f"not looked at: {why}"))
        return
    chosen = max(fitting, key=lambda p: p.size)
    token = DEADLINE.set(min(judge.deadline, time.monotonic() + SECONDS))
    try:
        traces = (traced(program, chosen.inputs, judge.options.seed) for program in (chosen.a, chosen.b))
        shapes = in_words(chosen)
        report.orders = [replace(order, shapes=shapes) for order in _of(chosen, *traces)]
    except (Unsupported, OutOfTime) as error:
        judge.checks.append(Check(CHECK, None, f"not looked at: {error}"))
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:  # never at the cost of the verdict
        said = f"an internal error of irverify ({type(error).__name__}: {error})"
        judge.checks.append(Check(CHECK, None, f"not looked at: {said}"))
    finally:
        DEADLINE.reset(token)


def _of(chosen: Pair, a: Trace, b: Trace) -> Iterator[OrderResult]:
    for number in range(min(MOST_OUTPUTS, len(chosen.a.outputs))):
        element, _, found = pair(a, b, number)
        for one in found[:MOST_EACH]:
            yield _result(element.output, element.index, one)


def _result(output: str, index: tuple[int, ...], one: Paired) -> OrderResult:
    sides = (one.a, one.b)
    names = ["" if side is None else str(side.name) for side in sides]
    places = [None if side is None else side.accumulation.span for side in sides]
    if one.relation is None:
        alone = "A" if one.a is not None else "B"
        kind, said = "", f"{alone} alone adds up these {next(s for s in sides if s).accumulation.tree.size} terms"
    else:
        kind, said = one.relation.kind, one.relation.sentence
        if not one.same_terms:
            said += " (the terms are not the same)"
    count = next(side.accumulation.count for side in sides if side is not None)
    return OrderResult(output, index, names[0], names[1], kind, said, one.same_terms, count, places[0], places[1])
