"""Gradients that enter a backward pass as views: a function is to give the same for them as for contiguous ones.

Takes an Exchange after both workers have ended, and the judge; gives Findings and a Check.  sum() and mean() hand back
one number with strides of 0 and a transpose hands back a transposed gradient, so these are no exotic callers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from equivalence.verdicts import Check, Finding, Level, Report
from irverify.exchange import Exchange
from irverify.failures import error_of
from irverify.pairing import WRITTEN, align_written
from lowering.errors import IrverifyError, Span
from lowering.ir.builder import Builder
from lowering.ir.parser import parse_program
from lowering.ir.program import Program, Value
from lowering.ir.types import TensorType

CODE, SCOPE, CHECK = "cotangent-layout", "specialised-layout", "incoming gradients"
LEFT_OUT = "no-gradients"  # published, with the reason, by a worker that does not try them
COTANGENT = "cotangent:"
EXPANDED, TRANSPOSED = "expanded", "transposed"
IN_WORDS = {EXPANDED: "expanded (strides of 0, as after sum())", TRANSPOSED: "transposed"}
Judged = Callable[[Program, Program, dict[str, Any]], Report]


def layouts(inputs: dict[str, Any]) -> list[str]:
    """The layouts in which some incoming gradient is not contiguous."""
    shapes = [value.data.shape for name, value in inputs.items() if name.startswith(COTANGENT) and value.data.size > 1]
    turned = any(len(shape) > 1 and min(shape[-2:]) > 1 for shape in shapes)
    return [EXPANDED] * bool(shapes) + [TRANSPOSED] * turned


@dataclass(slots=True)
class Seen:
    """What became of the layouts of both sides."""

    same: dict[str, None] = field(default_factory=dict[str, None])  # 'A expanded'
    strayed: list[tuple[str, str, str, Span | None]] = field(default_factory=list)  # side, layout, message, place
    refused: dict[str, list[str]] = field(default_factory=dict[str, list[str]])  # message -> layouts
    open: dict[str, str] = field(default_factory=dict[str, str])


def examine(exchange: Exchange, files: tuple[str, str], judged: Judged) -> tuple[list[Finding], Check | None]:
    """Both sides, each against itself on contiguous gradients; no check where nothing was captured so."""
    seen = Seen()
    if exchange.has("layouts"):
        for side, file in zip("ab", files):
            _look(exchange, side, file, judged, seen)
    return list(_findings(seen)), _check(seen)


def left_out(exchange: Exchange) -> list[Check]:
    """Why incoming gradients were not tried, where they would have been: an open check."""
    names = ["no-layouts", f"a.{LEFT_OUT}", f"b.{LEFT_OUT}"]
    reasons = [exchange.read(name)["why"] for name in names if exchange.has(name)]
    return [Check(CHECK, None, f"not run: {'; '.join(reasons)}")] if reasons else []


def _look(exchange: Exchange, side: str, file: str, judged: Judged, seen: Seen) -> None:
    base = f"{side}.v{exchange.read('layouts')['base']}"
    for label in (EXPANDED, TRANSPOSED):
        name = f"{side}.g.{label}"
        if not exchange.has(name):
            continue
        record = exchange.read(name)
        if "failure" in record:
            said = str(error_of(record["failure"], file)).splitlines()[0].removeprefix(f"{file}: ")
            if record["failure"]["kind"] == "unsupported":
                seen.open[f"{file}: {said}"] = label
            else:
                seen.refused.setdefault(f"{file} does not run: {said}", []).append(label)
            continue
        inputs = {key: value.data for key, value in exchange.read(base)["inputs"].items()}
        programs = [parse_program(exchange.read_text(f"{key}.kir")) for key in (base, name)]
        _compare(programs, inputs, (side.upper(), file, label), judged, seen)


def _compare(
    programs: list[Program], inputs: dict[str, Any], where: tuple[str, str, str], judged: Judged, seen: Seen
) -> None:
    from equivalence.judge.quick import same_terms

    (dense, viewed), (side, file, label) = programs, where
    for program in programs:  # what becomes of the incoming gradient itself is compared where it is contiguous
        program.outputs = [output for output in program.outputs if not output[0].startswith(WRITTEN + COTANGENT)]
    if label == EXPANDED:
        inputs = uniform(dense, inputs)
    if not align_written(dense, viewed):
        seen.open[f"{file} gives other results than for contiguous ones: {_listed(viewed)}, not {_listed(dense)}"] = (
            label
        )
        return
    if same_terms(dense, viewed, inputs, 0):
        seen.same[f"{side} {label}"] = None
        return
    try:
        report = judged(dense, viewed, inputs)
    except IrverifyError as error:
        seen.open[f"{file}: {error}"] = label
        return
    level = report.verdict.level
    if level >= Level.REAL:
        seen.same[f"{side} {label}"] = None
    elif level is Level.DIFFERENT:
        names = [output.name for output in report.outputs if output.verdict.level is Level.DIFFERENT]
        said = (
            f"{file} reads its incoming gradient as contiguous memory: where that is {IN_WORDS[label]}, "
            f"{', '.join(names) or 'a gradient'} is another than for contiguous ones of the same values"
        )
        seen.strayed.append((side, label, said, _site(report, viewed)))
    else:
        seen.open[f"{file}: {report.verdict.reason or level}"] = label


def _listed(program: Program) -> str:
    return ", ".join(f"{name} {value.type}" for name, value in program.outputs) or "none"


def _site(report: Report, program: Program) -> Span | None:
    """Where the two programs part, else the last launch, which is one of the backward pass."""
    if report.divergence is not None and report.divergence.b is not None:
        return report.divergence.b
    return next((op.span for op in reversed(program.body.ops) if op.name == "launch" and op.span.line), None)


def uniform(program: Program, inputs: dict[str, Any]) -> dict[str, Any]:
    """Makes every incoming gradient of the program one number for all elements; gives the inputs for that."""
    builder = Builder()
    for index, (name, argument) in enumerate(zip(program.input_names, list(program.body.args))):
        if name.startswith(COTANGENT) and argument.type.rank:
            number = Value(f"uniform{index}", TensorType(argument.type.dtype, ()))
            builder.broadcast(number, argument.type.shape)
            builder.block.ops[-1].results = [argument]
            program.body.args[index] = number
            inputs = {**inputs, name: inputs[name].reshape(-1)[:1].reshape(())}
    program.body.ops[:0] = builder.block.ops
    return inputs


def _findings(seen: Seen) -> Iterator[Finding]:
    """An error where one side strays; where both do, B is as faithful to A as its gradients are."""
    sides = {side for side, *_ in seen.strayed}
    for side in sorted(sides):
        own = [entry for entry in seen.strayed if entry[0] == side]
        _, _, said, span = own[0]
        also = f" (also: {', '.join(label for _, label, *_ in own[1:])})" if own[1:] else ""
        yield Finding(CODE, said + also, span, "error" if len(sides) == 1 else "warning")
    for said, labels in seen.refused.items():
        words = f"scope: nothing is said of incoming gradients that are {' or '.join(labels)}: {said}"
        yield Finding(SCOPE, words, None, "note")


def _check(seen: Seen) -> Check | None:
    if not (seen.same or seen.strayed or seen.refused or seen.open):
        return None
    detail = (
        f"each side gives the same for views as for contiguous ones: {', '.join(seen.same) or 'in no layout tried'}"
    )
    if seen.open:
        said, label = next(iter(seen.open.items()))
        detail += f"; {label} not told: {said}"
    if seen.strayed:
        return Check(CHECK, False, detail)
    return Check(CHECK, None if seen.open or not seen.same else True, detail, applies=bool(seen.same or seen.open))
