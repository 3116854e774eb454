"""Runs the cases of a sweep in a few child processes; a case that dies or hangs costs only itself.

Takes the path of a class 'module:Class' and case names; gives Rows as they come.
"""

from __future__ import annotations

import importlib
import multiprocessing
import time
import traceback
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from tests.sweeps.row import Part, Row

CASE_SECONDS = 180
START_SECONDS = 60


def _serve(path: str, pipe: Connection) -> None:
    module, _, name = path.partition(":")
    subject = getattr(importlib.import_module(module), name)()
    while True:
        case = pipe.recv()
        try:
            pipe.send(subject.row(case))
        except Exception as error:
            traceback.print_exc()
            pipe.send(Row(case, [Part("error", f"{type(error).__name__}: {error}")], 0.0))


class Worker:
    """A child and the case it is at."""

    def __init__(self, path: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process: Any = context.Process(target=_serve, args=(path, other), daemon=True)
        self.process.start()
        other.close()
        self.case, self.deadline = "", 0.0

    def give(self, case: str, seconds: float = CASE_SECONDS + START_SECONDS) -> None:
        self.case, self.deadline = case, time.monotonic() + seconds
        self.pipe.send(case)

    def result(self) -> Row:
        """The row that is there; a dead child's row is an error."""
        try:
            return self.pipe.recv()
        except EOFError:
            self.process.join()
            return Row(self.case, [Part("error", f"the process died with exit code {self.process.exitcode}")], 0.0)


def run(path: str, cases: Sequence[str], workers: int) -> Iterator[Row]:
    """A row per case, in the order they finish."""
    waiting = list(cases)
    busy = [Worker(path) for _ in range(min(workers, len(waiting)))]
    for worker in busy:
        worker.give(waiting.pop(0))
    try:
        while busy:
            for worker in _ready(busy):
                yield worker.result() if worker.pipe.poll() else _late(worker)
                _next(path, worker, waiting, busy)
    finally:
        for worker in busy:
            worker.process.kill()


def _ready(busy: Sequence[Worker]) -> list[Worker]:
    """Workers that have answered, died, or are past their time."""
    first = min(worker.deadline for worker in busy)
    wait([worker.pipe for worker in busy], max(0.0, first - time.monotonic()))
    return [worker for worker in busy if worker.pipe.poll() or time.monotonic() > worker.deadline]


def _late(worker: Worker) -> Row:
    worker.process.kill()
    worker.process.join()
    return Row(worker.case, [Part("timeout", f"not done in {CASE_SECONDS} s")], float(CASE_SECONDS))


def _next(path: str, worker: Worker, waiting: list[str], busy: list[Worker]) -> None:
    """The next case for this worker, or for a new one in its place."""
    position = busy.index(worker)
    if not waiting:
        worker.process.kill()
        del busy[position]
        return
    if not worker.process.is_alive():
        busy[position] = Worker(path)
    busy[position].give(waiting.pop(0))
