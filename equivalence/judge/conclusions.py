"""What a judge says once its evidence is complete: results per output, the witness, the place, what was assumed.

Takes a Judge and its verdicts; gives a Report.  Must not change a verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from equivalence.fields.constants import identify
from equivalence.interpretations.real import constants_of
from equivalence.judge import orders, scope, upto
from equivalence.judge.evidence import Evidence
from equivalence.judge.witness import witness
from equivalence.verdicts import Check, Finding, Level, OutputResult, Report, Verdict

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

SHRINK_SECONDS = 2.0


def report(judge: Judge, verdicts: Sequence[Verdict]) -> Report:
    """The report as far as the verdicts go: scope and assumptions, witness, divergence."""
    _place_failures(judge)
    results = [_result(judge, e, v) for e, v in zip(judge.evidence, verdicts, strict=True)]
    made = Report(Verdict.merge(verdicts), results)
    _explain(judge, made)
    _identified(judge, made)
    return made


def _result(judge: Judge, evidence: Evidence, verdict: Verdict) -> OutputResult:
    return OutputResult(
        evidence.name,
        evidence.dtype,
        evidence.shape,
        verdict,
        evidence.max_ulp,
        evidence.max_abs,
        evidence.max_rel,
        evidence.bound_a,
        evidence.bound_b,
        evidence.listed(judge.runner.freedoms) if verdict.level is not Level.BITWISE else [],
        up_to=upto.phrases(evidence, judge.runner.freedoms, judge.pairs) if verdict.level is Level.REASSOCIATED else [],
    )


def _place_failures(judge: Judge) -> None:
    """Sets of shapes at which some test tells the two apart."""
    for failure in (failure for evidence in judge.evidence for failure in evidence.witnessed):
        if id(failure.run.pair) in judge.results:
            judge.results[id(failure.run.pair)].level = Level.DIFFERENT


def _explain(judge: Judge, report: Report) -> None:
    """Scope and assumptions always; the place of the difference and a witness where there is one."""
    judge.assumptions.update(dict.fromkeys(scope.assumptions(judge.pairs, report.verdict.level)))
    for evidence in judge.evidence:
        for choice in judge.runner.freedoms.of(evidence.freedoms_a | evidence.freedoms_b):
            if choice.kind == "equality":
                judge.assumptions[f"{choice.what} ({choice.span})"] = None
    position, failure = next((i for i, e in enumerate(judge.evidence) if e.witnessed), None), None
    if position is not None:
        failure = judge.evidence[position].witnessed[0]
        with judge.timed("shrink"):
            error = judge.error(failure.run.pair)
            runner = judge.runner.in_a_tree() if failure.run.tree else judge.runner
            report.witness = witness(failure.run.pair, runner, error, failure, position, SHRINK_SECONDS)
    with judge.timed("divergence"):
        try:
            if failure is not None and position is not None and failure.run.tree:
                report.divergence = orders.divergence(judge, failure, position)
            else:
                report.divergence = scope.divergence(judge.pairs, report, position, judge.evidence)
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:  # never at the cost of the verdict
            said = f"not found: an internal error of irverify ({type(error).__name__}: {error})"
            judge.checks.append(Check("where it differs", None, said))
            return
        if report.divergence is None and report.verdict.level not in (Level.BITWISE, Level.UNDECIDED):
            why = "not found: every shape is too large to be traced, or time was short; try smaller inputs"
            judge.checks.append(Check("where it differs", None, why))


def _identified(judge: Judge, report: Report) -> None:
    """A verdict about real functions may rest on constants that were taken to be one number."""
    if all(output.verdict.level not in (Level.REAL, Level.CLOSE) for output in report.outputs):
        return
    given = judge.pairs[0]
    known = identify(constants_of(given.a), constants_of(given.b)).assumptions
    taken = [words for words in known if words in judge.assumptions]
    if taken:
        more = f" (and {len(taken) - 1} more, see the assumptions)" if len(taken) > 1 else ""
        judge.find(Finding("constants-identified", taken[0] + more, None, "note"))
