"""``python -m tests.bounds``: every corpus kernel on random and adversarial inputs, errors beside bounds.

``largest``: of all observed errors over their bounds; ``ratio``: a bound over the largest error that a search finds for
it among well-conditioned elements.  Exit code 1 where a bound is exceeded, or is more than 100 times what was found.
A kernel is one side of a pair; sides of the same text count once.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import multiprocessing
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from equivalence.bounds.check import Tally, check
from equivalence.bounds.search import Found, search
from lowering.errors import IrverifyError
from lowering.ir.parser import parse_program
from lowering.ir.printer import print_program
from tests.mutation.run import originals

LOOSE = 100  # times the largest error found that a bound of well-conditioned elements may be


@dataclass(frozen=True, slots=True)
class Task:
    """A program as text (programs do not travel between processes)."""

    name: str
    kir: str
    inputs: dict[str, np.ndarray]
    elements: int
    seed: int
    seconds: float
    tries: int


@dataclass(frozen=True, slots=True)
class Row:
    """What is known of one kernel; ``why``: that it could not be run."""

    name: str
    tally: Tally | None
    found: Found | None
    why: str
    seconds: float
    digest: str = ""

    def data(self) -> dict[str, Any]:
        """As a line of the results."""
        tally, found = self.tally, self.found
        data = {"name": self.name, "digest": self.digest, "why": self.why, "seconds": round(self.seconds, 1)}
        if tally is not None:
            data |= {"elements": tally.elements, "unknown": tally.unknown, "runs": tally.runs, "steered": tally.steered}
            data |= {"largest": tally.worst.ratio, "on": f"{tally.worst.draw}, {tally.worst.order}"}
            data |= {"broken": tally.broken[:5]}
        return data if found is None else data | {"ratio": found.ratio, "tries": found.tries, "exact": found.exact}

    def __str__(self) -> str:
        if self.tally is None:
            return f"{self.name:<34} not run: {self.why}"
        tally, found = self.tally, self.found
        if tally.steered:
            return f"{self.name:<34} data steer: not judged"
        ratio = "-" if found is None or not found.elements else "exact" if found.exact else f"{found.ratio:.3g}"
        where = f"{tally.worst.draw}, {tally.worst.order}" if tally.worst.ratio else ""
        counts = f"{tally.elements:>9}{tally.runs:>7}{tally.worst.ratio:>9.3g}"
        return f"{self.name:<34}{counts}{ratio:>9}{found.tries if found else 0:>7}  {where}"

    @property
    def loose(self) -> bool:
        found = self.found
        return found is not None and bool(found.elements) and not found.exact and found.ratio > LOOSE


def tasks(given: argparse.Namespace, directory: Path) -> Iterator[Task]:
    """One after the other, as each pair is captured; those in the results are left out."""
    done = set(stored(given.results))
    only = [wanted.removesuffix(".a").removesuffix(".b") for wanted in given.only]
    for name, program, inputs in originals(directory, given.captured is not None, only):
        wanted = not given.only or any(part in name for part in given.only)
        kir = print_program(program)
        if wanted and (name, digest(kir)) not in done:
            yield Task(name, kir, inputs, given.elements, given.seed, given.seconds, given.tries)


def digest(kir: str) -> str:
    """Of a program without the places in its source."""
    return hashlib.sha256(re.sub(r' @".*', "", kir).encode()).hexdigest()[:16]


def stored(results: Path | None) -> Iterator[tuple[str, str]]:
    """(name, digest) of every program in a file of results; lines cut off are no results."""
    for line in results.read_text().splitlines() if results is not None and results.exists() else ():
        with contextlib.suppress(ValueError, KeyError):
            row = json.loads(line)
            yield row["name"], row["digest"]


def work(task: Task) -> Row:
    start, program = time.monotonic(), parse_program(task.kir)
    try:
        tally = check(program, task.inputs, task.elements, task.seed, task.seconds)
        found = (
            None
            if tally.steered or not task.tries
            else search(program, task.inputs, task.tries, task.seed, task.seconds)
        )
    except IrverifyError as error:
        return Row(task.name, None, None, str(error), time.monotonic() - start, digest(task.kir))
    return Row(task.name, tally, found, "", time.monotonic() - start, digest(task.kir))


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bounds", description=__doc__)
    parser.add_argument("--elements", type=int, default=1_000_000, help="output elements judged for each kernel")
    parser.add_argument("--tries", type=int, default=300, help="steps of the search for each kernel, 0 for none")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the processor for each of the two, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--captured", type=Path, help="exchanges of an earlier capture, instead of capturing")
    parser.add_argument("--only", nargs="*", default=[], help="kernels whose names contain one of these")
    parser.add_argument("--results", type=Path, help="JSON lines, added to; kernels that are there are not run again")
    return parser.parse_args(argv)


def _worked(chosen: Iterator[Task], workers: int) -> Iterator[Row]:
    """In this process where there is one worker, so that nothing waits for what is captured later."""
    if workers == 1:
        yield from map(work, chosen)
        return
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        yield from pool.imap_unordered(work, chosen)


def main(argv: Sequence[str] | None = None) -> int:
    given, start = arguments(argv), time.monotonic()
    rows: list[Row] = []
    print(f"{'kernel':<34}{'judged':>9}{'runs':>7}{'largest':>9}{'ratio':>9}{'tries':>7}  largest on")
    with tempfile.TemporaryDirectory() as temporary:
        for row in _worked(tasks(given, given.captured or Path(temporary)), given.workers):
            rows.append(row)
            print(row, flush=True)
            for line in row.tally.broken[:3] if row.tally else ():
                print(f"    EXCEEDED: {line}", flush=True)
            if given.results is not None:
                with given.results.open("a") as file:
                    file.write(json.dumps(row.data()) + "\n")
    total = sum(row.tally.elements for row in rows if row.tally)
    broken = [row.name for row in rows if row.tally and row.tally.broken]
    loose = [row.name for row in rows if row.loose]
    print(f"{len(rows)} kernels, {total:.3g} elements, {time.monotonic() - start:.0f} s")
    print(f"beyond their bounds: {broken or 'none'}")
    print(f"bounds more than {LOOSE} times the largest error found: {loose or 'none'}")
    return 1 if broken or loose else 0
