"""A whole comparison: prepare, run both workers at once, collect, judge, finish the report.

Takes CompareOptions; gives a Report.  The one place that calls the judge, and the one that supervises workers.
"""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from equivalence.verdicts import Check, Finding, Level, Report, ShapeResult, Subject, Verdict, Witness
from irverify import (
    __version__,
    configurations,
    cotangents,
    faults,
    inference,
    interleaved,
    jax_flags,
    oversize,
    repeated,
    retuned,
    sandbox,
    unsynchronised,
)
from irverify.collect import Collected, Variant, collect
from irverify.early import Early
from irverify.exchange import POLL_SECONDS, Exchange
from irverify.exits import ExitCode, exit_code_of
from irverify.failures import Undecided, error_of
from irverify.options import CompareOptions
from irverify.prepare import Prepared, prepare
from irverify.subjects import Side
from lowering.errors import Unsupported, UsageError
from lowering.ir.program import Program

if TYPE_CHECKING:
    from equivalence.judge import Given

Progress = Callable[[str], None]
SPECIAL, LAYOUTS = "special values", "other layouts"  # the names of the checks that can be strict
FORMULAS = "tables that the two hosts make of no input are compared by how they are made"
TABLES = "tables that the two hosts make of no input are the data that they are, rounded"
CONFIGURATION_SECONDS = 15.0  # of judging one autotune configuration against the first


def silent(_: str) -> None:
    """No progress display."""


def compare(options: CompareOptions, progress: Progress = silent) -> Report:
    """The report on a pair; unsupported and undecided pairs have reports too, only usage errors are raised."""
    started = time.monotonic()
    if os.environ.get(sandbox.WORKER):
        raise UsageError("irverify compare was started by a file that irverify is comparing")
    if options.save_witness is not None:
        check_writable(Path(options.save_witness))
    with _exchange() as exchange:
        prepared: Prepared | None = None
        try:
            prepared = prepare(options, exchange.directory)
            report = _run(prepared, options, exchange, progress)
            if report.verdict.level < Level.REAL and TABLES in report.assumptions:
                report = _by_formulas(prepared, options, progress, report)
        except (Unsupported, Undecided) as error:
            report = _without_verdict(error)
    if report.subjects is None and prepared is not None:
        a, b = (Subject(str(side.path), side.entry, side.framework) for side in prepared.sides)
        report.subjects = (a, b)
    return finish(report, options, started)


def _by_formulas(prepared: Prepared, options: CompareOptions, progress: Progress, report: Report) -> Report:
    """The report on the same pair with tables as they are made, where that says more than their bytes did.

    Bytes hide the roundings that made them: no bound counts these, so even a difference may be theirs.  By formula they
    are counted, and cost exit 0 where they are beyond the tolerance.
    """
    with _exchange() as exchange:
        jobs = [replace(job, exchange=str(exchange.directory), formulas=True) for job in prepared.jobs]
        try:
            again = _run(replace(prepared, jobs=(jobs[0], jobs[1])), options, exchange, progress)
        except (Unsupported, Undecided):
            return report
    if again.verdict.level < Level.REAL:
        return report
    again.assumptions.append(f"{FORMULAS}; as the rounded numbers that torch makes of them: {report.verdict.level}")
    return again


@contextmanager
def _exchange() -> Iterator[Exchange]:
    with tempfile.TemporaryDirectory(prefix="irverify-", ignore_cleanup_errors=True) as directory:
        yield Exchange(Path(directory), mapped=False)


