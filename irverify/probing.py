"""The accumulation order of a library function, or of one in a user file, revealed by calling it in a child process.

Takes a subject ('torch.sum', 'torch.matmul[64x32]', 'a.py:total'), a size and a dtype; gives Probed.  The parent
imports neither the file nor its framework.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from equivalence.order.tree import OrderTree, Step
from irverify import sandbox
from irverify.exchange import Exchange
from irverify.options import CompareOptions
from irverify.orchestrate import supervise
from irverify.probe_worker import NAME
from irverify.runners import DTYPES, LIBRARIES, TARGETS, library_of
from irverify.subjects import Candidate, choose_entry, read_source, side_of, split_entry
from irverify.values import ArrayValue
from lowering.errors import InternalError, UsageError

TRIALS = 1000  # random inputs on which the tree is checked
SECONDS = 120.0
MEMORY = 16 << 30
CUDA_MEMORY = 1 << 42  # a driver maps far more addresses than it uses


@dataclass(frozen=True, slots=True)
class Probed:
    """What probing has shown.  ``verified`` of ``trials`` random inputs gave the tree's result bit for bit."""

    subject: str
    n: int
    dtype: str
    tree: OrderTree
    runs: int  # calls until the tree was there, its own checks included
    seconds: float  # the same calls; imports, compilation and verification are not counted
    verified: int
    trials: int
    version: str  # of the library, with what its order may depend on: "torch 2.13, AVX512, 2 threads"
    first: tuple[np.ndarray, ...] | None = None  # the first input that the tree does not reproduce
    of_subject: float = 0.0  # what the two gave for it
    of_tree: float = 0.0
    exp: str = ""  # of a softmax: the framework's exponential, with which ``whole`` random inputs gave every bit
    whole: int = 0
    read: int | None = (
        None  # the same with exponentials read from its own results, where the framework's are not its own
    )


def probe(
    subject: str,
    n: int,
    dtype: str = "f32",
    target: str = "cpu",
    *,
    trials: int = TRIALS,
    seed: int = 0,
    timeout: float = SECONDS,
    memory: int = MEMORY,
) -> Probed:
    """The accumulation tree of ``subject`` on ``n`` terms of ``dtype``.

    Raises UsageError for what can be mended, Unsupported where the answers fit no tree, Undecided out of time.
    """
    _check(n, dtype, target)
    with tempfile.TemporaryDirectory(prefix="irverify-", ignore_cleanup_errors=True) as directory:
        exchange = Exchange(Path(directory), mapped=False)
        job = _job(subject) | {"n": n, "dtype": dtype, "target": target, "trials": trials, "seed": seed}
        job["exchange"] = directory
        memory = max(memory, CUDA_MEMORY) if target == "cuda" else memory
        child = sandbox.start(NAME, job, exchange.directory, timeout, memory, module="irverify.probe_worker")
        supervise([child], exchange, [subject], CompareOptions(a=subject, b=subject, timeout=timeout))
        found = exchange.read(f"{NAME}.done")
    return _result(subject, n, dtype, trials, found)


def _check(n: int, dtype: str, target: str) -> None:
    if n < 1:
        raise UsageError(f"the number of terms is {n}; write 1 or more")
    if dtype not in DTYPES:
        raise UsageError(f"the dtype is {dtype!r}; write one of {', '.join(DTYPES)}")
    if target not in TARGETS:
        raise UsageError(f"the target is {target!r}; write one of {', '.join(TARGETS)}")


def _job(subject: str) -> dict[str, Any]:
    """What the worker is to run: a library's function by name, or a file with its entry and framework."""
    if library_of(subject) is not None:
        return {"subject": subject, "path": subject}
    path, entry = split_entry(subject)
    if not path.endswith(".py"):
        raise UsageError(f"{subject!r} cannot be probed; write FILE.py:FUNCTION or one of {', '.join(LIBRARIES)}")
    source = read_source(path)
    side = side_of(source, choose_entry(source, entry))
    job = {"subject": subject, "path": str(side.path), "entry": side.entry, "framework": side.framework}
    return job | {"factors": _factors(source.candidate(side.entry), subject)}


def _factors(candidate: Candidate | None, subject: str) -> int:
    count = len(candidate.parameters) if candidate else 0
    if count not in (1, 2) or (candidate and candidate.is_class):
        signature = candidate.signature if candidate else "it"
        raise UsageError(f"{subject}: {signature} should be a function of one array, or of two for a dot product")
    return count


def _result(subject: str, n: int, dtype: str, trials: int, found: dict[str, Any]) -> Probed:
    products = frozenset(range(n)) if found["products"] else frozenset()
    steps = tuple(Step(how, tuple(children), kind) for how, children, kind in found["steps"])
    for k, step in enumerate(steps):
        if not all(isinstance(child, int) and 0 <= child < n + k for child in step.children):
            raise InternalError(f"{subject}: the worker's tree refers to what is not there")
    tree = OrderTree(tuple(f"[{i}]" for i in range(n)), steps, products, found["what"])
    first = None if found["first"] is None else tuple(_array(value) for value in found["first"])
    return Probed(
        subject, n, dtype, tree, found["runs"], found["seconds"], found["verified"], trials, found["version"],
        first, found["got"], found["want"], found.get("exp", ""), found.get("whole", 0),
        found.get("read"),
    )  # fmt: skip


def _array(value: ArrayValue) -> np.ndarray:
    return value.data.copy()
