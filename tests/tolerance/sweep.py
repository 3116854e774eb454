"""How many mutants of the corpus the derived tolerances reject, while they pass every legal reordering.

``python -m tests.tolerance.sweep [--captured DIR] [--per-program N] [--programs N] [--seed N]``.  Mutants are those
that ``make mutate`` draws.  One that no derived tolerance rejects is put to the judge: where that says `different`, on
whatever inputs, it is another program that these inputs and a tolerance do not show.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from equivalence.judge.quick import same_terms
from equivalence.mutants.draw import Mutant, draw
from equivalence.tolerance import Request, TolerancesReport, assess
from equivalence.tolerance.result import COUNTED, Trial
from lowering.errors import IrverifyError
from lowering.ir.program import Program
from tests.mutation.run import originals
from tests.mutation.trial import real_judge


@dataclass(slots=True)
class Sweep:
    """Trials of all programs.  ``judged``: by trial, what the judge says of a mutant that passes."""

    seed: int
    count: int
    made: list[Mutant] = field(default_factory=list[Mutant])
    trials: list[tuple[str, Trial, str]] = field(default_factory=list[tuple[str, Trial, str]])
    programs: int = 0
    reorderings: int = 0
    broken: list[str] = field(default_factory=list[str])

    def drawn(self, name: str, program: Program, count: int) -> Iterator[Mutant]:
        """As tests.mutation.run draws them."""
        for mutant in draw(program, count, np.random.default_rng([self.seed, *name.encode()])):
            self.made.append(mutant)
            yield mutant

    def add(self, name: str, program: Program, inputs: dict[str, np.ndarray]) -> TolerancesReport:
        self.made.clear()
        wrong = lambda p, count, seed: self.drawn(name, p, count)  # noqa: E731
        report = assess(Request(program, inputs, seed=self.seed, mutants=self.count, wrong=wrong))
        self.programs += 1
        self.reorderings += report.runs
        self.broken += [f"{name}: {f}" for f in report.broken]
        mutants = [t for t in report.trials if t.kind == "mutant"]
        for trial, mutant in zip(mutants, self.made, strict=True):
            if not trial.passes.get("expected", True) and _is_legal(program, trial, mutant, inputs):
                self.broken.append(f"{name}: [{trial.name}] {trial.what} has the same terms and is rejected")
            passed = trial.status in ("inseparable", "unseen") or not any(trial.passes.values())
            judged = _judged(program, mutant.program, inputs) if passed and trial.passes.get("worst") else ""
            self.trials.append((name, trial, judged))
        return report

    @property
    def counted(self) -> list[tuple[str, Trial, str]]:
        """Mutants with other terms or roundings."""
        return [x for x in self.trials if x[1].status in COUNTED]

    @property
    def beyond(self) -> list[tuple[str, Trial, str]]:
        """Those that are further from the original than both error bounds, on these inputs."""
        return [x for x in self.counted if x[1].beyond_bounds]

    @property
    def other(self) -> list[tuple[str, Trial, str]]:
        """Those known to be other programs: beyond a bound here, or refuted by the judge on whatever inputs."""
        return [x for x in self.counted if not x[1].passes["worst"] or x[2] == "different"]

    def share(self, tolerance: str, those: list[tuple[str, Trial, str]]) -> float:
        """How many of them the tolerance rejects."""
        return sum(not trial.passes[tolerance] for _, trial, _ in those) / max(1, len(those))

    def text(self) -> str:
        lines = [f"{self.programs} programs, {self.reorderings} legal reorderings, {len(self.broken)} rejected"]
        lines += self.broken[:20]
        lines.append(f"mutants by status: {dict(Counter(t.status for _, t, _ in self.trials))}")
        for tolerance in ("expected", "worst"):
            lines.append(
                f"{tolerance}: rejects {self.share(tolerance, self.counted):.1%} of {len(self.counted)} mutants with "
                f"other terms or roundings, {self.share(tolerance, self.other):.1%} of {len(self.other)} known to be "
                f"other programs, {self.share(tolerance, self.beyond):.1%} of {len(self.beyond)} beyond both bounds"
            )
        for name, trial, judged in self.counted:
            if trial.passes["expected"]:
                far = "beyond bounds, " if trial.beyond_bounds else ""
                lines.append(f"  {name} [{trial.name}] {trial.what}: {far}{trial.status}; the judge: {judged}")
        return "\n".join(lines)


def _is_legal(program: Program, trial: Trial, mutant: Mutant, inputs: dict[str, np.ndarray]) -> bool:
    """Whether a rejected mutant only adds up the same terms in another order."""
    near = trial.name in ("reorder a sum", "commute (control)") or not trial.beyond_bounds
    return near and same_terms(program, mutant.program, inputs, 0)


def _judged(a: Program, b: Program, inputs: dict[str, np.ndarray]) -> str:
    try:
        return real_judge(a, b, inputs, 0).verdict.level.value
    except IrverifyError as error:
        return type(error).__name__


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tolerance.sweep", description=__doc__)
    parser.add_argument("--captured", type=Path, help="exchanges of an earlier capture, instead of capturing")
    parser.add_argument("--per-program", type=int, default=6)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given, start = parser.parse_args(argv), time.monotonic()
    sweep = Sweep(given.seed, given.per_program)
    with tempfile.TemporaryDirectory() as temporary:
        for name, program, inputs in originals(given.captured or Path(temporary), given.captured is not None):
            if sweep.programs >= given.programs:
                break
            try:
                report = sweep.add(name, program, inputs)
            except IrverifyError as error:
                print(f"{name}: {error}", flush=True)
                continue
            shown = " ".join(f"{o.name}:{o.expected and (o.expected.rtol, o.expected.atol)}" for o in report.outputs)
            print(f"{name} {shown} {time.monotonic() - start:.0f} s", flush=True)
    print(sweep.text())
    return 1 if sweep.broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
