"""``python -m irverify.probe_worker JOB.json``: probes one subject under limits and leaves its tree in the exchange.

Takes the path of a job; gives 'probe.done', or 'probe.failed' when something went wrong.  Its standard output is the
user's.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irverify.worker import end_with, limit

if TYPE_CHECKING:
    from irverify.runners import Runner

NAME = "probe"  # of the worker, and of what it publishes


def main(job_file: str) -> int:
    job = json.loads(Path(job_file).read_text())
    limit(job.pop("memory"), job.pop("cpu_seconds"))
    end_with(job.pop("parent"))
    from irverify.exchange import Exchange  # only now: numpy is under the limits as well
    from irverify.failures import describe

    exchange = Exchange(Path(job["exchange"]))
    try:
        exchange.publish(f"{NAME}.done", _probed(job, exchange))
    except BaseException as error:  # SystemExit of the user's file included; the parent shows it
        exchange.publish(f"{NAME}.failed", describe(error, Path(job["path"])))
        return 1
    return 0


def _probed(job: dict[str, Any], exchange: Any) -> dict[str, Any]:
    """The tree as plain data, what it took, and how often it gives the subject's bits."""
    from equivalence.order.probe import reveal, reveal_dot, verify

    runner = _runner(job)
    exchange.publish(f"{NAME}.loaded", True)
    calls = 0

    def run(*arrays: Any) -> Any:
        nonlocal calls
        calls += 1
        return runner.run(*arrays)

    if runner.exp is not None:
        return _softmax(job, runner)
    start = time.monotonic()
    method = reveal_dot if runner.factors == 2 else reveal
    tree = method(run, job["n"], job["dtype"], None, runner.result, name=job["subject"], seed=job["seed"])
    seconds, runs = time.monotonic() - start, calls
    found = verify(tree, runner.run, job["trials"], job["seed"] + 1, job["dtype"])
    steps = [[step.how, list(step.children), step.dtype] for step in tree.steps]
    return {
        "steps": steps, "products": bool(tree.products), "what": tree.what, "runs": runs, "seconds": seconds,
        "verified": found.agree, "first": None if found.first is None else list(found.first), "got": found.of_box,
        "want": found.of_tree, "version": runner.version,
    }  # fmt: skip


def _softmax(job: dict[str, Any], runner: Runner) -> dict[str, Any]:
    """The same for a denominator.  Random numbers need exp's digits, which only its framework's exp may have."""
    from equivalence.order.exponentials import Reader, readable
    from equivalence.order.positive import reveal_softmax, verify_masked, verify_random

    calls, n, dtype = 0, job["n"], job["dtype"]

    def run(values: Any) -> Any:
        nonlocal calls
        calls += 1
        return runner.run(values)

    start = time.monotonic()
    tree = reveal_softmax(run, n, dtype, runner.result, name=job["subject"], seed=job["seed"])
    seconds, runs = time.monotonic() - start, calls
    found = verify_masked(tree, runner.run, job["trials"], job["seed"] + 1, dtype, runner.result)
    assert runner.exp is not None
    name, exp = runner.exp
    check = job["trials"], job["seed"] + 1, dtype, runner.result
    whole, read = verify_random(tree, runner.run, exp, *check), None
    adds = tree.steps[-1].dtype if tree.steps else runner.result
    if whole.first is not None and readable(n, dtype, adds, runner.result):
        read = verify_random(tree, runner.run, Reader(runner.run, n, dtype), *check).agree
    return {
        "steps": [[step.how, list(step.children), step.dtype] for step in tree.steps], "products": False,
        "what": tree.what, "runs": runs, "seconds": seconds, "verified": found.agree,
        "first": None if found.first is None else [found.first], "got": found.of_box, "want": found.of_tree,
        "version": runner.version, "exp": name, "whole": whole.agree, "read": read,
    }  # fmt: skip


def _runner(job: dict[str, Any]) -> Runner:
    from irverify.runners import function_runner, library_of, library_runner

    library = library_of(job["subject"])
    if library is not None:
        return library_runner(library, job["n"], job["dtype"], job["target"])
    from irverify import loading

    module = loading.load(Path(job["path"]))
    function = loading.find(module, job["entry"])
    return function_runner(function, job["framework"], job["factors"], job["n"], job["dtype"], job["target"])


if __name__ == "__main__":
    status = main(sys.argv[1])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # as in worker.py
