"""``python -m tests.bounds``: every corpus kernel on random and adversarial inputs; a table of observed error / bound.

Exit code 1 where a bound is exceeded.  A kernel is one side of a pair; both sides at the same text count once.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from equivalence.bounds.check import Tally, check
from lowering.errors import IrverifyError
from lowering.ir.parser import parse_program
from lowering.ir.printer import print_program
from tests.mutation.run import originals

LARGEST = 1 << 14  # input elements


@dataclass(frozen=True, slots=True)
class Task:
    """A program as text (programs do not travel between processes)."""

    name: str
    kir: str
    inputs: dict[str, np.ndarray]
    elements: int
    seed: int
    seconds: float


def tasks(given: argparse.Namespace, directory: Path) -> Iterator[Task]:
    for name, program, inputs in originals(directory, given.captured is not None):
        if not given.only or any(wanted in name for wanted in given.only):
            yield Task(name, print_program(program), inputs, given.elements, given.seed, given.seconds)


def work(task: Task) -> tuple[str, Tally | str, float]:
    start = time.monotonic()
    try:
        tally: Tally | str = check(parse_program(task.kir), task.inputs, task.elements, task.seed, task.seconds)
    except IrverifyError as error:
        tally = str(error)
    return task.name, tally, time.monotonic() - start


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bounds", description=__doc__)
    parser.add_argument("--elements", type=int, default=1_000_000, help="output elements judged for each kernel")
    parser.add_argument("--seconds", type=float, default=60.0, help="spent on one kernel at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--captured", type=Path, help="exchanges of an earlier capture, instead of capturing")
    parser.add_argument("--only", nargs="*", default=[], help="kernels whose names contain one of these")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    given, broken, total, start = arguments(argv), 0, 0, time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        chosen = list(tasks(given, given.captured or Path(temporary)))
    print(f"{'kernel':<40}{'judged':>10}{'runs':>8}{'observed/bound':>16}  where")
    with multiprocessing.get_context("spawn").Pool(given.workers) as pool:
        for name, tally, seconds in pool.imap_unordered(work, chosen):
            if isinstance(tally, str):
                print(f"{name:<40} not run: {tally}", flush=True)
                continue
            worst, total = tally.worst, total + tally.elements
            where = f"{worst.draw}, {worst.order}" if worst.ratio else ""
            where = "data steer: not judged" if tally.steered else where
            print(
                f"{name:<40}{tally.elements:>10}{tally.runs:>8}{worst.ratio:>16.3g}  {where}  {seconds:.0f} s",
                flush=True,
            )
            broken += bool(tally.broken)
            for line in tally.broken[:3]:
                print(f"    EXCEEDED: {line}", flush=True)
    print(
        f"{len(chosen)} kernels, {total:.3g} elements, {broken} exceed their bounds; {time.monotonic() - start:.0f} s"
    )
    return 1 if broken else 0
