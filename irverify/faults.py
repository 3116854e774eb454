"""What host code does wrong whatever comes out of it here, or in what state it leaves torch.

Takes the programs of both sides, whose attributes say so; gives Findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from equivalence.verdicts import Finding, Severity
from lowering.errors import Span
from lowering.ir.program import Program

ATTRIBUTE = "faults"
WARNED_OF = frozenset({"precision-left-changed"})  # what other code may not notice


def findings(sides: Sequence[Iterable[Program]], files: tuple[str, str]) -> list[Finding]:
    """One for each place; of one code that both sides have a warning, else an error."""
    found = [dict.fromkeys(line for program in of for line in program.attrs.get(ATTRIBUTE, ())) for of in sides]
    codes = [{line.split("\t")[0] for line in lines} for lines in found]
    shared = codes[0] & codes[1]
    return [
        _finding(file, *line.split("\t"), severity="warning" if line.split("\t")[0] in shared | WARNED_OF else "error")
        for lines, file in zip(found, files)
        for line in lines
    ]


def _finding(file: str, code: str, path: str, line: str, said: str, severity: Severity) -> Finding:
    return Finding(code, f"{file}: {said}", Span(path, int(line)), severity)
