"""Autotuned kernels that update their arguments: on a device the first call runs them for every configuration first.

Takes an Exchange after both workers have ended, and the judge; gives Findings.  A worker publishes the run in which
each such launch was tried once; where that gives something else than the run itself, so does a device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from equivalence.verdicts import Finding, Level, Report
from irverify.exchange import Exchange
from irverify.pairing import align_written
from lowering.errors import IrverifyError, Span
from lowering.ir.parser import parse_program
from lowering.ir.program import Program

CODE = "autotune-repeats"
Judged = Callable[[Program, Program, dict[str, Any]], Report]


def findings(exchange: Exchange, files: tuple[str, str], judged: Judged) -> list[Finding]:
    """One for each launch; errors where one side alone does so."""
    found = {side: list(_of_side(exchange, side, file, judged)) for side, file in zip("ab", files)}
    severity = "warning" if all(found.values()) else "error"
    return [
        Finding(CODE, said, span, severity if sure else "warning") for of in found.values() for said, span, sure in of
    ]


def _of_side(exchange: Exchange, side: str, file: str, judged: Judged) -> Iterator[tuple[str, Span, bool]]:
    if not exchange.has(f"{side}.tuned"):
        return
    record = exchange.read(f"{side}.tuned")
    level = _level(exchange, record, judged)
    if level >= Level.REAL:
        return  # written anew each time, or left as it was found
    for kernel, arguments, path, line in record["launches"]:
        said = (
            f"{file}: the autotuner of {kernel} runs it for every configuration before the first result, and nothing "
            f"puts back what it updates ({arguments}): reset_to_zero and restore_value do not name it"
        )
        yield said, Span(path, line), level is Level.DIFFERENT


def _level(exchange: Exchange, record: dict[str, Any], judged: Judged) -> Level:
    """How much the run with one trial of each launch is the run without."""
    from equivalence.judge.quick import same_terms

    if not record["kir"]:
        return Level.UNDECIDED
    once, tried = parse_program(exchange.read_text(f"{record['at']}.kir")), parse_program(record["kir"])
    inputs = {name: value.data for name, value in exchange.read(record["at"])["inputs"].items()}
    if not align_written(once, tried):
        return Level.DIFFERENT
    if same_terms(once, tried, inputs, 0):
        return Level.REASSOCIATED
    try:
        return judged(once, tried, inputs).verdict.level
    except IrverifyError:
        return Level.UNDECIDED
