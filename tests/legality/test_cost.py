"""Counts of a run against numbers worked out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lowering.legality import check
from lowering.legality.cost import Cost, cost
from tests.capture.nki.beta1 import captured
from tests.legality.kernels import traced


def counted(folder: Path, body: str, target: str = "trn2") -> Cost:
    return cost(traced(folder, body, target))


def test_matmuls_fill_a_part_of_the_array(tmp_path: Path) -> None:
    """K = 64 of 128 partitions, M = 32 of 128 rows, 100 columns: an eighth of the cells."""
    body = "nisa.nc_matmul(psum((32, 100)), filled((64, 32), nl.{0}), filled((64, 100), nl.{0}))"
    narrow, wide = counted(tmp_path, body.format("bfloat16")).tensor, counted(tmp_path, body.format("float32")).tensor
    assert (narrow.matmuls, narrow.flops, narrow.utilisation) == (1, 2 * 64 * 32 * 100, 0.125)
    assert narrow.seconds == pytest.approx(2 * 128 * 128 * 100 / 79e12)
    assert wide.flops == narrow.flops and wide.seconds == pytest.approx(2 * 128 * 128 * 100 / 20e12)
    assert counted(tmp_path, body.format("bfloat16"), "trn1").tensor.seconds == pytest.approx(narrow.seconds * 79 / 92)


def test_two_rows_at_a_time(tmp_path: Path) -> None:
    """double_row contracts (K, 2): twice the products in the same columns of an array of twice the depth."""
    body = """
    a, b = filled((128, 2, 128), nl.float8_e4m3), filled((128, 2, 100), nl.float8_e4m3)
    nisa.nc_matmul(psum((128, 100)), a, b, perf_mode=nisa.matmul_perf_mode.double_row)
    """
    found = counted(tmp_path, body).tensor
    assert (found.flops, found.utilisation) == (2 * 256 * 128 * 100, 1.0)


def test_transposes_are_no_products(tmp_path: Path) -> None:
    found = counted(tmp_path, "nisa.nc_transpose(psum((64, 128)), filled((128, 64)))").tensor
    assert (found.matmuls, found.flops, found.transposes, found.moved) == (0, 0, 1, 8192)


def test_bytes_and_their_runs(tmp_path: Path) -> None:
    """The frame copies x (128 x 64 of f32) from HBM to HBM: one run of 32 KiB."""
    assert counted(tmp_path, "").dma.runs == {32768: 1}
    found = counted(tmp_path, "t = sbuf((128, 16))\nnisa.dma_copy(dst=t, src=x[:, 0:16])").dma
    assert found.runs == {32768: 1, 64: 128}
    assert (found.transfers, found.read, found.written, found.on_chip) == (2, 32768 + 8192, 32768, 0)
    assert found.short == 8192 / (32768 + 8192)
    single = counted(tmp_path, "nisa.dma_copy(dst=sbuf((128, 16)), src=x[:, 0:64:4])").dma
    assert single.runs == {32768: 1, 4: 2048}
    local = counted(tmp_path, "nisa.dma_copy(dst=sbuf((128, 16)), src=filled((128, 16)))").dma
    assert (local.read, local.on_chip) == (32768, 8192)


def test_elements_of_the_other_engines(tmp_path: Path) -> None:
    """The largest operand counts: a fold reads more than it writes."""
    body = """
    t = filled((64, 48))
    nisa.tensor_reduce(sbuf((64, 1)), nl.add, t, axis=1)
    nisa.activation(sbuf((64, 48)), nl.exp, t)
    """
    found = counted(tmp_path, body).engines
    assert (found["dve"].instructions, found["dve"].elements, found["dve"].steps) == (2, 2 * 64 * 48, 96)
    assert (found["act"].elements, found["act"].lanes, found["pool"].instructions) == (64 * 48, 0.5, 0)


def test_high_water_marks_and_intensity(tmp_path: Path) -> None:
    """Two tiles of 48 numbers at once, though there are four in all; 2 x 32 KiB go between HBM and the chip."""
    body = "for _ in range(3):\n    nisa.tensor_copy(filled((128, 48)), filled((128, 48)))"
    found = counted(tmp_path, body)
    assert (found.peaks["sbuf"].nbytes, found.peaks["psum"].nbytes) == (2 * 48 * 4, 0)
    assert found.intensity == pytest.approx(9 * 128 * 48 / 65536)
    assert found.data()["high_water"]["sbuf"]["of"] == 212984


def test_each_core_has_its_own_memory(tmp_path: Path) -> None:
    trace = traced(tmp_path, "a, b = filled((128, 48)), filled((128, 48))\nnisa.tensor_copy(a, b)")
    assert cost(trace).peaks["sbuf"].nbytes == 2 * 48 * 4
    next(storage for storage in trace.storages.values() if storage.space == "sbuf").core = 1
    assert cost(trace).peaks["sbuf"].nbytes == 48 * 4


def test_small_tiles_share_their_partitions(tmp_path: Path) -> None:
    body = "a, b = filled(({0}, 48)), filled(({0}, 48))\nnisa.tensor_copy(a, b)"
    peaks = [counted(tmp_path, body.format(lanes)).peaks["sbuf"].nbytes for lanes in (16, 64, 65)]
    assert peaks == [2 * 48, 4 * 48, 8 * 48]


BLOCKS = """
@nki.jit
def kernel(x):
    out = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    sums = nl.zeros((200, par_dim(64), 64), dtype=nl.float32, buffer=nl.psum)
    for i in nl.affine_range(200):
        sums[i] += nisa.nc_matmul(nl.load(x), nl.load(x))
        nl.store(out, nl.copy(sums[i]))
    return out
"""


def test_blocks_are_tiles_of_their_own(tmp_path: Path) -> None:
    """25 KiB in all, and one at a time."""
    trace = captured(tmp_path, BLOCKS, x=np.ones((128, 64), np.float32))
    assert cost(trace).peaks["psum"].nbytes == 64 * 4 // 2  # of 64 partitions: two may share the lanes
    assert cost(trace).engines["dve"].lanes == 0.5
    assert check(trace) == []
