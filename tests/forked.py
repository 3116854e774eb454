"""Workers forked from a process that has imported the frameworks already: importing them anew takes most of a test.

Takes what sandbox.spawn takes; gives a process with the part of Popen that sandbox.Child uses.  Everything after the
imports (limits, the user's file, the exchange) happens in a process of its own, as from the command line.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["tests.preloaded"])


class Forked:
    """A worker that the server has forked; ``wait`` and ``poll`` as of subprocess.Popen."""

    def __init__(self, module: str, job_file: Path, log: Path, environment: dict[str, str]) -> None:
        self._process = _SERVER.Process(target=_work, args=(module, str(job_file), str(log), environment))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("worker", timeout or 0)
        return self._process.exitcode


def _work(module: str, job_file: str, log: str, environment: dict[str, str]) -> None:
    with contextlib.suppress(PermissionError):  # where the server has made it a leader already
        os.setsid()
    printed = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    for stream in (1, 2):
        os.dup2(printed, stream)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [module, job_file]
    job = json.loads(Path(job_file).read_text())
    Path(job_file).write_text(json.dumps(job | {"parent": os.getppid()}))  # the server's end is this one's, too
    status = importlib.import_module(module).main(job_file)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
