"""The tool on real Triton, PyTorch and Pallas files: capture, judging and exit codes together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tool.conftest import Run

CORPORA = Path(__file__).parents[2] / "corpora"

READS_BACK = """
import torch
import triton
import triton.language as tl


@triton.jit
def square_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(out_ptr + offs, x * x, mask=offs < n)


def scaled(x):
    out = torch.empty_like(x)
    square_kernel[(1,)](x, out, x.numel(), BLOCK=64)
    if out.sum().item() < 0:
        raise RuntimeError("a sum of squares is not negative")
    return out * 2.0
"""


def test_triton_add_is_bitwise_torch_add(run: Run) -> None:
    pair = CORPORA / "add_torch" / "a.py", CORPORA / "add_torch" / "b.py"
    result = run("compare", *pair, "--input", "f32[1003]", "--input", "f32[1003]", "--json", "-", "--shapes", "given")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["verdict"]) == (0, "bitwise")
    assert document["subjects"][0]["kernels"] == ["add_kernel"]


def test_triton_softmax_against_pallas(run: Run) -> None:
    pair = CORPORA / "softmax" / "a.py", CORPORA / "softmax" / "b.py"
    result = run("compare", *pair, "--input", "f32[37,130]")
    assert result.exit_code == 0, result.output
    assert "a.py:softmax and b.py:softmax" in result.stdout and "(torch, launches softmax_kernel)" in result.stdout


def test_kernelbench_models_share_weights(run: Run) -> None:
    pair = CORPORA / "conv2d_kernelbench" / "a.py", CORPORA / "conv2d_kernelbench" / "b.py"
    result = run("compare", *pair, "--shapes", "given")
    assert "the weights of A were copied to B" in result.stdout, result.output


def test_an_update_in_place_counts(run: Run) -> None:
    pair = CORPORA / "add_rms_norm_in_place" / "a.py", CORPORA / "add_rms_norm_in_place" / "b.py"
    result = run("compare", *pair, "--entry-a", "add_rms_norm", "--shapes", "given", "--json", "-")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["verdict"]) == (1, "different")
    assert [o["verdict"] for o in document["outputs"] if o["name"] == "written:x"] == ["different"]


def test_a_host_read_of_kernel_data_is_answered(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(READS_BACK)
    result = run("compare", path, path, "--input", "f32[37]", "--shapes", "given")
    assert result.exit_code == 0, result.output


def test_wrong_shapes_show_the_users_line(run: Run) -> None:
    pair = CORPORA / "add_torch" / "b.py", CORPORA / "add_torch" / "b.py"
    result = run("compare", *pair, "--input", "f32[3]", "--input", "f32[5]")
    assert result.exit_code == 2
    assert "must match the size" in result.stderr and "return x + y" in result.stderr
    assert "site-packages" not in result.stderr


@pytest.mark.parametrize(
    ("side", "form", "part"),
    [("a.py", "ttir", "tt.func"), ("b.py", "stablehlo", "stablehlo."), ("a.py", "aten", "launch softmax_kernel")],
)
def test_lower_to_the_frameworks_own_form(run: Run, side: str, form: str, part: str) -> None:
    result = run("lower", CORPORA / "softmax" / side, "--input", "f32[37,130]", "--to", form)
    assert result.exit_code == 0 and part in result.stdout, result.output


def test_twin_kernels_in_two_files_keep_their_own_lines(run: Run, tmp_path: Path) -> None:
    """Triton's cache knows a kernel by its text alone; the spans must still name the file that was given."""
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        copy = tmp_path / folder / "twin.py"
        copy.write_text((CORPORA / "softmax" / "a.py").read_text())
        result = run("lower", copy, "--input", "f32[5,67]")
        assert f"{folder}/twin.py" in result.stdout, result.output
        assert ("first" in result.stdout) is (folder == "first")
