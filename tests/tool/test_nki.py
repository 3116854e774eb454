"""NKI kernels on the command line: devices, releases, traces, checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from irverify.options import CompareOptions
from lowering.capture.nki.text_parser import parse_trace
from lowering.errors import UsageError
from tests.tool.conftest import Run

COPY = """
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def copied(x):
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    (tmp_path / "copied.py").write_text(COPY)
    return str(tmp_path / "copied.py")


def test_a_trainium_target_is_the_nki_side_s_alone() -> None:
    assert CompareOptions(a="", b="").nki_target == "trn2"
    only = CompareOptions(a="", b="", target="trn3")
    assert (only.nki_target, only.target, only.device) == ("trn3", None, "sm_80")
    both = CompareOptions(a="", b="", target="sm_90,trn1")
    assert (both.nki_target, both.target, both.device) == ("trn1", "sm_90", "sm_90")


@pytest.mark.parametrize("wrong", [{"target": "trn9"}, {"target": "sm_90,tpu_v5e"}, {"nki_version": "0.9"}])
def test_no_such_device_or_release(wrong: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="write "):
        CompareOptions(a="", b="", **wrong)  # type: ignore[arg-type]


def test_the_trace_is_printed_and_reads_back(run: Run, kernel: str) -> None:
    result = run("lower", kernel, "--input", "f32[37,5]", "--to", "trace", "--target", "trn1", "--nki-version", "0.3")
    assert result.exit_code == 0, result.stderr
    trace = parse_trace(result.stdout)
    assert (trace.target, trace.version, [instr.op for instr in trace.instrs]) == ("gen2", "0.3", ["nc_dma_copy"] * 2)


def test_another_form_names_those_that_are_there(run: Run, kernel: str) -> None:
    result = run("lower", kernel, "--input", "f32[37,5]", "--to", "ttir")
    assert result.exit_code == 2 and "has no ttir; it has kir, trace" in result.stderr
