"""Results that the host reads before a copy that does not block has brought them: on a device it reads what was there.

Takes the programs of both sides, whose attributes say so; gives Findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from equivalence.verdicts import Finding
from lowering.errors import Span
from lowering.ir.program import Program

CODE = "unsynchronised-read"
_SAID = "reads on the host what the non_blocking copy of line {} may not have brought yet"
ATTRIBUTE = "unsynchronised"


def findings(sides: Sequence[Iterable[Program]], files: tuple[str, str]) -> list[Finding]:
    """One for each read; errors where one side alone has any."""
    found = [{line: None for program in programs for line in program.attrs.get(ATTRIBUTE, ())} for programs in sides]
    severity = "warning" if all(found) else "error"
    each = [(file, *line.split("\t")) for lines, file in zip(found, files) for line in lines]
    return [
        Finding(CODE, f"{file}: {construct} {_SAID.format(copied)}", Span(path, int(line)), severity)
        for file, path, line, copied, construct in each
    ]
