"""Golden subjects, captured in one process so that frameworks are imported once: programs and inputs by entry."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from equivalence.divergence.trace import Trace, trace
from irverify.exchange import Exchange
from irverify.job import Job
from irverify.options import CompareOptions
from irverify.prepare import prepare_one
from irverify.side import run_side
from lowering.ir.parser import parse_program
from lowering.ir.program import Program

GOLDEN = Path(__file__).parent / "golden"
Subject = tuple[Program, dict[str, np.ndarray]]
#: (file, entry) -> the inputs it takes.
SUBJECTS: dict[tuple[str, str], tuple[str, ...]] = {
    **{("triton", name): ("f32[3,64]",) for name in (
        "sequential", "reversed_sum", "blocked", "strided_lanes", "four_accumulators", "kahan", "neumaier", "two_sum",
        "not_kahan", "never_lost", "swapped_neumaier", "online_logsumexp", "cumsum", "cumsum_reversed",
        "welford",
    )},
    ("triton", "fma_chain"): ("f32[3,64]", "f32[64]"),
    ("triton", "matmul"): ("f16[16,64]", "f16[64,16]"),
    ("triton", "matmul_bf16_hop"): ("bf16[16,64]", "bf16[64,16]"),
    ("triton", "split_atomic"): ("f32[64]",),
    ("triton", "split_store"): ("f32[64]",),
    **{("torch", name): ("f32[3,64]",) for name in (
        "total", "softmax", "layer_norm", "one_after_another", "halves", "neighbours", "bf16_steps", "sorted_sum",
    )},
    ("torch", "matmul"): ("f32[3,64]", "f32[64,5]"),
    ("torch", "residual"): ("f32[3,64]", "f32[64,5]", "f32[3,5]"),
    ("torch", "index_add"): ("f32[64]", "i64[64] in [0,4)"),
    **{("jax", name): ("f32[3,64]",) for name in ("total", "fori", "scan", "pairwise", "pallas_blocks")},
    ("jax", "dot"): ("f32[3,64]", "f32[64,5]"),
}  # fmt: skip


def _serve(jobs: Sequence[Job]) -> None:
    for job in jobs:
        run_side(job)


@pytest.fixture(scope="session")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Subject]:
    """Every golden subject at its given shape."""
    root, jobs = tmp_path_factory.mktemp("golden"), []
    for (file, entry), specs in SUBJECTS.items():
        path = str(GOLDEN / f"kernels_{file}.py")
        folder = root / f"{file}.{entry}"
        folder.mkdir()
        jobs.append(prepare_one(path, entry, CompareOptions(a=path, b=path, inputs=specs), folder)[1])
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(jobs,))
    server.start()
    server.join(300)
    assert server.exitcode == 0
    return {key: _read(root / ".".join(key)) for key in SUBJECTS}


def _read(folder: Path) -> Subject:
    exchange = Exchange(folder)
    program = parse_program(exchange.read_text("a.v0.kir"))
    record = exchange.read("a.v0")["inputs"]
    return program, {name: record[name].data for name in program.input_names}


@pytest.fixture(scope="session")
def traced(subjects: dict[tuple[str, str], Subject]) -> Iterator[Callable[[str, str], Trace]]:
    """The trace of a golden subject, made once."""
    known: dict[tuple[str, str], Trace] = {}

    def of(file: str, entry: str) -> Trace:
        if (file, entry) not in known:
            known[file, entry] = trace(*subjects[file, entry], 0)
        return known[file, entry]

    yield of
