"""``python -m irverify.worker JOB.json``: runs one side's file under limits and leaves results in the exchange.

Takes the path of a job; gives files, and '<side>.failed' when something went wrong.  Its standard output is the
user's.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import threading
import time
from pathlib import Path


def limit(memory: int, cpu_seconds: int) -> None:
    """Address space and processor time of this process and its children; no core file."""
    for kind, value in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, cpu_seconds), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(kind)
        ceiling = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (ceiling, hard))


def end_with(parent: int) -> None:
    """Ends this process and what it started once its parent is gone: nobody would stop a loop that never ends."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def main(job_file: str) -> int:
    fields = json.loads(Path(job_file).read_text())
    limit(fields.pop("memory"), fields.pop("cpu_seconds"))
    end_with(fields.pop("parent"))
    from irverify.exchange import Exchange  # only now: numpy is under the limits as well
    from irverify.failures import describe
    from irverify.job import Job
    from irverify.side import run_side

    job = Job(**fields)
    try:
        run_side(job)
    except BaseException as error:  # SystemExit of the user's file included; the parent shows it
        Exchange(Path(job.exchange)).publish(f"{job.side}.failed", describe(error, Path(job.path)))
        return 1
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # everything is published: taking the frameworks down in order would only cost time
