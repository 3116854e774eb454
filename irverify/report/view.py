"""A Report as Python users see it: printable, shown as a table in notebooks, writable as JSON.

Takes a Report; gives its renderings.  Every field of the Report is an attribute of the view.
"""

from __future__ import annotations

import io
from typing import Any

from equivalence.verdicts import Report
from irverify.report.html import report_to_html
from irverify.report.json import report_to_dict, report_to_json
from irverify.report.text import console_for, print_report


class ReportView:
    """``print(view)``, ``view.to_json()``, ``view.verdict``; true when the pair is good enough (exit code 0)."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "report":
            raise AttributeError(name)
        return getattr(self.report, name)

    def __bool__(self) -> bool:
        return self.report.exit_code == 0

    def __str__(self) -> str:
        stream = io.StringIO()
        print_report(self.report, console_for(stream))
        return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())

    def __repr__(self) -> str:
        return f"<irverify report: {self.report.verdict.level}, exit {self.report.exit_code}>"

    def _repr_html_(self) -> str:
        return report_to_html(self.report)

    def to_dict(self) -> dict[str, Any]:
        return report_to_dict(self.report)

    def to_json(self) -> str:
        return report_to_json(self.report)
