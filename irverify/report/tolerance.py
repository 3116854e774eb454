"""An assessment of tolerances as text on a rich console.

Takes an Assessed and a Console; prints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from equivalence.tolerance.reordered import worst_first
from equivalence.tolerance.result import Failing, TolerancesReport, Trial
from irverify.report.text import subject_in_words
from irverify.tolerance import Assessed

SHOWN_FAILURES = 3
_COLOURS = {"derived": "bold", "adequate": "bold green"}
_WORDS = {
    "caught": "fails",
    "passes": "PASSES",
    "inseparable": "passes every derived one",
    "unseen": "no output differs",
}
_LEFT_OUT = {
    "permitted": "other legal orders of the same terms",
    "equivalent": "equivalent here: no output differs, and the terms are the same",
    "not run": "do not run to their end",
}


def print_tolerances(assessed: Assessed, console: Console) -> None:
    """Every section that has something to say."""
    report = assessed.report
    console.print(Text(headline(report), style=_COLOURS.get(report.verdict, "bold red")))
    for title, lines in _sections(assessed):
        console.print()
        console.print(Text(title, style="bold"))
        for line in lines:
            console.print(line if isinstance(line, Table) else Text(f"  {line}"))
    console.print()
    console.print(Text(f"Exit {report.exit_code}: {_reason(report)}."))


def headline(report: TolerancesReport) -> str:
    if report.check is None:
        return "derived: the smallest tolerance that passes every permitted order and rounding on these inputs"
    rtol, atol = report.check
    parts = []
    if report.tight:
        parts.append(f"{len(report.tight)} legal results fail it")
    if report.loose:
        parts.append(f"{len(report.loose)} wrong ones pass it that a derived tolerance catches")
    return f"{report.verdict}: rtol {rtol:g}, atol {atol:g}" + (f"; {', '.join(parts)}" if parts else "")


def _reason(report: TolerancesReport) -> str:
    if report.check is None:
        return "the tolerance was derived, none was proposed"
    if report.verdict == "open":
        return "time ran out before enough was tried; raise --timeout, or give smaller inputs"
    return f"the proposed tolerance is {report.verdict}"


def _sections(assessed: Assessed) -> Iterator[tuple[str, list[Any]]]:
    report = assessed.report
    subjects = [f"{letter}  {subject_in_words(s)}" for letter, s in zip("AB", assessed.subjects)]
    judged = "the proposed tolerance" if report.check is not None else "the expected tolerance"
    every: list[tuple[str, list[Any]]] = [
        ("Subjects", subjects),
        (
            "Derived: |candidate - A| <= atol + rtol |A|",
            [_derived(report, len(assessed.subjects) > 1), *_unbounded(report)],
        ),
        ("Legal reorderings", list(_reorderings(report))),
        ("Too tight: legal results that it refuses", [_failing(f) for f in worst_first(report.tight)[:SHOWN_FAILURES]]),
        (f"B beside A, under {judged}", [_trials([report.side])] if report.side is not None else []),
        (f"Null outputs and mutants of A under {judged}", list(_candidates(report))),
        ("Notes", report.notes),
    ]
    return ((title, lines) for title, lines in every if lines)


def _derived(report: TolerancesReport, beside: bool) -> Table:
    table = _table("output", "type", "", "rtol", "atol", "ulp")
    for own in report.outputs:
        kind = f"{own.dtype}[{','.join(map(str, own.shape))}]"
        rows = [("worst case", own.worst), ("expected", own.expected)]
        if beside:
            rows += [("worst case, A alone", own.worst_alone), ("expected, A alone", own.expected_alone)]
        for row, (words, found) in enumerate(rows):
            head = [own.name, kind] if row == 0 else ["", ""]
            cells = ["-"] * 3 if found is None else [f"{found.rtol:g}", f"{found.atol:g}", f"{found.ulp:.0f}"]
            table.add_row(*map(Text, [*head, words, *cells]))
        if report.orders:
            seen = f"{own.observed.absolute:.2g} apart"
            table.add_row(*map(Text, ["", "", "seen in other orders", "", seen, f"{own.observed.ulp:.0f}"]))
    return table


def _unbounded(report: TolerancesReport) -> Iterator[str]:
    for own in report.outputs:
        if own.unbounded:
            share = f"{own.unbounded} of {own.elements}"
            yield f"{own.name}: {share} elements are left out: undefined, or what rounding may do to them has no bound"


def _reorderings(report: TolerancesReport) -> Iterator[str]:
    yield f"inputs: {'; '.join(report.draws)}"
    if report.orders:
        found = (
            f"{len(report.broken)} BEYOND a derived tolerance"
            if report.broken
            else "all within both derived tolerances"
        )
        yield f"{report.runs} runs in {len(report.orders)} orders: {found}"
    yield from (_failing(f) for f in report.broken[:SHOWN_FAILURES])
    if report.check is not None and not report.tight:
        words = "none of them fails the proposed tolerance" if report.orders else "nothing to try the proposed one on"
        more = f"; rounding is expected to take up to {report.uncovered} elements beyond it" if report.uncovered else ""
        yield words + more


def _failing(f: Failing) -> str:
    where = f"{f.output}[{','.join(map(str, f.index))}]"
    apart = abs(f.value - f.reference)
    values = f"{f.value:.9g} for {f.reference:.9g}: {apart:.3g} apart, {f.allowed:.3g} allowed"
    return f"{where} is {values}; {f.order}; {f.draw}"


def _candidates(report: TolerancesReport) -> Iterator[Any]:
    shown = [t for t in report.trials if t.status in _WORDS]
    if not shown:
        return
    yield _trials(sorted(shown, key=lambda t: (t.kind != "null", list(_WORDS).index(t.status))))
    counts = Counter(t.status for t in report.trials)
    for status, words in _LEFT_OUT.items():
        if counts[status]:
            yield f"not counted, {counts[status]}: {words}"
    counted = report.counted()
    for name in ("proposed", "expected", "worst") if report.check is not None else ("expected", "worst"):
        if counted:
            words = {"proposed": "the proposed", "expected": "the expected", "worst": "the worst-case"}[name]
            beyond = [t for t in counted if t.beyond_bounds]
            caught = sum(not t.passes[name] for t in beyond)
            yield (
                f"{words} tolerance rejects {report.rejected(name)} of {len(counted)} mutants with other terms or "
                f"roundings: {caught} of the {len(beyond)} that go beyond what rounding explains here"
            )


def _trials(trials: list[Trial]) -> Table:
    table = _table(
        "", "what", "result", "caught below rtol", "at atol", "max abs", "max ulp", "cosine", "rel L2", "out"
    )
    for t in trials:
        d = t.distance
        below = "not by rtol" if t.caught_below == 0 else f"{t.caught_below:.2g}"
        numbers = [below, f"{t.atol:g}", f"{d.absolute:.2g}", f"{d.ulp:.3g}", f"{d.cosine:.6f}", f"{d.relative_l2:.2g}"]
        what = f"{t.name}: {t.what}" if t.what and t.kind != "null" else f"{t.name} {t.what}".strip()
        result = _WORDS.get(t.status, t.status)
        table.add_row(*map(Text, [t.kind, what, result, *numbers, f"{t.outside:.1%}"]))
    return table


def _table(*titles: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    for title in titles:
        left = title in ("", "output", "type", "what", "result")
        table.add_column(title, overflow="fold", justify="left" if left else "right")
    return table
