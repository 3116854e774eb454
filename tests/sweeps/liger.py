"""One liger-kernel operator against its PyTorch reference: both captured in one session, lowered and judged.

Takes a LigerCase; gives a Row, forward and backward.  Runs in a worker process (tests.sweeps.pool), which keeps the
session between cases.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from typing import Any

from equivalence.verdicts import Report, Verdict
from irverify._capture import Captured
from irverify._capture_torch import captured_trace
from irverify.collect import Variant
from irverify.options import CompareOptions
from irverify.pairing import WRITTEN, pair_programs
from irverify.readback import read_back
from lowering.errors import Span, Unsupported
from lowering.ir.parser import parse_program
from tests.sweeps.row import Part, Row

FILES = ("liger", "reference")
SECONDS = 60.0  # of judging one case in one direction


def names() -> list[str]:
    """Every case, without importing torch in the parent for longer than the list takes."""
    from tests.sweeps.liger_cases import CASES

    return [case.name for case in CASES]


class Liger:
    """A session with liger-kernel in it; entered on the first case."""

    def __init__(self) -> None:
        from lowering.capture.torch_host import torch_session

        self.stack = contextlib.ExitStack()
        self.session = self.stack.enter_context(torch_session())

    def row(self, name: str) -> Row:
        from tests.sweeps.liger_cases import CASES

        case, started = next(case for case in CASES if case.name == name), time.monotonic()
        parts = [self.part(case, backward) for backward in ((False, True) if case.backward else (False,))]
        return Row(name, parts, time.monotonic() - started)

    def part(self, case: Any, backward: bool) -> Part:
        """The verdict on the outputs (or on the gradients); what cannot be captured or lowered is unsupported."""
        try:
            variant, notes = self.variant(case, backward)
            report = judged(variant)
        except Unsupported as error:
            return Part("unsupported", f"{error.construct} at {at(error.span)}", [])
        except Exception as error:
            if os.environ.get("SWEEP_DEBUG"):
                raise
            return Part("error", f"{type(error).__name__}: {error}".split("\n")[0][:200], [])
        from tests.sweeps.oracle import confirms, disagreements

        if report.witness is not None:
            return part_of(report, notes, confirms(case, variant, report.witness))
        return part_of(report, notes, disagreements(case, variant))

    def variant(self, case: Any, backward: bool) -> tuple[Variant, list[str]]:
        """Both sides' programs as the command line pairs them, and their inputs."""
        a, b = self.captured(case, case.load, backward), self.captured(case, case.load_reference, backward)
        program_a, program_b = parse_program(a.kir), parse_program(b.kir)
        names_b = list(program_b.input_names)
        notes = pair_programs(program_a, program_b, FILES)
        for program in (program_a, program_b):
            program.outputs = [(n, v) for n, v in program.outputs if n.startswith("grad:") is backward]
        notes += drop_one_sided(program_a, program_b)
        inputs = {new: b.inputs[old] for old, new in zip(names_b, program_b.input_names, strict=True)} | a.inputs
        return Variant("given", program_a, program_b, inputs), notes

    def captured(self, case: Any, load: Callable[[], Callable[..., Any]], backward: bool) -> Captured:
        function, inputs = load(), case.inputs()
        arguments = list(inputs.values()) if hasattr(function, "forward") else inputs
        return captured_trace(self.session.capture(function, arguments, backward=backward, read_back=read_back))


def drop_one_sided(a: Any, b: Any) -> list[str]:
    """Updates in place that only one side makes are named, not judged: a fused backward reuses its operands' memory."""
    given = {id(value) for program in (a, b) for value in program.body.args}
    pairs = zip(a.outputs, b.outputs, strict=True)
    dropped = {n for (n, x), (_, y) in pairs if n.startswith(WRITTEN) and (id(x) in given) != (id(y) in given)}
    for program in (a, b):
        program.outputs = [(name, value) for name, value in program.outputs if name not in dropped]
    return [f"only one side writes to {name.removeprefix(WRITTEN)}" for name in sorted(dropped)]


def judged(variant: Variant) -> Report:
    """The judge of the command line, on the given shapes."""
    import warnings

    from equivalence.judge import judge

    options = CompareOptions(a=FILES[0], b=FILES[1], timeout=SECONDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return judge([variant.program_a], [variant.program_b], [variant.inputs], options)


def part_of(report: Report, notes: list[str], disagreements: list[str]) -> Part:
    """The report in one line; a verdict of equality that the float64 reference contradicts is marked."""
    verdict = report.verdict
    words = [reason(verdict)] if verdict.reason else []
    if report.divergence is not None and verdict.level.value not in ("bitwise", "reassociated", "real"):
        spans = [at(span) for span in (report.divergence.a, report.divergence.b) if span is not None]
        words.append(f"{report.divergence.what} [{' | '.join(spans)}]")
    return Part(verdict.level.value, "; ".join([*words, *notes]), disagreements)


def reason(verdict: Verdict) -> str:
    return verdict.reason + (f" at {at(verdict.site)}" if verdict.site is not None and verdict.site.line else "")


def at(span: Span) -> str:
    """File name and line, without the folders."""
    return f"{os.path.basename(span.file)}:{span.line}"
