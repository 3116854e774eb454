"""What each side does with NaN, infinities, signed zeros, subnormals, ties, masked rows and casts that overflow.

Takes a Pair; gives SpecialRows, one for every kind of input and output, alike or not.  ``run`` takes a Judge and leaves
them in a Report, with a check and findings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from equivalence.interpretations.depends import Depends
from equivalence.interpretations.error import Error
from equivalence.judge import left_open, ties
from equivalence.judge.differential import MOST_ELEMENTS
from equivalence.judge.planes import plane, value
from equivalence.judge.planted import FEW_FROM, TIES, Planted, every, shown
from equivalence.judge.runs import Pair, PairRun, Runner
from equivalence.judge.special_rows import DIFFER, NOT_RUN, SIGNS, apart, rows
from equivalence.judge.tally import Tally
from equivalence.verdicts import Check, Finding, Level, Report, SpecialRow, SpecialValue

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

CHECK = "special values"


def run(judge: Judge, report: Report) -> None:
    """Rows, a Check and findings; under ``strict`` large inputs are no reason to leave it out.

    Where the verdict is ``different``, only rows of outputs that agree on the given inputs, and nothing follows.
    """
    strict, refuted = judge.options.special == "strict", report.verdict.level is Level.DIFFERENT
    if judge.options.special == "ignore":
        return
    pair = min(judge.pairs, key=lambda p: p.size)
    why = _not_run(judge, pair, strict)
    if why or not any(True for _ in every(pair)):
        if not refuted:
            words = f"not run: {why}" if why else "no input holds floats"
            judge.checks.append(Check(CHECK, None, words, applies=bool(why)))
        return
    found, tally = table(pair, judge.runner, judge.error(pair), judge.late, refuted)
    for output in report.outputs:
        output.special_table = [row for row in found if row.output == output.name]
    if not refuted:
        judge.checks.append(_check(found, tally, pair.size > FEW_FROM))
        _say(judge, report, found)


def _say(judge: Judge, report: Report, found: Sequence[SpecialRow]) -> None:
    """The rows that differ as special values, and findings."""
    differing = [row for row in found if row.status == DIFFER]
    for row in differing:
        special = SpecialValue(
            row.output, row.input, row.value_a, row.value_b, row.message, row.index, row.bound, row.inputs
        )
        next(o for o in report.outputs if o.name == row.output).special_values.append(special)
    if differing:
        tied = next((row for row in differing if row.kind == TIES), None)
        said = tied or differing[0]  # ties are finite inputs: no matter of special values alone
        judge.find(Finding("special-values", said.message, None, "error" if tied is not None else "note"))
    signs = next((row for row in found if row.status == SIGNS), None)
    if signs is not None:
        judge.find(Finding("signed-zero", signs.message, None, "note"))


def _not_run(judge: Judge, pair: Pair, strict: bool) -> str:
    if judge.real.random:
        return "the two sides draw random numbers that do not correspond"
    if judge.late():
        return "out of time"
    return "the inputs are too large" if pair.size > MOST_ELEMENTS and not strict else ""


def _check(found: Sequence[SpecialRow], tally: Tally, few: bool) -> Check:
    """Passed only where every planted input was run."""
    tried = (
        "alike on both sides for a NaN and a row of -infinity (only these, the inputs are large)"
        if few
        else "alike on both sides for NaN, infinities, -0, subnormals and the largest value, one at a time"
    )
    differ = any(row.status == DIFFER for row in found)
    if tally.complete:
        return Check(CHECK, not differ, tried)
    missing = f"not run: {tally.missing()}"
    detail = f"{tally.ran} of {tally.planned} inputs ({tried}); {missing}" if tally.ran else missing
    return Check(CHECK, False if differ else None, detail)


def table(
    pair: Pair, runner: Runner, error: Error, late: Callable[[], bool] = lambda: False, refuted: bool = False
) -> tuple[list[SpecialRow], Tally]:
    """A row for every planted set and output.  ``refuted``: only for outputs that agree on the given inputs.

    The Tally counts sets with special values; zeros and ties are tested elsewhere, and here as far as they can be run.
    """
    found, tally, usual = list[SpecialRow](), Tally(), Tally()
    given = usual.attempt(lambda: _run(pair, runner, error, Planted("", "", pair.inputs, ())))
    kept = _agreeing(given) if refuted else {name for name, _ in pair.a.outputs}
    if not kept:
        return found, tally
    for planted in every(pair):
        counted = usual if planted.usual else tally
        counted.planned += 1
        counted.late |= late()
        run = counted.attempt(lambda planted=planted: _run(pair, runner, error, planted))
        made = list(rows(planted, run, given)) if run is not None else _unrun(pair, planted)
        if run is not None:
            made = left_open.settle(pair, runner, error, planted, run, made)
        found += [row for row in made if row.output in kept]
    return found, tally


def _run(pair: Pair, runner: Runner, error: Error, planted: Planted) -> PairRun:
    if planted.kind == TIES:
        return ties.run(runner, pair, error, planted.inputs)
    return runner.run(pair, [Depends(marks=False), error], planted.inputs)


def _agreeing(given: PairRun | None) -> set[str]:
    """Outputs that are alike on the given inputs; what differs there says nothing about special values."""
    if given is None:
        return set()
    far = {
        name: apart(value(a).astype(float), value(b).astype(float), plane(a, "bound") + plane(b, "bound"))
        for name, a, b in given.outputs()
    }
    return {name for name, where in far.items() if not where.any()}


def _unrun(pair: Pair, planted: Planted) -> list[SpecialRow]:
    return [
        SpecialRow(name, planted.kind, planted.words, NOT_RUN, plants=planted.plants, inputs=planted.inputs)
        for name, _ in pair.a.outputs
    ]


def replay(pair: Pair, runner: Runner, row: SpecialRow) -> tuple[float | str, float | str]:
    """What both sides give at the row's element, from its inputs alone."""
    done = runner.run(pair, [Depends(marks=False)], row.inputs)
    x, y = next((value(a)[row.index], value(b)[row.index]) for name, a, b in done.outputs() if name == row.output)
    return shown(float(x)), shown(float(y))
