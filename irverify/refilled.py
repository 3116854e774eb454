"""A call with the same arrays refilled: it must give what it gives for other arrays of the same values.

Takes an Exchange after both workers have ended, and the judge; gives Findings on one side.  A serving loop (a CUDA
graph, a static input buffer) calls so; a cache by the identity of an argument is stale there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from equivalence.verdicts import Finding, Level, Report
from irverify.exchange import Exchange
from lowering.errors import IrverifyError
from lowering.ir.parser import parse_program
from lowering.ir.program import Program

CODE = "stateful"
Judged = Callable[[Program, Program, dict[str, Any]], Report]


def findings(exchange: Exchange, side: str, file: str, judged: Judged) -> Iterator[Finding]:
    """An error where a result is stale, or overwritten by the next call; a warning where that is not known."""
    if not exchange.has(f"{side}.refilled"):
        return
    seen = exchange.read(f"{side}.refilled")
    names = ", ".join(seen["overwritten"])
    if names:
        said = f"{file} keeps the memory of what it returns ({names}) and overwrites it at the next call"
        yield Finding(CODE, said, None, "error")
    if seen["again"]:
        inputs = {name: value.data for name, value in exchange.read(seen["at"])["inputs"].items()}
        yield from _stale(parse_program(seen["fresh"]), parse_program(seen["again"]), inputs, file, judged)


def _stale(fresh: Program, again: Program, inputs: dict[str, Any], file: str, judged: Judged) -> Iterator[Finding]:
    from equivalence.judge.quick import same_terms

    if same_terms(fresh, again, inputs, 0):
        return
    try:
        report = judged(fresh, again, inputs)
    except IrverifyError as error:
        yield Finding(CODE, f"{file}: a call with other values in the same tensors could not be compared: {error}")
        return
    level = report.verdict.level
    if level is Level.DIFFERENT:
        names = [output.name for output in report.outputs if output.verdict.level is Level.DIFFERENT]
        said = (
            f"{file}: where the same tensors hold other values at the next call, {', '.join(names) or 'a result'} is "
            "another than for new tensors of these values: it rests on what the first call computed"
        )
        yield Finding(CODE, said, report.divergence.b if report.divergence is not None else None, "error")
    elif level < Level.REAL:
        said = (
            f"{file}: a call with other values in the same tensors is {level} to one with new tensors of these values"
        )
        yield Finding(CODE, f"{said}: {report.verdict.reason}")
