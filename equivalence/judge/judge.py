"""Two programs -> Report: runs them, gathers evidence per output, reads the verdicts.

Takes the programs at every set of shapes (the given one first) with shared inputs; gives a Report without what the
tool adds (exit code, subjects).  Pure arithmetic: no framework, no user code.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from equivalence.evaluator.coverage import Coverage
from equivalence.evaluator.frame import OutOfTime
from equivalence.interpretations.base import Interpretation
from equivalence.interpretations.error import Error
from equivalence.judge import (
    accumulations,
    bounds_apart,
    conclusions,
    conditioning,
    differential,
    fused,
    layouts,
    lost,
    observed,
    orders,
    proofs,
    realjudge,
    schedules,
    scope,
    sensitivity,
    special,
    structure,
    truth,
)
from equivalence.judge.compare import paths_equal
from equivalence.judge.evidence import WORDS, Evidence
from equivalence.judge.given import Given, bounds, deep
from equivalence.judge.levels import RealState, level
from equivalence.judge.runs import Pair, PairRun
from equivalence.verdicts import (
    Check,
    Finding,
    Level,
    Report,
    ShapeResult,
    Verdict,
    worst,
)
from lowering.errors import InternalError, Unsupported
from lowering.ir.program import Program

LOST = {"exact": Level.BITWISE.value, "reassociated": Level.REASSOCIATED.value}


class Options(Protocol):
    """What the judge reads of the tool's options."""

    @property
    def seed(self) -> int: ...
    @property
    def special(self) -> str: ...
    @property
    def tolerance(self) -> tuple[float, float] | None: ...
    @property
    def timeout(self) -> float: ...
    @property
    def target(self) -> str | None: ...
    @property
    def inputs(self) -> Sequence[Any]: ...


def judge(
    programs_a: Sequence[Program],
    programs_b: Sequence[Program],
    arrays: Sequence[Mapping[str, np.ndarray]],
    options: Options,
    laid_out: Sequence[layouts.LaidOut] = (),
    given: Given | None = None,
) -> Report:
    """The report on a pair.  ``given``: the first of the sets of shapes where its run was begun already.

    Where the given set takes more time or memory than there is, the report is on the others, and its ``shapes`` say so.
    Raises Unsupported for what the evaluator cannot run.
    """
    pairs = [Pair(a, b, dict(x)) for a, b, x in zip(programs_a, programs_b, arrays, strict=True)]
    try:
        return Judge(pairs, options, laid_out, given).report()
    except (OutOfTime, MemoryError) as error:
        given_one = ShapeResult(Judge.shape_of(pairs[0]), Level.UNDECIDED, f"given: not run: {_too_much(error)}")
        report = Report(Verdict(Level.UNDECIDED, reason=str(error) or _too_much(error)))
    if len(pairs) > 1:
        kept = [replace(laid, base=laid.base - 1) for laid in laid_out if laid.base]
        with suppress(OutOfTime, MemoryError):  # the others take too much as well: nothing is known
            report = Judge(pairs[1:], options, kept).report()
    report.shapes.insert(0, given_one)
    return report


def _too_much(error: OutOfTime | MemoryError) -> str:
    return "out of time" if isinstance(error, OutOfTime) else "out of memory"


