"""Runs a worker in a child process with a limit on memory and time; whatever happens, its whole group ends.

Takes a job (plain data); gives a Child to wait for, with its outcome in words.  The parent never imports the user's
file or its framework.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GRACE_SECONDS = 0.2
WORKER = "IRVERIFY_WORKER"  # set in the environment of workers: a file that compares itself must not start more
_TAIL_LINES = 12


@dataclass(slots=True)
class Child:
    """A running worker: ``ended`` and ``killed_for`` say how it stopped."""

    process: subprocess.Popen[bytes]
    directory: Path
    name: str
    deadline: float
    started: float = field(default_factory=time.monotonic)
    killed_for: str = ""  # '', 'time' or 'stopped'

    def running(self) -> bool:
        if self.process.poll() is not None:
            return False
        if time.monotonic() > self.deadline:
            self.stop("time")
            return False
        return True

    def stop(self, why: str = "stopped") -> None:
        """Ends the worker and everything it started."""
        if self.process.poll() is None:
            self.killed_for = self.killed_for or why
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE_SECONDS)

    def output_tail(self) -> str:
        """The last lines that the user's file printed."""
        lines = (self.directory / f"{self.name}.log").read_text(errors="replace").splitlines()
        return "\n".join(lines[-_TAIL_LINES:])

    def died_of(self) -> str:
        """Why there is no result, in words: '' when the worker ended by itself with status 0."""
        status = self.process.returncode
        if status and status < 0:
            return _signal_in_words(-status)
        return f"it ended the process itself with status {status}"


def _signal_in_words(number: int) -> str:
    name = signal.Signals(number).name
    if number == signal.SIGKILL:
        return "it was killed (SIGKILL): most likely the machine ran out of memory"
    if number == signal.SIGXCPU:
        return "it used up its processor time (SIGXCPU)"
    return f"it crashed with {name}"


def start(
    name: str, job: dict[str, Any], directory: Path, timeout: float, memory: int, module: str = "irverify.worker"
) -> Child:
    """Starts ``python -m module`` on a job; the limits are set inside the child before anything else runs."""
    job_file = directory / f"{name}.job.json"
    limits = {"memory": memory, "cpu_seconds": int(timeout * 4) + 10, "parent": os.getpid()}
    job_file.write_text(json.dumps(job | limits))
    process = spawn(module, job_file, directory / f"{name}.log", environment(directory))
    return Child(process, directory, name, time.monotonic() + timeout)


def spawn(module: str, job_file: Path, log: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """``python -m module job_file`` in a session of its own; what it prints goes to ``log``."""
    with log.open("wb") as printed:
        return subprocess.Popen(
            [sys.executable, "-m", module, str(job_file)],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )


def environment(directory: Path) -> dict[str, str]:
    """The user's environment, with the switches that framework imports read before any code of ours can run."""
    root = str(Path(__file__).resolve().parents[1])  # for a checkout that was not installed
    search = [path for path in (os.environ.get("PYTHONPATH"), root) if path]
    settings = {
        "PYTHONPATH": os.pathsep.join(search),
        "TORCHDYNAMO_DISABLE": "1",
        "JAX_PLATFORMS": "cpu",
        "GEMS_VENDOR": "nvidia",
        "FLAGGEMS_DB_URL": f"sqlite:///{directory}/flaggems.db",
        "PYTHONUNBUFFERED": "1",
        WORKER: "1",
        "PYTHONSAFEPATH": "1",  # the current directory is the user's: it must not shadow our modules
    }
    return os.environ | settings
