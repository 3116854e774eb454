"""Whether a report on a `reassociated` pair says in words what the two sides do not do alike.

Takes a Report; gives what is missing, '' where nothing is.
"""

from __future__ import annotations

from equivalence.verdicts import Level, OutputResult, Report
from irverify.report.view import ReportView
from irverify.report.words import headline


def missing(report: Report) -> str:
    """For every such output: a sentence with both orders by name, or the freedoms that were used; in text as well."""
    text, said = str(ReportView(report)), headline(report)
    for output in report.outputs:
        if output.verdict.level is not Level.REASSOCIATED:
            continue
        rows = [row for row in report.orders if row.output == output.name and row.a and row.b]
        if not all(row.what and row.relation and row.what in text and row.a in text and row.b in text for row in rows):
            return f"{output.name}: an order without a sentence or a name"
        if not rows and not _named_freedom(output, text):
            return f"{output.name}: neither two orders nor a freedom is named"
        unsaid = [phrase for phrase in output.up_to if phrase not in said]
        if unsaid or not output.up_to:
            return f"{output.name}: the headline does not say {unsaid or 'up to what'}"
    return ""


def _named_freedom(output: OutputResult, text: str) -> bool:
    """Each kind of choice that a source leaves open is in the text, with its side and place."""
    sided = [freedom for freedom in output.freedoms if freedom.startswith(("A: ", "B: "))]
    return bool(sided) and any(freedom in text for freedom in sided)