class Judge:
    """One comparison in progress."""

    def __init__(
        self,
        pairs: Sequence[Pair],
        options: Options,
        laid_out: Sequence[layouts.LaidOut] = (),
        given: Given | None = None,
    ) -> None:
        self.given, self.options = given or Given(pairs[0], options), options
        led = [self.given.pair, *(lead for lead, _ in self.given.leads)]
        self.pairs = [*led, *pairs[len(led) :]]
        self.laid_out, self.tried = list(laid_out), tuple(self.pairs)
        self.runner = self.given.runner
        self.deadline = time.monotonic() + options.timeout  # anew: other shapes may have been captured meanwhile
        self.runner.limits.deadline = self.deadline + options.timeout
        self.timings: dict[str, float] = {"evaluate": self.given.seconds}
        self.findings: list[Finding] = []
        self.bounds: list[tuple[Evidence, str, Finding]] = []  # bounds beyond the tolerance, by output and side
        self.checks: list[Check] = []
        self.results: dict[int, ShapeResult] = {}  # by pair
        self.assumptions: dict[str, None] = {}
        outputs = self.given.pair.a.outputs
        self.evidence = [Evidence(name, str(v.type.dtype), v.type.shape) for name, v in outputs]
        self.real = RealState()
        self.errors: dict[int, Error] = {}
        self.reached: dict[int, tuple[Coverage, Coverage]] = {}  # by pair
        self.proved: set[int] = set()  # pairs on which all words are equal

    def error(self, pair: Pair) -> Error:
        """Bounds of a pair, made once."""
        known = self.errors.get(id(pair))
        if known is None:
            known = self.errors[id(pair)] = bounds(pair, False, self.options.target)
        return known

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Notes the seconds; only the first phase cannot do without its runs, the others are cut short and say so."""
        start = time.monotonic()
        try:
            yield
        except (OutOfTime, MemoryError) as error:
            if phase == "evaluate":
                raise
            self.real.available &= phase != "real"
            self.real.late |= phase == "real"
            self.checks.append(Check(phase, None, f"stopped: {_too_much(error)}"))
        self.timings[phase] = self.timings.get(phase, 0.0) + time.monotonic() - start

    # -- the whole -----------------------------------------------------------------------------------------------

    def report(self) -> Report:
        wrong = structure.mismatch(self.pairs[0])
        for pair in self.pairs[1:]:
            self.other_type(pair)
        if wrong is not None:
            result, shown = wrong
            divergence = structure.divergence(self.pairs[0])
            place = divergence.b if divergence is not None else None
            found = [Finding("output-mismatch", result.verdict.reason, place)]
            return Report(
                result.verdict, [result], divergence=divergence, witness=shown, shapes=self.shapes, findings=found
            )
        with self.timed("evaluate"):
            self.deep_runs()
            fused.run(self)
        with self.timed("test"):
            differential.run(self)
            orders.run(self)
            schedules.run(self)
        with self.timed("real"):
            self.real_runs()
        with self.timed("truth"):
            truth.run(self)
        self.findings += [observed.bound_finding(self, *entry) for entry in self.bounds]
        programs = {"A": self.pairs[0].a, "B": self.pairs[0].b}
        self.findings += [found for e in self.evidence for found in sensitivity.unsure(e, programs)]
        turned = [found for e in self.evidence for found in sensitivity.turned(e, programs)]
        for found in (*turned, *lost.findings(self.evidence), *bounds_apart.findings(self)):
            self.find(found)
        verdicts = [level(evidence, self.runner.freedoms, self.real) for evidence in self.evidence]
        with self.timed("certificate"):
            verdicts = proofs.run(self, verdicts)
        report = conclusions.report(self, verdicts)
        with self.timed("conditioning"):
            conditioning.run(self, report)
        with self.timed("order of accumulation"):
            accumulations.run(self, report)
        with self.timed("special values"):
            special.run(self, report)
        with self.timed("layouts"):
            self.layouts(report)
        for shape in self.shapes:  # words that differ are no less: the whole was shown equal in the weaker sense
            if shape.level is Level.TESTED and report.verdict.level in (Level.REASSOCIATED, Level.REAL):
                shape.level = report.verdict.level
        report.checks, report.findings, report.shapes = self.checks, self.findings, self.shapes
        report.assumptions, report.timings = list(self.assumptions), self.timings
        return report

    # -- evidence ------------------------------------------------------------------------------------------------

    def deep_runs(self) -> None:
        """Every set of shapes once under the fingerprints, the bounds and `depends`; what cannot run is left out."""
        self.given.lead(self.pairs[1:])
        given, hashes = self.given.result()
        self.deep_run(0, self.given.pair, given, hashes)
        for number, pair in enumerate(self.pairs[1:], 1):
            if self.late():
                self.uncounted(pair, "not run: out of time")
                continue
            try:
                run, hashes = self.led(pair) or deep(self.runner, pair, self.options.seed + number, self.error(pair))
                failing = scope.failing(run, self.runner)
                same_classes = structure.scaled(self.given.pair, pair)
                numberless = "" if same_classes else scope.numberless(run, given)
            except Unsupported as error:
                self.uncounted(pair, f"not run: irverify cannot: {error}")
                continue
            except (OutOfTime, MemoryError) as error:
                self.uncounted(pair, f"not run: {_too_much(error)}")
                continue
            if failing:
                self.failing(pair, failing)
                continue
            if numberless:
                self.uncounted(pair, f"not counted: {numberless}")
                continue
            self.deep_run(number, pair, run, hashes)

    def led(self, pair: Pair) -> tuple[PairRun, list[Any]] | None:
        """The run of a set of shapes that led, which there is already."""
        return next((done for lead, done in self.given.leads if lead is pair), None)

    def uncounted(self, pair: Pair, why: str) -> None:
        """A set of shapes that says nothing of the given one."""
        self.results[id(pair)] = ShapeResult(self.shape_of(pair), Level.UNDECIDED, why)
        self.pairs = [kept for kept in self.pairs if kept is not pair]

    def failing(self, pair: Pair, sides: Mapping[str, str]) -> None:
        """A set of shapes at which a side fails says nothing of the given one; B alone ought to refuse it."""
        words, at = "; ".join(sides.values()), in_words(self.shape_of(pair))
        self.uncounted(pair, f"not counted: {words}")
        if scope.silent(sides, self.given.pair, pair):
            self.find(Finding("unguarded-shape", f"at {at} {words}, and A does not", None, "error"))
        else:
            self.find(Finding("specialised-shape", f"scope: at {at} {words}"))

    def other_type(self, pair: Pair) -> None:
        """Outputs of another dtype or shape than the other side's, at this set of shapes: scope, and a warning.

        Another shape is an error: B computes there, and gives less or more than A without saying so.  Not where sizes
        that are equal at the given shapes are not: that B takes them for one size is its scope.
        """
        wrong = structure.mismatch(pair)
        if wrong is None:
            return
        place = structure.divergence(pair)
        said = f"at {in_words(self.shape_of(pair))} {wrong[0].verdict.reason}"
        given = self.pairs[0]
        silent = pair is not given and wrong[0].verdict.reason.endswith("shape") and structure.scaled(given, pair)
        code, scope_ = ("shape-mismatch", "") if silent else ("specialised-shape", "scope: ")
        self.find(Finding(code, f"{scope_}{said}", place and place.b, "error" if silent else "warning"))
        self.uncounted(pair, f"not counted: {wrong[0].verdict.reason}")

    @property
    def shapes(self) -> list[ShapeResult]:
        """What was reached at every set of shapes, in the order in which they were given."""
        return [self.results[id(pair)] for pair in self.tried if id(pair) in self.results]

    def deep_run(self, number: int, pair: Pair, run: PairRun, hashes: Sequence[Any]) -> None:
        poisoned: list[bool] = []
        seen = []
        self.reached[id(pair)] = run.a.coverage, run.b.coverage
        failures = sum(len(e.failures) for e in self.evidence)
        label = "given" if number == 0 else f"random {in_words(self.shape_of(pair))}"
        for evidence, (_, a, b) in zip(self.evidence, run.outputs(), strict=True):
            found = evidence.add_deep(run, label, a, b, [hashed.name for hashed in hashes])
            seen.append(found.equal_words)
            poisoned.append(bool(found.undefined_a.any() or found.undefined_b.any()))
            if number == 0:
                observed.given_bounds(self, evidence, pair, a, b)
        if any(poisoned):
            observed.undefined_lanes(self, run, label, poisoned)
        observed.notice(self, run, given=number == 0)
        observed.random_draws(self, pair, run)
        for hashed in hashes:
            self.assumptions.update(dict.fromkeys(sorted(hashed.assumed)))
        alike = [name for name in ("exact", "reassociated") if paths_equal(run.a, run.b, name)]
        if all(any(words.get(name) for name in alike) for words in seen):
            self.proved.add(id(pair))
        differs = sum(len(e.failures) for e in self.evidence) > failures
        level_here = Level.DIFFERENT if differs else worst(_level_of(words) for words in seen)
        note = self.note(hashes) if number == 0 else ""
        self.results[id(pair)] = ShapeResult(self.shape_of(pair), level_here, note)

    def note(self, hashes: Sequence[Any]) -> str:
        """What is said of the given set of shapes: levels lost at those that led were not looked at again."""
        lost = [LOST[name] for name in WORDS if name not in {hashed.name for hashed in hashes}]
        return f"given ({' and '.join(lost)} not tried: lost at other shapes)" if lost else "given"

    def find(self, finding: Finding) -> None:
        if finding not in self.findings:
            self.findings.append(finding)

    def doubt(self) -> None:
        """Equal words are no proof where values differ: a law was used beyond what it assumes."""
        for evidence in self.evidence:
            if evidence.equal["exact"] and evidence.max_ulp > 0:
                evidence.equal = dict.fromkeys(evidence.equal, False)

    def real_runs(self) -> None:
        self.doubt()
        if all(e.failures or e.equal["exact"] or e.equal["reassociated"] for e in self.evidence):
            return
        realjudge.run(self)

    def layouts(self, report: Report) -> None:
        """The values of one set of shapes as views, where that set counts."""
        if not self.laid_out or report.verdict.level is Level.DIFFERENT:
            return
        base = self.tried[self.laid_out[0].base]
        if any(scope.draws(program) for program in (base.a, base.b)):
            self.checks.append(Check(layouts.CHECK, None, "not run: random numbers are drawn in the order of memory"))
        elif not any(pair is base for pair in self.pairs):
            self.checks.append(Check(layouts.CHECK, None, "not run: the set of shapes that was tried does not count"))
        else:
            report.layouts = layouts.examine(self, base, self.laid_out)

    # -- what else is known -----------------------------------------------------------------------------------------

    def tested(self) -> list[Pair]:
        """The smallest set of shapes, and every one that comes to something the smaller ones do not come to.

        Where the words are equal nothing is left to be tested.
        """
        chosen: list[Pair] = []
        known = Coverage(), Coverage()
        for pair in sorted(self.pairs, key=lambda p: p.size):
            reached = self.reached.get(id(pair), known)
            new = any(mine - seen for mine, seen in zip(reached, known, strict=True))
            if not chosen or (new and id(pair) not in self.proved):
                chosen.append(pair)
                for mine, seen in zip(reached, known, strict=True):
                    seen |= mine
        return chosen

    # -- small things --------------------------------------------------------------------------------------------

    def late(self) -> bool:
        return time.monotonic() > self.deadline

    @staticmethod
    def shape_of(pair: Pair) -> dict[str, tuple[int, ...]]:
        return {name: x.shape for name, x in pair.inputs.items() if not name.startswith("weight:")}


def in_words(shapes: Mapping[str, tuple[int, ...]]) -> str:
    """'x[64,96], y[96]'."""
    return ", ".join(f"{name}[{','.join(map(str, shape))}]" for name, shape in shapes.items())


def _level_of(words: Mapping[str, bool]) -> Level:
    """What the words of one run say, before open choices and the weaker levels are looked at."""
    if words.get("exact"):
        return Level.BITWISE
    return Level.REASSOCIATED if words.get("reassociated") else Level.TESTED


__all__ = ["InternalError", "Interpretation", "Judge", "judge"]