def _run(prepared: Prepared, options: CompareOptions, exchange: Exchange, progress: Progress) -> Report:
    if prepared.given is not None:
        exchange.publish("api", prepared.given)
    start = time.monotonic()
    children = [
        sandbox.start(job.side, job.to_json(), exchange.directory, options.timeout, options.memory)
        for job in prepared.jobs
    ]
    _warm_judge()
    files = display_names(prepared.sides)
    frameworks = prepared.sides[0].framework, prepared.sides[1].framework
    early = Early(exchange, files, frameworks, options)
    try:
        notes = supervise(children, exchange, files, options, progress)
        captured = time.monotonic()
        collected = own_limits(collect(exchange, files, frameworks))
    except BaseException:
        early.stop()
        raise
    progress(f"judging {len(collected.variants)} sets of shapes")
    report = judged(collected, options, early.join())
    report.timings = {"capture": captured - start, "judge": time.monotonic() - captured, **report.timings}
    tables = [TABLES] if _hold_tables(prepared, collected) else []
    report.assumptions = list(dict.fromkeys([*report.assumptions, *collected.notes, *notes, *tables]))
    report.shapes += collected.skipped
    if options.layouts != "ignore":
        _note_left_out(report, layouts_left_out(exchange, frameworks))
    report.findings += _specialised(collected.skipped) + _not_run(report.shapes)
    judged_at = time.monotonic()
    report.findings += configurations.findings(exchange, files, _briefly(options))
    report.timings["configurations"] = time.monotonic() - judged_at
    report.findings += repeated.findings(exchange, files, _briefly(options))
    report.findings += interleaved.findings(exchange, files, _briefly(options))
    report.findings += inference.findings(exchange, files, frameworks, _briefly(options))
    report.checks += interleaved.left_out(exchange, files)
    programs = [[v.program_a for v in collected.variants], [v.program_b for v in collected.variants]]
    report.findings += unsynchronised.findings(programs, files)
    report.findings += faults.findings(programs, files)
    for a, b in list(zip(*programs))[:1]:
        report.findings += faults.missing_attributes(a, b, files)
        report.findings += jax_flags.findings(exchange, (a, b), files)
    report.findings += retuned.findings(exchange, files, _briefly(options))
    found, check = cotangents.examine(exchange, files, _briefly(options))
    report.findings += found
    if check is not None:
        report.checks.append(check)
    elif options.backward and frameworks != ("jax", "jax"):
        report.checks += cotangents.left_out(exchange)
    report.subjects = _subjects(prepared, collected)
    return report


def _hold_tables(prepared: Prepared, collected: Collected) -> bool:
    """Whether some program has constant arrays of floats where it might have their formulas."""
    if any(job.formulas for job in prepared.jobs):
        return False
    programs = (p for v in collected.variants[:1] for p in (v.program_a, v.program_b))
    ops = (op for program in programs for op in program.body.walk() if op.name == "constant")
    return any(op.results[0].type.dtype.is_float and np.size(op.attrs["value"]) > 1 for op in ops)


#: How `collect` says that a side failed, where it was irverify that could not go on: that is no property of the side.
_LIMITS = {
    "A does not run there: Unsupported: unsupported: ": "irverify does not model what A does there: ",
    "scope, this side is specialised: unsupported: ": "not counted, irverify does not model what this does there: ",
    " does not run: unsupported: ": " does what irverify does not model: ",
}


def own_limits(collected: Collected) -> Collected:
    """The same, with irverify's limits told from what the files refuse."""
    skipped = [replace(shape, note=_as_limit(shape.note)) for shape in collected.skipped]
    laid_out = [
        replace(layout, refused=_as_limit(layout.refused), limit=_as_limit(layout.refused) != layout.refused)
        for layout in collected.laid_out
    ]
    return replace(collected, skipped=skipped, laid_out=laid_out)


def _as_limit(note: str) -> str:
    for words, instead in _LIMITS.items():
        note = note.replace(words, instead)
    return note


def layouts_left_out(exchange: Exchange, frameworks: tuple[str, str]) -> str:
    """Why arguments that are views were not all tried; '' where they were, or where no side has strides."""
    strided = [side for side, framework in zip("ab", frameworks) if framework != "jax"]
    for name in ("no-layouts", *(f"{side}.no-layouts" for side in strided)) if strided else ():
        if exchange.has(name):
            return str(exchange.read(name)["why"])
    if not all(exchange.has(f"{side}.done") for side in strided):
        return "out of time"
    base = exchange.read("layouts")["base"] if strided and exchange.has("layouts") else 0
    names = [f"{side}.v{base}" for side in "ab"]
    failed = [name[0].upper() for name in names if exchange.has(name) and "failure" in exchange.read(name)]
    return f"{failed[0]} cannot be captured at the set of shapes chosen for it" if failed else ""


def _note_left_out(report: Report, why: str) -> None:
    """A check of layouts that were not all tried has not passed."""
    if not why or report.verdict.level is Level.DIFFERENT:
        return
    found = next((check for check in report.checks if check.name == LAYOUTS), None)
    if found is None:
        report.checks.append(Check(LAYOUTS, None, f"not run: {why}"))
    elif found.passed:
        report.checks[report.checks.index(found)] = replace(found, passed=None, detail=f"{found.detail}; then {why}")


def _warm_judge() -> None:
    """Imports the judge while the workers import their frameworks; a failure shows when it is called."""
    with suppress(ImportError):
        import threadpoolctl  # noqa: F401

        import equivalence.judge  # noqa: F401


