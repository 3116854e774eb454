"""Two forward passes before a backward pass: the gradients of the first must not be made of what the second left.

Takes an Exchange after both workers have ended, and the judge; gives Findings, and Checks of calls that were not made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from equivalence.verdicts import Check, Finding, Level, Report
from irverify.exchange import Exchange
from lowering.errors import IrverifyError
from lowering.ir.parser import parse_program
from lowering.ir.program import Program

CODE = "stateful"
#: What workers publish, and the name of the check that is open where they say why they could not look.
CHECKS = {"refilled": "arguments refilled between calls", "interleaved": "two passes before a backward pass"}
Judged = Callable[[Program, Program, dict[str, Any]], Report]


def findings(exchange: Exchange, files: tuple[str, str], judged: Judged) -> list[Finding]:
    """Errors where one side alone gives other gradients, warnings where both do."""
    found = [list(_of_side(exchange, side, file, judged)) for side, file in zip("ab", files)]
    if all(any(finding.severity == "error" for finding in side) for side in found):
        return [Finding(f.code, f.message, f.span, "warning") for side in found for f in side]
    return [finding for side in found for finding in side]


def left_out(exchange: Exchange, files: tuple[str, str]) -> list[Check]:
    """An open check for each kind of call that could not be made, or not be compared."""
    checks = list[Check]()
    for name, said in CHECKS.items():
        records = [(file, f"{side}.{name}") for side, file in zip("ab", files) if exchange.has(f"{side}.{name}")]
        why = [f"{file}: {exchange.read(at)['unseen']}" for file, at in records if exchange.read(at)["unseen"]]
        if why:
            checks.append(Check(said, None, f"not run: {'; '.join(why)}"))
    return checks


def _of_side(exchange: Exchange, side: str, file: str, judged: Judged) -> Iterator[Finding]:
    if not exchange.has(f"{side}.interleaved"):
        return
    from equivalence.judge.quick import same_terms

    seen = exchange.read(f"{side}.interleaved")
    if not seen["alone"]:
        return
    alone, between = parse_program(seen["alone"]), parse_program(seen["between"])
    inputs = {name: value.data for name, value in exchange.read(seen["at"])["inputs"].items()}
    if same_terms(alone, between, inputs, 0):
        return
    try:
        report = judged(alone, between, inputs)
    except IrverifyError as error:
        yield Finding(CODE, f"{file}: gradients of two passes in turn could not be compared: {error}")
        return
    level = report.verdict.level
    if level is Level.DIFFERENT:
        names = [output.name for output in report.outputs if output.verdict.level is Level.DIFFERENT]
        said = (
            f"{file}: where another call comes before the backward pass, {', '.join(names) or 'a gradient'} is another "
            "than without it: what the backward pass needs is not kept on ctx"
        )
        yield Finding(CODE, said, report.divergence.b if report.divergence is not None else None, "error")
    elif level < Level.REAL:
        yield Finding(CODE, f"{file}: gradients of two passes in turn are {level}: {report.verdict.reason}")
