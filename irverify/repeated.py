"""State between calls: what a call leaves behind must not change what the next one gives.

Takes an Exchange after both workers have ended, and the judge; gives Findings.  A worker whose function left something
changed has called it again with the same arguments, and published the results of both calls as programs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from equivalence.verdicts import Finding, Level, Report
from irverify import refilled
from irverify.exchange import Exchange
from irverify.pairing import pair_programs
from lowering.errors import IrverifyError, Span, UsageError
from lowering.ir.parser import parse_program
from lowering.ir.program import Program

CODE = "stateful"
STATE = "state:"  # how the capture calls outputs that are state
Judged = Callable[[Program, Program, dict[str, Any]], Report]
MOST_NAMES = 3


def findings(exchange: Exchange, files: tuple[str, str], judged: Judged) -> list[Finding]:
    """What each side's second call shows; where both keep state, whether they keep the same."""
    found = {side: list(_of_side(exchange, side, file, judged)) for side, file in zip("ab", files)}
    for side, file in zip("ab", files):
        if not any(finding.severity == "error" for finding in found[side]):
            found[side] += refilled.findings(exchange, side, file, judged)
    each = [finding for side in found.values() for finding in side]
    if all(any(f.severity == "error" for f in side) for side in found.values()) and _alike(exchange, files, judged):
        where = _words(_second(exchange, "b")["names"])
        said = f"both sides keep state ({where}); two calls in a row give and leave the same on both"
        return [Finding(CODE, said, None, "note")]
    return each


def _second(exchange: Exchange, side: str) -> dict[str, Any]:
    return exchange.read(f"{side}.v0.second")


def _of_side(exchange: Exchange, side: str, file: str, judged: Judged) -> Iterator[Finding]:
    if not exchange.has(f"{side}.v0.second"):
        return
    second = _second(exchange, side)
    where = _words(second["names"])
    if second["unseen"]:
        said = f"{file}: a call leaves {where} changed; what a second call gives was not seen: {second['unseen']}"
        yield Finding(CODE, said)
        return
    if second["differs"]:
        said = f"{file}: a second call with the same arguments differs: {second['differs']} (state in {where})"
        yield Finding(CODE, said, None, "error")
        return
    differing = _differing(exchange, side, file, second, judged)
    if differing is None or differing.severity != "error":
        yield from _overwritten(second, file)
        yield from _carried(second, file)
    if differing is not None:
        yield differing
    elif second["counted"]:
        said = f"{file}: every call changes {_words(second['counted'])}; the second one gives what the first gave"
        yield Finding(CODE, said, None, "note")


def _carried(second: dict[str, Any], file: str) -> Iterator[Finding]:
    """Results that a second call takes from the first: right for the same arguments only."""
    names = second["carried"]
    if names:
        which = "result" if len(names) == 1 else "results"
        said = (
            f"{file}'s {which} {_words(names)} of a second call rest on what the first one computed from its arguments"
        )
        yield Finding(CODE, said, None, "error")


def _overwritten(second: dict[str, Any], file: str) -> Iterator[Finding]:
    """Results that do not outlive the next call, though two calls with the same arguments give the same."""
    for key in ("overwritten", "reused"):
        names, severity = second[key], "error" if key == "overwritten" else "warning"
        which, what = ("result", "is a tensor") if len(names) == 1 else ("results", "are tensors")
        if names:
            said = f"{file}'s {which} {_words(names)} {what} that it keeps and overwrites at the next call"
            yield Finding(CODE, said, None, severity)


def _differing(exchange: Exchange, side: str, file: str, second: dict[str, Any], judged: Judged) -> Finding | None:
    """The finding where the programs of the two calls are not the same."""
    from equivalence.judge.quick import same_terms

    first, again = parse_program(second["first"]), parse_program(second["again"])
    inputs = _inputs(exchange, side)
    if second["first"] == second["again"] or same_terms(first, again, inputs, 0):
        return None
    where = _words(second["names"])
    try:
        report = judged(first, again, inputs)
    except IrverifyError as error:
        return Finding(CODE, f"{file}: a call leaves {where} changed; a second call could not be compared: {error}")
    level = report.verdict.level
    used_alike = level is not Level.DIFFERENT and same_terms(_results(first), _results(again), inputs, 0)
    if level >= Level.REAL or used_alike:
        return None  # scratch memory that is partly undefined, or was raced for, is no state
    if level is not Level.DIFFERENT:
        return Finding(CODE, f"{file}: a second call against the first is {level}: {report.verdict.reason}")
    return Finding(CODE, f"{file}: {_difference(report, where)}", _site(report), "error")


def _results(program: Program) -> Program:
    """The program without the state among its outputs."""
    return replace(program, outputs=[output for output in program.outputs if not output[0].startswith(STATE)])


def _difference(report: Report, where: str) -> str:
    names = [output.name for output in report.outputs if output.verdict.level is Level.DIFFERENT]
    results = [name for name in names if not name.startswith(STATE)]
    if names and not results:
        return f"every call changes {where}, and goes on from what the last one left there"
    return f"a second call with the same arguments gives another {', '.join(results) or 'result'}: state in {where}"


def _site(report: Report) -> Span | None:
    return report.divergence.b if report.divergence is not None else None


def _inputs(exchange: Exchange, side: str) -> dict[str, Any]:
    return {name: value.data for name, value in exchange.read(f"{side}.v0")["inputs"].items()}


def _alike(exchange: Exchange, files: tuple[str, str], judged: Judged) -> bool:
    """Whether the second calls of the two sides, which both go on from the first, agree in results and state."""
    if not all(exchange.has(f"{side}.v0.second") and _second(exchange, side)["again"] for side in "ab"):
        return False
    programs = [parse_program(_second(exchange, side)["again"]) for side in "ab"]
    a, b = programs
    if {name for name, _ in a.outputs} != {name for name, _ in b.outputs}:
        return False
    try:
        pair_programs(a, b, files)
        return judged(a, b, _inputs(exchange, "a")).verdict.level >= Level.REAL
    except UsageError:
        return False


def _words(names: Sequence[str]) -> str:
    """'self.cache and LOG' for self.cache, len(LOG), LOG[3]."""
    roots = list(dict.fromkeys(re.sub(r"^len\((.*)\)$", r"\1", name).split("[")[0] for name in names))
    shown = roots[:MOST_NAMES] + ([f"{len(roots) - MOST_NAMES} more"] if len(roots) > MOST_NAMES else [])
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if shown[1:] else shown)