def judged(collected: Collected, options: CompareOptions, given: Given | None = None) -> Report:
    """The verdict on what was collected; ``given``: the run of its first variant, where that was begun already."""
    variants = collected.variants
    programs_a, programs_b = [v.program_a for v in variants], [v.program_b for v in variants]
    report = _judge(programs_a, programs_b, [v.inputs for v in variants], options, collected.laid_out, given)
    for shape, variant in zip(report.shapes, variants):
        shape.note = shape.note or variant.label
        if variant.label == oversize.LABEL:  # the judge calls the first one the given one
            shape.note = shape.note.replace("given", oversize.LABEL, 1)
    if options.target_b is not None and variants:
        report.findings += _migrated(variants[0], options, options.target_b, report.verdict.level)
    return report


def _migrated(given: Variant, options: CompareOptions, target_b: str, level: Level) -> list[Finding]:
    """What the matrix units of two targets change at the given shapes; the verdict is about the programs."""
    from equivalence.evaluator import Limits
    from equivalence.judge import migration
    from equivalence.judge.given import masked_loads_are_zero
    from equivalence.judge.runs import Pair

    limits = Limits(masked_load_is_zero=masked_loads_are_zero(options), deadline=time.monotonic() + options.timeout)
    pair = Pair(given.program_a, given.program_b, given.inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return migration.findings(pair, (options.device, target_b), level, options.seed, limits)


def _judge(
    a: Sequence[Program],
    b: Sequence[Program],
    inputs: Sequence[dict[str, Any]],
    options: CompareOptions,
    laid_out: Sequence[Any] = (),
    given: Given | None = None,
) -> Report:
    """The only call into the judge."""
    from threadpoolctl import threadpool_limits

    from equivalence.judge import judge

    with warnings.catch_warnings(), threadpool_limits(1, "blas"):  # the judge has threads of its own
        warnings.simplefilter("ignore", RuntimeWarning)  # overflow and NaN are what special values are about
        return judge(a, b, inputs, options, laid_out, given)


def _briefly(options: CompareOptions) -> configurations.Judged:
    """The judge with a fraction of the time."""
    brief = replace(options, timeout=min(options.timeout, CONFIGURATION_SECONDS), special="ignore")
    return lambda a, b, inputs: _judge([a], [b], [inputs], brief)


def _specialised(skipped: Sequence[ShapeResult]) -> list[Finding]:
    """Shapes at which only one side runs: scope, not a difference."""
    return [Finding("specialised-shape", s.note, None, "note") for s in skipped if "specialised" in s.note]


def _not_run(skipped: Sequence[ShapeResult]) -> list[Finding]:
    """The given set of shapes, where the verdict is about smaller ones alone."""
    return [Finding("given-not-run", s.note, None, "warning") for s in skipped if s.note.startswith(oversize.NOT_RUN)]


def supervise(
    children: Sequence[sandbox.Child],
    exchange: Exchange,
    files: Sequence[str],
    options: CompareOptions,
    progress: Progress = silent,
) -> list[str]:
    """Waits for the workers.  The first failure ends both; a time limit after the given shape only ends the search."""
    try:
        while [child for child in children if child.running()]:  # a list: every deadline is looked at
            progress(_state(children, exchange, files))
            for child, file in zip(children, files):
                _raise_failure(child, exchange, file, options)
            time.sleep(POLL_SECONDS)
        for child, file in zip(children, files):
            _raise_failure(child, exchange, file, options)
    finally:
        for child in children:
            child.stop()
    late = [file for child, file in zip(children, files) if child.killed_for == "time"]
    return [f"{file}: the time limit ended the search for more shapes" for file in late]


def _state(children: Sequence[sandbox.Child], exchange: Exchange, files: Sequence[str]) -> str:
    words = []
    for child, file in zip(children, files):
        done, loaded = exchange.has(f"{child.name}.done"), exchange.has(f"{child.name}.loaded")
        words.append(f"{file}: {'captured' if done else 'capturing' if loaded else 'importing'}")
    return "   ".join(words)


def _raise_failure(child: sandbox.Child, exchange: Exchange, file: str, options: CompareOptions) -> None:
    alive = child.process.poll() is None and not child.killed_for  # killed, it may take a while to be gone
    if alive or child.killed_for == "stopped" or exchange.has(f"{child.name}.done"):
        return
    if exchange.has(f"{child.name}.failed"):
        raise error_of(exchange.read(f"{child.name}.failed"), file)
    if child.killed_for == "time":
        waits_for_other = exchange.has(f"{child.name}.waits") and not exchange.has("v0")
        if exchange.has(f"{child.name}.v0") or waits_for_other:
            return
        stage = "running its entry" if exchange.has(f"{child.name}.loaded") else "importing the file"
        raise Undecided(
            f"{file}: {stage} did not end within {options.timeout:g} s; raise --timeout if that is expected"
        )
    raise _died(child, file)


def _died(child: sandbox.Child, file: str) -> Exception:
    message = f"{file}: the file did not run to its end: {child.died_of()}"
    tail = child.output_tail()
    if tail:
        message += "\nIts last output:\n" + "\n".join(f"    {line}" for line in tail.splitlines())
    return UsageError(message) if "memory" not in child.died_of() else Undecided(message)


def display_names(sides: Sequence[Side]) -> tuple[str, str]:
    """File names as the report writes them: short when that is unambiguous."""
    names = [side.path.name for side in sides]
    if names[0] == names[1]:
        names = [str(side.path) for side in sides]
    return names[0], names[1]


def _subjects(prepared: Prepared, collected: Collected) -> tuple[Subject, Subject]:
    made = [
        Subject(str(side.path), side.entry, side.framework, kernels)
        for side, kernels in zip(prepared.sides, collected.kernels)
    ]
    return made[0], made[1]


def _without_verdict(error: Unsupported | Undecided) -> Report:
    if isinstance(error, Unsupported):
        reason = error.construct + (f" ({error.hint})" if error.hint else "")
        return Report(Verdict(Level.UNSUPPORTED, reason=reason, site=error.span))
    return Report(Verdict(Level.UNDECIDED, reason=str(error)))


def finish(report: Report, options: CompareOptions, started: float) -> Report:
    """What the tool adds to a judged report: the exit code, the total time, the saved witness."""
    report.require, report.version = options.require, __version__
    if options.special == "strict" and report.verdict.level is not Level.DIFFERENT:
        _strict_special(report)
    if options.layouts == "strict" and report.verdict.level is not Level.DIFFERENT:
        _strict_layouts(report)
    report.exit_code = int(exit_code_of(report))
    report.timings = {**report.timings, "total": time.monotonic() - started}
    if options.save_witness is not None and report.witness is not None:
        from irverify.report.witness import save_witness

        save_witness(report, Path(options.save_witness))
    return report


def _strict_special(report: Report) -> None:
    """A special value on which the two differ, as the difference that the user asked to count."""
    found = next(iter(report.special_values), None)
    if found is None:
        check = next((check for check in report.checks if check.name == SPECIAL), Check(SPECIAL, None, "not run"))
        _strictly(report, check, "--special is strict, but special values were not all compared")
        return
    reason = f"special values differ and --special is strict: {found.message}"
    report.verdict = replace(report.verdict, level=Level.DIFFERENT, reason=reason)
    report.witness = Witness(found.inputs, found.index, found.value_a, found.value_b, found.bound, output=found.output)


def _strictly(report: Report, check: Check, words: str) -> None:
    """What was asked for and not done to its end leaves open what would have been good enough."""
    if check.passed is None and check.applies and exit_code_of(report) is ExitCode.GOOD:
        reason = f"{words}: {check.detail}"
        report.verdict = Verdict(Level.UNDECIDED, reason=reason, n_inputs=report.verdict.n_inputs)


def _strict_layouts(report: Report) -> None:
    """A layout in which one side strays, as the difference that the user asked to count."""
    found = next((layout for layout in report.layouts if layout.is_difference), None)
    if found is None:
        for check in [check for check in report.checks if check.name == LAYOUTS]:
            _strictly(report, check, "--layouts is strict, but other layouts were not all tried")
        return
    reason = f"--layouts is strict: {found.message}"
    report.verdict = replace(report.verdict, level=Level.DIFFERENT, reason=reason)
    a, b = (x if x is not None and x == x else "undefined" for x in (found.value_a, found.value_b))
    report.witness = Witness(found.inputs, found.index, a, b, found.bound, output=found.output, views=found.views)


def check_writable(directory: Path) -> None:
    """Refuses a witness directory that cannot be made, before any work is done; leaves nothing behind."""
    parent = directory.absolute()
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir():
        raise UsageError(f"--save-witness {directory}: {parent} is a file; give a directory")
    try:
        os.rmdir(
            tempfile.mkdtemp(prefix=".irverify-", dir=parent)
        )  # permissions alone do not tell: /proc, read-only disks
    except OSError as error:
        reason = "no permission to write" if isinstance(error, PermissionError) else f"cannot write ({error.strerror})"
        raise UsageError(f"--save-witness {directory}: {reason} in {parent}; give another directory") from None
