"""A tiled matmul of the new API: its trace, and its values once lowered."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from equivalence.evaluator import Machine
from irverify import loading
from lowering.capture.nki.host import capture_nki
from lowering.capture.nki.namespaces import installed
from lowering.capture.nki.trace import NkiTrace
from lowering.nki_program import lower_nki

SOURCE = """
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def matmul(lhsT, rhs):
    K, M = lhsT.shape
    _, N = rhs.shape
    out = nl.ndarray((M, N), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    total = nl.ndarray((M, N), nl.float32, buffer=nl.psum)
    for k in nl.affine_range(K // 32):
        a = nl.ndarray((32, M), lhsT.dtype, buffer=nl.sbuf)
        b = nl.ndarray((32, N), rhs.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=a, src=lhsT[k * 32:(k + 1) * 32, :])
        nisa.dma_copy(dst=b, src=rhs[k * 32:(k + 1) * 32, :])
        nisa.nc_matmul(total, a, b)
    result = nl.ndarray((M, N), lhsT.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(result, total)
    nisa.dma_copy(dst=out, src=result)
    return out
"""


def traced(folder: Path, *arrays: np.ndarray) -> NkiTrace:
    (folder / "kernel.py").write_text(SOURCE)
    with installed():
        module = loading.load(folder / "kernel.py")
        return capture_nki(module.matmul, arrays, names=("lhsT", "rhs"))


def test_the_first_pass_overwrites_and_later_ones_add(tmp_path: Path) -> None:
    trace = traced(tmp_path, np.zeros((96, 8), np.float32), np.zeros((96, 5), np.float32))
    products = [instr for instr in trace.instrs if instr.op == "nc_mat_mul"]
    assert [instr.attrs["accumulate"] for instr in products] == [False, True, True]
    assert {instr.span.line for instr in products} == {17} and products[2].loops[0].turn == 2


def test_values(tmp_path: Path) -> None:
    """Small integers: every order of the sums is exact."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(-4, 5, (64, 8)).astype(np.float32), rng.integers(-4, 5, (64, 5)).astype(np.float32)
    program = lower_nki(traced(tmp_path, a, b))
    outcome = Machine(program, ()).run({"lhsT": a, "rhs": b})
    assert np.array_equal(np.asarray(outcome.outputs["out0"].data)[0], a.T @ b)
