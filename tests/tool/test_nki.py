"""NKI kernels on the command line: devices, releases, traces, checks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irverify.options import CompareOptions
from lowering.capture.nki.text_parser import parse_trace
from lowering.errors import UsageError
from tests.tool.conftest import Run, Write

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


MATMUL = """
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def product(a, b):
    out = nl.ndarray((a.shape[1], b.shape[1]), nl.float32, buffer=nl.shared_hbm)
    left, right = nl.ndarray(a.shape, a.dtype, buffer=nl.sbuf), nl.ndarray(b.shape, b.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=a)
    nisa.dma_copy(dst=right, src=b)
    total = nl.ndarray(out.shape, nl.float32, buffer=nl.psum)
    nisa.nc_matmul(total, left, right)
    copied = nl.ndarray(out.shape, nl.float32, buffer=nl.sbuf)
    nisa.tensor_copy(copied, total)
    nisa.dma_copy(dst=out, src=copied)
    return out
"""


@pytest.fixture
def product(tmp_path: Path) -> str:
    (tmp_path / "product.py").write_text(MATMUL)
    return str(tmp_path / "product.py")


def test_a_legal_kernel(run: Run, product: str) -> None:
    result = run("check", product, "--input", "bf16[128,32]", "--input", "bf16[128,512]", "--cost")
    assert result.exit_code == 0, result.stdout + result.stderr
    assert "legal on trn2 with NKI 0.6: product.py:product" in result.stdout
    assert "1 matmuls, 4.19 MFLOP" in result.stdout and "25% of the array" in result.stdout


def test_an_illegal_kernel(run: Run, product: str) -> None:
    result = run("check", product, "--input", "bf16[128,32]", "--input", "f32[128,513]")
    assert result.exit_code == 1
    for said in ("illegal on trn2", "error nki-matmul-size  product.py:13", "513 columns", "error nki-matmul-dtype",
                 "rule: a matmul makes at most 128 rows"):  # fmt: skip
        assert said in result.stdout
    assert "Cost" not in result.stdout


def test_another_target_has_other_rules(run: Run, product: str) -> None:
    result = run("check", product, "--input", "bf16[128,32]", "--input", "bf16[128,513]", "--target", "trn3")
    assert result.exit_code == 0, result.stdout + result.stderr


def test_findings_as_json(run: Run, product: str) -> None:
    result = run("check", product, "--input", "bf16[128,32]", "--input", "bf16[128,513]", "--json", "-", "--cost")
    document = json.loads(result.stdout)
    assert (document["schema"], document["exit_code"], document["target"]) == ("irverify-check/1", 1, "trn2")
    (size, bank) = document["findings"]
    assert (size["code"], size["line"], bank["code"]) == ("nki-matmul-size", 13, "nki-psum-bank")
    assert document["cost"]["pe"]["flops"] == 2 * 128 * 32 * 513


def test_what_cannot_be_checked(run: Run, write: Write, kernel: str) -> None:
    other = write("other.py", "def double(x):\n    return x * 2\n")
    result = run("check", str(other), "--input", "f32[3,5]")
    assert result.exit_code == 2 and "is no NKI kernel" in result.stderr
    result = run("check", kernel, "--input", "f32[37,5]", "--target", "sm_90,trn7")
    assert result.exit_code == 2 and "--target is 'sm_90,trn7'" in result.stderr
    Path(kernel).write_text(COPY.replace("nisa.dma_copy(dst=out", "nisa.no_such_thing(dst=out"))
    result = run("check", kernel, "--input", "f32[37,5]")
    assert result.exit_code == 2 and "AttributeError: module 'nki.isa' has no attribute" in result.stderr
