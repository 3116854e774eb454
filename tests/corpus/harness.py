"""Captures corpus pairs in two long-lived processes (one a side), so that frameworks are imported once, not per pair.

Takes names of corpus folders; gives Collected per pair, in order.  `python -m tests.corpus.harness DIR NAMES...` leaves
the exchanges in DIR.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from irverify.collect import Collected, Variant, collect
from irverify.exchange import Exchange
from irverify.failures import describe, error_of
from irverify.job import Job
from irverify.options import CompareOptions
from irverify.prepare import prepare
from irverify.side import run_side

CORPORA = Path(__file__).resolve().parents[2] / "corpora"
SECONDS = 300


@dataclass(frozen=True, slots=True)
class Case:
    """A corpus pair: its folder and what expect.toml says."""

    name: str
    expect: dict[str, Any]

    @property
    def folder(self) -> Path:
        return CORPORA / self.name

    def options(self, **changes: Any) -> CompareOptions:
        given = CompareOptions(
            a=str(self.folder / "a.py"),
            b=str(self.folder / "b.py"),
            entry_a=self.expect.get("entry_a"),
            entry_b=self.expect.get("entry_b"),
            inputs=tuple(self.expect.get("inputs", ())),
            backward=self.expect.get("backward", False),
        )
        return replace(given, **changes)


def cases() -> list[Case]:
    """Every pair, by name."""
    files = sorted(CORPORA.glob("*/expect.toml"))
    return [Case(file.parent.name, tomllib.loads(file.read_text())) for file in files]


def _serve(side: int, jobs: Sequence[Job]) -> None:
    """Runs one side of every pair; a failure is left in its exchange."""
    for job in jobs:
        try:
            run_side(job)
        except BaseException as error:
            Exchange(Path(job.exchange)).publish(f"{job.side}.failed", describe(error, Path(job.path)))
            Exchange(Path(job.exchange)).publish("end", {"count": 0, "note": ""})


def capture(chosen: Sequence[Case], directory: Path) -> Iterator[tuple[Case, Collected | Exception]]:
    """Both sides of every pair, each as soon as it is there."""
    prepared = []
    for case in chosen:
        folder = directory / case.name
        folder.mkdir(parents=True)
        prepared.append(prepare(case.options(), folder))
    jobs = [pair.jobs for pair in prepared]
    context = multiprocessing.get_context("spawn")
    servers = [context.Process(target=_serve, args=(side, [pair[side] for pair in jobs])) for side in (0, 1)]
    for server in servers:
        server.start()
    try:
        for case, pair in zip(chosen, prepared, strict=True):
            frameworks = pair.sides[0].framework, pair.sides[1].framework
            yield case, _await(Exchange(directory / case.name), frameworks, lambda: any(s.is_alive() for s in servers))
    finally:
        for server in servers:
            server.kill()


def followed(chosen: Sequence[Case], directory: Path) -> Iterator[tuple[Case, Collected | Exception]]:
    """The same, of a capture that another process has begun in ``directory``."""
    for case in chosen:
        deadline = time.monotonic() + SECONDS
        while not (directory / case.name).is_dir() and time.monotonic() < deadline:
            time.sleep(0.01)
        with tempfile.TemporaryDirectory() as own:
            sides = prepare(case.options(), Path(own)).sides
        frameworks = sides[0].framework, sides[1].framework
        yield case, _await(Exchange(directory / case.name), frameworks, lambda: True)


def _await(exchange: Exchange, frameworks: tuple[str, str], goes_on: Callable[[], bool]) -> Collected | Exception:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        for side in "ab":
            if exchange.has(f"{side}.failed"):
                return error_of(exchange.read(f"{side}.failed"), f"{side}.py")
        if exchange.has("a.done") and exchange.has("b.done"):
            try:
                return collect(exchange, ("a.py", "b.py"), frameworks)
            except Exception as error:
                return error
        if not goes_on():
            return RuntimeError("both capture processes ended early")
        time.sleep(0.01)
    return TimeoutError(f"not captured in {SECONDS} s")


def swapped(variant: Variant) -> Variant:
    """b ~ a."""
    return replace(variant, program_a=variant.program_b, program_b=variant.program_a)


def doubled(variant: Variant) -> Variant:
    """a ~ a."""
    return replace(variant, program_b=variant.program_a)


if __name__ == "__main__":
    import sys

    wanted = set(sys.argv[2:])
    for case, found in capture([c for c in cases() if not wanted or c.name in wanted], Path(sys.argv[1])):
        print(case.name, "ok" if isinstance(found, Collected) else f"{type(found).__name__}: {found}", flush=True)
