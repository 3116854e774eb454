"""Comparison of functions that exist only in this process (notebook cells, closures): no child, no limits.

Takes two callables and inputs; gives a Report whose assumptions say how it was made.
"""

from __future__ import annotations

import inspect
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from equivalence.verdicts import Report, Subject
from irverify._capture import ADAPTERS, CaptureOptions, load_adapter
from irverify.collect import collect
from irverify.exchange import Exchange
from irverify.job import Job
from irverify.options import CompareOptions
from irverify.orchestrate import finish, judged
from irverify.prepare import given_values
from irverify.side import SideRun
from lowering.errors import UsageError

WARNING = "both functions were run in this process, without limits of time and memory, because one has no file"


class LiveRun(SideRun):
    """A side whose entry is already here."""

    live: Callable[..., Any]

    def _load(self) -> None:
        self.entry = self.live
        self.module = inspect.getmodule(self.live) or ModuleType("live")


def compare_here(a: Any, b: Any, inputs: Sequence[Any], options: CompareOptions) -> Report:
    """One side after the other, then the judge."""
    for subject in (a, b):
        if not callable(subject):
            raise UsageError(f"{subject!r} is a path and the other side has no file; give two functions")
    if not inputs:
        raise UsageError("functions without a file need inputs: compare(f, g, inputs=['f32[37,130]'])")
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="irverify-") as directory:
        exchange = Exchange(Path(directory))
        subjects = [_run(side, fn, inputs, options, exchange) for side, fn in zip("ab", (a, b))]
        collected = collect(exchange, (_name(a), _name(b)), (subjects[0].framework, subjects[1].framework))
    report = judged(collected, options)
    report.assumptions = list(dict.fromkeys([*report.assumptions, *collected.notes, WARNING]))
    report.shapes += collected.skipped
    report.subjects = (subjects[0], subjects[1])
    return finish(report, options, started)


def _run(side: str, function: Any, inputs: Sequence[Any], options: CompareOptions, exchange: Exchange) -> Subject:
    framework = framework_of(function)
    job = Job(side=side, path=_file(function), entry=_name(function), adapter=ADAPTERS[framework],
              exchange=str(exchange.directory), shapes=list(options.shapes), seed=options.seed,
              specs=[str(text) for text in inputs] if all(isinstance(v, str) for v in inputs) else None,
              target=options.device, backward=options.backward, config=options.config,
              layouts=options.layouts != "ignore")  # fmt: skip
    if job.specs is None and side == "a":
        exchange.publish("api", given_values(inputs, options.seed))
    device, release = options.nki_target, options.nki_version
    asked = CaptureOptions(target=options.device, seed=options.seed, nki_target=device, nki_version=release)
    run = LiveRun(job, exchange, load_adapter(job.adapter, asked))
    run.live = function
    run.run()
    return Subject(job.path, job.entry, framework)


def framework_of(function: Any) -> str:
    """From the names its code and its globals refer to."""
    target = inspect.unwrap(function)
    space = getattr(target, "__globals__", {})
    code = getattr(target, "__code__", None)
    used = [space.get(name) for name in (code.co_names if code else ())]
    roots = {str(getattr(value, "__module__", None) or getattr(value, "__name__", "")).split(".")[0] for value in used}
    roots |= {type(function).__module__.split(".")[0]}
    return "jax" if roots & {"jax", "jaxlib"} and "torch" not in roots else "torch"


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or type(function).__name__


def _file(function: Any) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code.co_filename if code else "<live>"
