"""A trace's findings and cost as one JSON document, and back: how they pass from the process that ran the kernel."""

from __future__ import annotations

import json
from typing import Any

from lowering.capture.nki.trace import NkiTrace
from lowering.errors import Span
from lowering.legality import MEANING, check
from lowering.legality.cost import cost
from lowering.legality.finding import Finding

IN_ORDER = "nki: a sum outside of PSUM that an affine_range carries is added in the order of its turns (assumed)"
UNDEFINED = frozenset(["nki-undefined", "nki-output-undefined"])  # a comparison follows undefined values itself


def examined(trace: NkiTrace) -> str:
    """Everything that ``irverify check`` shows of a trace."""
    findings = [
        {"code": one.code, "severity": one.severity, "message": one.message, "count": one.count, "file": one.span.file,
         "line": one.span.line, "column": one.span.column, "function": one.span.name}
        for one in check(trace)
    ]  # fmt: skip
    counted = {"instructions": len(trace.instrs), "notes": trace.notes}
    return json.dumps({"findings": findings, "cost": cost(trace).data(), **counted})


def read(text: str) -> tuple[list[Finding], dict[str, Any]]:
    """The findings, and the rest of the document."""
    document = json.loads(text)
    findings = [
        Finding(one["code"], one["message"], Span(one["file"], one["line"], one["column"], one["function"]),
                one["severity"], one["count"])
        for one in document.pop("findings")
    ]  # fmt: skip
    return findings, document


def faults(trace: NkiTrace) -> tuple[list[str], list[str]]:
    """For a comparison: rows of (code, file, line, what) with tabs between, of what leaves a kernel without a meaning;
    and a note on the rules of the hardware that it breaks."""
    found = check(trace)
    broken = [one for one in found if one.severity == "error"]
    notes = [IN_ORDER] if any(one.code == "nki-affine-accumulate" for one in found) else []
    rows = [
        "\t".join(str(cell).replace("\t", " ") for cell in (one.code, one.span.file, one.span.line, one.message))
        for one in broken
        if one.code in MEANING
    ]
    others = [f"{one.code} at line {one.span.line}" for one in broken if one.code not in MEANING | UNDEFINED]
    if not others:
        return rows, notes
    more = f" and {len(others) - 3} more" if len(others) > 3 else ""
    return rows, [*notes, f"nki: on {trace.target} this breaks {', '.join(others[:3])}{more}: see irverify check"]
