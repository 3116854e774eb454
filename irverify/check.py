"""``irverify check``: whether one NKI kernel is legal on its hardware, and what it costs.

Takes options and an entry; gives Checked.  The file is run in a child process, like for ``irverify lower``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from irverify import __version__
from irverify.lower import captured
from irverify.options import CompareOptions
from lowering.legality.finding import Finding
from lowering.legality.report import read

SCHEMA = "irverify-check/1"


@dataclass(frozen=True, slots=True)
class Checked:
    """``details``: 'cost', 'instructions' and 'notes', as lowering/legality/report.py has them."""

    file: str
    entry: str
    target: str
    nki_version: str
    findings: list[Finding]
    details: dict[str, Any]

    @property
    def exit_code(self) -> int:
        return int(any(one.severity == "error" for one in self.findings))


def check(options: CompareOptions, entry: str | None) -> Checked:
    """One kernel at the given shapes, however large: values are of no matter."""
    options = replace(options, shapes=("given",))
    with captured(options, entry, "check") as (side, exchange):
        findings, details = read(exchange.read_text("a.v0.check"))
    return Checked(str(side.path), side.entry, options.nki_target, options.nki_version, findings, details)


def checked_to_json(checked: Checked, with_cost: bool) -> str:
    """The document of schema ``irverify-check/1`` (docs/report-schema.md)."""
    findings = [
        {"code": one.code, "severity": one.severity, "message": one.message, "rule": one.rule, "count": one.count,
         "file": one.span.file, "line": one.span.line, "column": one.span.column}
        for one in checked.findings
    ]  # fmt: skip
    document = {
        "schema": SCHEMA,
        "version": __version__,
        "subject": {"file": checked.file, "entry": checked.entry, "framework": "nki"},
        "target": checked.target,
        "nki_version": checked.nki_version,
        "exit_code": checked.exit_code,
        "instructions": checked.details["instructions"],
        "findings": findings,
        "cost": checked.details["cost"] if with_cost else None,
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"
