"""`irverify tolerance`: one file or a pair captured at the given shape, then its tolerances assessed.

Takes options and what to check; gives an Assessed: the subjects and the TolerancesReport.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from equivalence.verdicts import Subject
from irverify import sandbox
from irverify.collect import collect
from irverify.exchange import Exchange
from irverify.failures import Undecided
from irverify.options import CompareOptions
from irverify.orchestrate import Progress, display_names, own_limits, silent, supervise
from irverify.prepare import prepare
from lowering.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    from equivalence.tolerance import TolerancesReport
    from lowering.ir.program import Program

MOST_DRAWS, MOST_MUTANTS = 64, 1000


@dataclass(frozen=True, slots=True)
class Question:
    """``check``: the proposed (rtol, atol); None only derives."""

    check: tuple[float, float] | None = None
    draws: int = 3
    mutants: int = 32

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("draws", self.draws, 1, MOST_DRAWS),
            ("mutants", self.mutants, 0, MOST_MUTANTS),
        ):
            if not least <= value <= most:
                raise UsageError(f"--{name} is {value}; write a number from {least} to {most}")
        if self.check is not None and not all(0 <= part < float("inf") for part in self.check):
            raise UsageError(f"--check is {self.check}; write two numbers from 0 up: RTOL,ATOL")


def parse_check(text: str | None) -> tuple[float, float] | None:
    """'1e-5,1e-8' as (rtol, atol)."""
    if text is None:
        return None
    try:
        rtol, atol = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--check is {text!r}; write two numbers, RTOL,ATOL: --check 1e-5,1e-8") from None
    return rtol, atol


@dataclass(frozen=True, slots=True)
class Assessed:
    """``subjects``: A, and B where there is one; ``seconds``: of the assessment alone."""

    subjects: list[Subject]
    report: TolerancesReport
    seconds: float


@dataclass(frozen=True, slots=True)
class _Captured:
    subjects: list[Subject]
    a: Program
    b: Program | None
    inputs: dict[str, np.ndarray]
    notes: list[str]


def tolerance(
    options: CompareOptions, question: Question, entry: str | None = None, progress: Progress = silent
) -> Assessed:
    """``options.b`` is '' where there is one file only."""
    captured = _pair(options, progress) if options.b else _one(options, entry)
    progress("assessing tolerances")
    started = time.monotonic()
    report = _assess(captured, options, question, started + options.timeout)
    report.notes += [note for note in captured.notes if note not in report.notes]
    return Assessed(captured.subjects, report, time.monotonic() - started)


def _assess(captured: _Captured, options: CompareOptions, question: Question, deadline: float) -> TolerancesReport:
    from threadpoolctl import threadpool_limits

    from equivalence.tolerance import Request, assess

    request = Request(
        captured.a,
        captured.inputs,
        b=captured.b,
        check=question.check,
        seed=options.seed,
        draws=question.draws,
        mutants=question.mutants,
        deadline=deadline,
    )
    with threadpool_limits(1, "blas"):
        return assess(request)


def _one(options: CompareOptions, entry: str | None) -> _Captured:
    from irverify.lower import program_of

    one = program_of(replace(options, b=options.a), entry)
    kernels = sorted(one.program.kernels)
    subject = Subject(str(one.side.path), one.side.entry, one.side.framework, kernels)
    return _Captured([subject], one.program, None, one.inputs, list(one.program.notes))


def _pair(options: CompareOptions, progress: Progress) -> _Captured:
    """Both files on the same inputs, at the given shape only."""
    options = replace(options, shapes=("given",), layouts="ignore")
    with tempfile.TemporaryDirectory(prefix="irverify-", ignore_cleanup_errors=True) as directory:
        exchange = Exchange(Path(directory), mapped=False)
        prepared = prepare(options, exchange.directory)
        if prepared.given is not None:
            exchange.publish("api", prepared.given)
        files = display_names(prepared.sides)
        children = [
            sandbox.start(job.side, job.to_json(), exchange.directory, options.timeout, options.memory)
            for job in prepared.jobs
        ]
        supervise(children, exchange, files, options, progress)
        frameworks = prepared.sides[0].framework, prepared.sides[1].framework
        collected = own_limits(collect(exchange, files, frameworks))
    if not collected.variants:
        raise Undecided(next((shape.note for shape in collected.skipped), "the two could not be captured together"))
    given = collected.variants[0]
    subjects = [
        Subject(str(side.path), side.entry, side.framework, kernels)
        for side, kernels in zip(prepared.sides, collected.kernels)
    ]
    return _Captured(subjects, given.program_a, given.program_b, given.inputs, _of_files(collected.notes, files))


def _of_files(notes: list[str], files: tuple[str, str]) -> list[str]:
    """Without what is said of other shapes, which are not asked for here."""
    return [note for note in notes if note.startswith(tuple(f"{file}: " for file in files))]
