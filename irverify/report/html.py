"""Report -> an HTML fragment, for notebooks: the text report's sections, escaped, without scripts or style sheets.

Takes a Report; gives HTML.
"""

from __future__ import annotations

from html import escape

from equivalence.verdicts import OutputResult, Report
from irverify.report.text import closing, sections
from irverify.report.words import headline, level_in_words

_CELL = "style='text-align:left;padding:0 1em 0 0'"


def report_to_html(report: Report) -> str:
    """Headline, outputs as a table, everything else as lists."""
    parts = [f"<p><b>{escape(headline(report))}</b></p>", _outputs(report.outputs)]
    for title, lines in sections(report):
        texts = [escape(line) for line in lines if isinstance(line, str)]
        if texts:
            parts.append(f"<details open><summary>{escape(title)}</summary><pre>{'<br>'.join(texts)}</pre></details>")
    return "".join([*parts, f"<p>{escape(closing(report))}</p>"])


def _outputs(outputs: list[OutputResult]) -> str:
    if not outputs:
        return ""
    titles = ("output", "type", "verdict", "max ulp", "bound A", "bound B")
    head = "".join(f"<th {_CELL}>{title}</th>" for title in titles)
    return f"<table><tr>{head}</tr>{''.join(map(_row, outputs))}</table>"


def _row(output: OutputResult) -> str:
    numbers = ("-" if value is None else f"{value:.3g}" for value in (output.max_ulp, output.bound_a, output.bound_b))
    kind = f"{output.dtype}[{','.join(map(str, output.shape))}]"
    cells = [output.name, kind, level_in_words(output.verdict), *numbers]
    return "<tr>" + "".join(f"<td {_CELL}>{escape(cell)}</td>" for cell in cells) + "</tr>"
