"""What host code does wrong whatever comes out of it here, or in what state it leaves torch.

Takes the programs of both sides, whose attributes say so; gives Findings.
"""

from __future__ import annotations

from collections.abc import Sequence

from equivalence.verdicts import Finding, Severity
from lowering.errors import Span
from lowering.ir.program import Program

ATTRIBUTE = "faults"
WARNED_OF = frozenset({"precision-left-changed"})  # what other code may not notice
MATTER_OF_BOTH = frozenset({"result-device"})  # nothing is wrong with it but that the other side does otherwise


def findings(sides: Sequence[Sequence[Program]], files: tuple[str, str]) -> list[Finding]:
    """One for each place: errors where one side alone does so, warnings where both do."""
    found = [dict.fromkeys(line for program in of for line in program.attrs.get(ATTRIBUTE, ())) for of in sides]
    codes = [{_code(line) for line in lines} for lines in found]
    both = MATTER_OF_BOTH & codes[0] & codes[1]
    aside = MATTER_OF_BOTH if both or not all(map(_has_devices, sides)) else frozenset[str]()
    shared = {_kind(line) for line in found[0]} & {_kind(line) for line in found[1]}  # one's does not excuse another
    return [
        _finding(
            file,
            *line.split("\t"),
            severity="warning" if _kind(line) in shared or _code(line) in WARNED_OF else "error",
        )
        for lines, file in zip(found, files)
        for line in lines
        if _code(line) not in aside
    ]


def _code(line: str) -> str:
    return line.split("\t")[0]


def _kind(line: str) -> tuple[str, str]:
    """The code and what is said, wherever it stands."""
    return _code(line), line.split("\t")[3]


def _has_devices(programs: Sequence[Program]) -> bool:
    """Whether a host has put its arrays on devices; jax does so by itself."""
    return all(program.attrs.get("level") == "aten" for program in programs)


def _finding(file: str, code: str, path: str, line: str, said: str, severity: Severity) -> Finding:
    return Finding(code, f"{file}: {said}", Span(path, int(line)), severity)


def missing_attributes(a: Program, b: Program, files: tuple[str, str]) -> list[Finding]:
    """What A leaves in public attributes of its module, and B does not, or as another type: a reader of them breaks.

    Only what A has computed from its arguments: caches and tables are nobody's result.
    """
    (mine, theirs), found = (_attributes(program) for program in (a, b)), list[Finding]()
    for name, (type_, holds) in mine.items():
        public = not any(part.startswith("_") for part in name.split("."))
        if holds and public and _has_devices([b]) and theirs.get(name, ("", False))[0] != type_:
            does = f"sets it to {theirs[name][0]}" if name in theirs else "does not"
            said = f"{files[0]} leaves {type_} in the attribute {name}; {files[1]} {does}"
            found.append(Finding("attribute-missing", said, None, "error"))
    return found


def _attributes(program: Program) -> dict[str, tuple[str, bool]]:
    lines = [line.split("\t") for line in program.attrs.get("attributes", ())]
    return {name: (type_, holds == "1") for name, type_, holds in lines}
