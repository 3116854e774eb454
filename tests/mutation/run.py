"""The mutation run: captured programs in, a table of operator by verdict out, and every survivor that should not be.

``python -m tests.mutation [--per-program N] [--seed N] [--seconds S] [--captured DIR] [--only NAME ...]``
Exit code 1 when a bar is broken: a non-equivalent survivor at bitwise, reassociated or real certified, more than 1 % at
real evidence, or a crash.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from equivalence.mutants.draw import draw, text
from lowering.ir.parser import parse_program
from lowering.ir.printer import print_program
from lowering.ir.program import Program
from tests.mutation.oracle import Oracle
from tests.mutation.table import Summary
from tests.mutation.trial import JudgeFn, Trial, real_judge, trial


@dataclass(frozen=True, slots=True)
class Task:
    """An original program as text (types are compared by identity, so programs do not travel), and its inputs."""

    name: str
    kir: str
    inputs: dict[str, np.ndarray]
    count: int
    seed: int
    only: frozenset[str] = frozenset()
    seconds: float = 60.0  # after which no more mutants are drawn, once there are three


def trials(task: Task, judge: JudgeFn = real_judge) -> Iterator[Trial]:
    """All mutants of one program, judged."""
    original = parse_program(task.kir)
    oracle = Oracle(original, task.inputs, task.seed)
    rng = np.random.default_rng([task.seed, *task.name.encode()])
    start = time.monotonic()
    for number, mutant in enumerate(draw(original, task.count, rng, task.only)):
        if number > 2 and time.monotonic() - start > task.seconds:
            return
        yield trial(task.name, original, mutant, oracle, judge, task.seed)


def _work(task: Task) -> list[Trial]:
    return list(trials(task))


def originals(
    directory: Path, captured: bool, only: Sequence[str] = ()
) -> Iterator[tuple[str, Program, dict[str, np.ndarray]]]:
    """Both sides of every corpus pair at the smallest captured shapes; a program seen before is left out.

    ``only``: parts of the names of pairs that are captured, '' for all.
    """
    from tests.corpus.harness import capture, cases

    chosen = [case for case in cases() if not only or any(part in case.name for part in only)]
    pairs = _stored(directory) if captured else capture(chosen, directory)
    seen: set[str] = set()
    for case, found in pairs:
        if isinstance(found, Exception):
            print(f"{case.name}: not captured: {found}", flush=True)
            continue
        variant = min(found.variants, key=lambda v: sum(x.size for x in v.inputs.values()))
        for side, program in (("a", variant.program_a), ("b", variant.program_b)):
            if text(program) not in seen:
                seen.add(text(program))
                names = set(program.input_names)
                yield f"{case.name}.{side}", program, {k: x for k, x in variant.inputs.items() if k in names}


def _stored(directory: Path) -> Iterator[tuple]:
    """Exchanges that an earlier capture left."""
    from irverify.collect import collect
    from irverify.exchange import Exchange
    from irverify.prepare import prepare
    from tests.corpus.harness import cases

    for case in cases():
        if (directory / case.name).is_dir():
            sides = prepare(case.options(), directory).sides
            frameworks = sides[0].framework, sides[1].framework
            yield case, collect(Exchange(directory / case.name), ("a.py", "b.py"), frameworks)


def tasks(given: argparse.Namespace, directory: Path) -> Iterator[Task]:
    for name, program, inputs in originals(directory, given.captured is not None):
        if not given.only or any(wanted in name for wanted in given.only):
            only = frozenset(given.operator)
            yield Task(name, print_program(program), inputs, given.per_program, given.seed, only, given.seconds)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--per-program", type=int, default=12, help="mutants drawn from each program")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0, help="spent on one program, about")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--captured", type=Path, help="exchanges of an earlier capture, instead of capturing")
    parser.add_argument("--only", nargs="*", default=[], help="programs whose names contain one of these")
    parser.add_argument("--operator", nargs="*", default=[], help="only these operators")
    parser.add_argument("--log", type=Path, help="every trial as a line of JSON")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    given, start = arguments(argv), time.monotonic()
    summary = Summary()
    with tempfile.TemporaryDirectory() as temporary:
        directory = given.captured or Path(temporary)
        context = multiprocessing.get_context("spawn")
        with context.Pool(given.workers) as pool:
            chosen = list(tasks(given, directory))
            order = np.random.default_rng(given.seed).permutation(len(chosen))
            for found in pool.imap_unordered(_work, [chosen[i] for i in order]):
                for one in found:
                    summary.add(one)
                    if given.log:
                        with given.log.open("a") as log:
                            log.write(json.dumps(asdict(one)) + "\n")
    print(summary.text())
    print(f"{time.monotonic() - start:.0f} s")
    return 0 if summary.holds else 1
