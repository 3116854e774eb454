"""Autotune configurations: every one must give what the first one gives, since time decides which one runs.

Takes an Exchange after both workers have ended, and the judge; gives Findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from equivalence.verdicts import Finding, Level, Report
from irverify.exchange import Exchange
from irverify.pairing import align_written
from lowering.errors import IrverifyError
from lowering.ir.parser import parse_program
from lowering.ir.program import Program

CODE = "autotune-configs-differ"
Judged = Callable[[Program, Program, dict[str, Any]], Report]
MOST_JUDGED = 2  # of those whose words differ; the others are only named


def findings(exchange: Exchange, files: tuple[str, str], judged: Judged) -> list[Finding]:
    """One finding for each configuration that is broken or not shown equal to the first."""
    return [found for side, file in zip("ab", files) for found in _of_side(exchange, side, file, judged)]


def _of_side(exchange: Exchange, side: str, file: str, judged: Judged) -> Iterator[Finding]:
    name = f"{side}.v0"
    if not exchange.has(name):
        return
    record = exchange.read(name)
    for number, why in record.get("broken_configurations", ()):
        yield Finding(CODE, f"{file}: configuration {number} {why}")
    numbers = record.get("configurations", ())
    if not numbers:
        return
    first = exchange.read_text(f"{name}.kir")
    inputs = {key: value.data for key, value in record["inputs"].items()}
    others = {number: exchange.read_text(f"{name}.c{number}.kir") for number in numbers}
    unlike = [number for number, other in others.items() if not _same(first, other, inputs)]
    for number in unlike[:MOST_JUDGED]:
        found = _compared(file, number, first, others[number], inputs, judged)
        if found is not None:
            yield found
    for number in unlike[MOST_JUDGED:]:
        yield Finding(CODE, f"{file}: configuration {number} adds or rounds otherwise than the first; not judged")


def _same(first: str, other: str, inputs: dict[str, Any]) -> bool:
    from equivalence.judge.quick import same_terms

    if first == other:
        return True
    a, b = parse_program(first), parse_program(other)
    return align_written(a, b) and same_terms(a, b, inputs, 0)


def _compared(file: str, number: int, first: str, other: str, inputs: dict[str, Any], judged: Judged) -> Finding | None:
    a, b = parse_program(first), parse_program(other)
    if not align_written(a, b):
        return Finding(CODE, f"{file}: configuration {number} gives other results than the first", None, "error")
    try:
        report = judged(a, b, inputs)
    except IrverifyError as error:
        return Finding(CODE, f"{file}: configuration {number} could not be compared with the first: {error}")
    level = report.verdict.level
    if level >= Level.REAL:
        return None
    severity = "error" if level is Level.DIFFERENT else "warning"
    where = report.divergence.b if report.divergence is not None else None
    said = f"{file}: configuration {number} against the first is {level}: {report.verdict.reason}"
    return Finding(CODE, said, where, severity)
