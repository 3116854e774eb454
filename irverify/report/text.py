"""Report -> text on a rich console: coloured on a terminal, plain and never truncated when piped.

Takes a Report and a Console; prints.  Every state is spelled out; colour only repeats it.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from equivalence.verdicts import Level, OutputResult, Report, Subject
from irverify.exits import reason_for
from irverify.report.special import special_lines
from irverify.report.words import headline, level_in_words
from lowering.errors import Span

SHOWN = 16  # elements of an array that are printed
ILL_CONDITIONED = 1e3  # a condition number worth a line
PIPED_WIDTH = 10_000  # wide enough that nothing is ever folded or cut
COLOURS = {
    Level.BITWISE: "bold green",
    Level.REASSOCIATED: "bold green",
    Level.REAL: "green",
    Level.CLOSE: "yellow",
    Level.TESTED: "yellow",
    Level.UNDECIDED: "yellow",
    Level.UNSUPPORTED: "yellow",
    Level.DIFFERENT: "bold red",
}


def console_for(file: Any) -> Console:
    """A console on a stream: terminals keep their width, anything else gets plain wide lines."""
    if file.isatty():
        return Console(file=file, highlight=False)
    return Console(file=file, width=PIPED_WIDTH, no_color=True, force_terminal=False, highlight=False)


def print_report(report: Report, console: Console) -> None:
    """Every section that has something to say."""
    console.print(Text(headline(report), style=COLOURS[report.verdict.level]))
    for title, lines in sections(report):
        console.print()
        console.print(Text(title, style="bold"))
        for line in lines:
            console.print(line if isinstance(line, Table) else Text(f"  {line}"))
    console.print()
    console.print(Text(closing(report)))


def sections(report: Report) -> Iterator[tuple[str, list[str | Table]]]:
    """Titles and lines, in order; a section with nothing to say is left out."""
    every: list[tuple[str, list[Any]]] = [
        ("Subjects", list(_subjects(report))),
        ("Outputs", [_outputs(report)] if report.outputs else []),
        ("Conditioning", list(_conditioning(report.outputs))),
        ("Left open by a source and used here", list(_freedoms(report.outputs))),
        ("Order of accumulation", list(_orders(report))),
        ("Where they differ", list(_divergence(report))),
        ("Witness", list(_witness(report))),
        ("Findings", list(_findings(report))),
        ("Special values", list(special_lines(report))),
        ("Shapes", list(_shapes(report))),
        ("Assumptions", list(report.assumptions)),
        ("Checks", list(_checks(report))),
        ("Time", [_timings(report)] if report.timings else []),
    ]
    return ((title, lines) for title, lines in every if lines)


def _subjects(report: Report) -> Iterator[str]:
    for letter, subject in zip("AB", report.subjects or ()):
        yield f"{letter}  {subject_in_words(subject)}"


def subject_in_words(subject: Subject) -> str:
    kernels = f", launches {', '.join(subject.kernels)}" if subject.kernels else ""
    return f"{subject.file}:{subject.entry} ({subject.framework}{kernels})"


def _outputs(report: Report) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 2))
    titles = ("output", "type", "verdict", "max ulp", "max abs", "max rel", "bound A", "bound B", "because")
    for title in titles:
        table.add_column(title, overflow="fold", justify="right" if title.startswith(("max", "bound")) else "left")
    for o in report.outputs:
        numbers = (o.max_ulp, o.max_abs, o.max_rel, o.bound_a, o.bound_b)
        kind = f"{o.dtype}[{','.join(map(str, o.shape))}]"
        cells = [o.name, kind, level_in_words(o.verdict), *map(_number, numbers), o.verdict.reason]
        table.add_row(*[Text(cell) for cell in cells])
    return table


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _conditioning(outputs: list[OutputResult]) -> Iterator[str]:
    """Where the given inputs cancel: digits that no order of additions keeps."""
    for o in outputs:
        for letter, found in (("A", o.condition_a), ("B", o.condition_b)):
            if found is not None and found.number >= ILL_CONDITIONED and found.span is not None:
                yield (
                    f"{letter}  {o.name}: the terms added at {found.span} are {found.number:.2g} times as large as "
                    f"their sum; of {found.digits:.1f} digits {found.left:.1f} are left"
                )
                yield from (f"     {line}" for line in source_line(found.span))


def _freedoms(outputs: list[OutputResult]) -> Iterator[str]:
    """Once each: the same choice at other shapes differs only in its number of terms."""
    seen: set[str] = set()
    for freedom in [freedom for output in outputs for freedom in output.freedoms]:
        kind = re.sub(r"\bof \d+ ", "of N ", freedom)
        if kind not in seen:
            yield freedom
        seen.add(kind)


def _orders(report: Report) -> Iterator[str]:
    for order in report.orders:
        times = f", {order.count} of this kind" if order.count > 1 else ""
        where = f"{order.output}[{', '.join(map(str, order.index))}]" + (f" at {order.shapes}" if order.shapes else "")
        yield f"{where}{times}: {order.what}"
        for letter, name, place in (("A", order.a, order.place_a), ("B", order.b, order.place_b)):
            if name:
                yield f"  {letter}  {name}" + (f"  at {place}" if place is not None else "")


def _divergence(report: Report) -> Iterator[str]:
    if report.divergence is None:
        return
    yield report.divergence.what
    for letter, place in (("A", report.divergence.a), ("B", report.divergence.b)):
        if place is not None:
            yield f"{letter}  {place}"
            yield from (f"     {line}" for line in source_line(place))


def source_line(place: Span) -> list[str]:
    """The line itself, with a caret under the column when it is known."""
    text = linecache.getline(place.file, place.line).rstrip("\n") if place.line else ""
    if not text.strip():
        return []
    shown = text.expandtabs(4)
    indent = len(shown) - len(shown.lstrip())
    caret = [" " * (place.column - 1 - indent) + "^"] if place.column > indent else []
    return [shown.strip(), *caret]


def _witness(report: Report) -> Iterator[str]:
    witness = report.witness
    if witness is None:
        return
    where = f"{witness.output or 'output'}[{','.join(map(str, witness.index))}]"
    yield f"{where}: A gives {witness.value_a}, B gives {witness.value_b}; the bounds explain {witness.bound:.3g}"
    large = any(array.size > SHOWN for array in witness.inputs.values())
    yield f"replayed by {witness.replayed_by}, on inputs made as simple as they could be" + (
        "; --save-witness DIR writes the arrays" if large else ""
    )
    for name, array in witness.inputs.items():
        values = f" = {array.tolist()}" if array.size <= SHOWN else ""
        yield f"{name}: {array.dtype.name}[{','.join(map(str, array.shape))}]{values}"


def _findings(report: Report) -> Iterator[str]:
    for finding in report.findings:
        where = f" at {finding.span}" if finding.span else ""
        yield f"{finding.severity} {finding.code}{where}: {finding.message}"
        if finding.span:
            yield from (f"     {line}" for line in source_line(finding.span))
    if report.findings:
        yield f"(irverify explain {report.findings[0].code} says more)"


def _shapes(report: Report) -> Iterator[str]:
    for shape in report.shapes:
        dims = ", ".join(f"{name}[{','.join(map(str, size))}]" for name, size in shape.shapes.items())
        yield "  ".join(part for part in (shape.level.value if dims else "", dims, shape.note) if part)


def _checks(report: Report) -> Iterator[str]:
    words = {True: "passed", False: "FAILED", None: "open"}
    for check in report.checks:
        state = words[check.passed] if check.applies else "not applicable"
        yield f"{state}  {check.name}" + (f": {check.detail}" if check.detail else "")


def _timings(report: Report) -> str:
    return "   ".join(f"{name} {seconds:.2f} s" for name, seconds in report.timings.items())


def closing(report: Report) -> str:
    """What was checked, and what the exit code means."""
    counted = [shape for shape in report.shapes if shape.shapes and shape.level is not Level.UNDECIDED]
    checks = sum(check.passed is not None for check in report.checks)
    checked = f"{_count(len(report.outputs), 'output')} at {_count(len(counted) or 1, 'set')} of shapes"
    return f"Checked {checked}, {_count(checks, 'check')}. Exit {report.exit_code}: {reason_for(report)}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
