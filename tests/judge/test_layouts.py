"""Arguments that are views: a side that ignores strides is found, one that honours or refuses them is not blamed."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equivalence.judge import judge
from equivalence.judge.layouts import LaidOut, distinct
from equivalence.verdicts import Level
from irverify import compare
from irverify._capture import laid_out
from irverify.layouts import STEP, derived, every_other_column, padded_rows, transposed
from irverify.options import CompareOptions
from irverify.values import ArrayValue
from lowering.ir.builder import Builder
from lowering.ir.program import Program
from lowering.ir.types import F32, TensorType

pytestmark = pytest.mark.usefixtures("forked_workers")

OPTIONS = CompareOptions(a="a.py", b="b.py")
X = np.arange(15, dtype=np.float32).reshape(3, 5) + 0.25

REFERENCE = """
    import torch

    def scaled(x):
        return x * 2.0
"""
KERNEL = """
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def kernel(x_ptr, y_ptr, row_stride, column_stride, columns, BLOCK: tl.constexpr):
        row, offs = tl.program_id(0), tl.arange(0, BLOCK)
        mask = offs < columns
        x = tl.load(x_ptr + row * row_stride + offs * column_stride, mask=mask, other=0.0)
        tl.store(y_ptr + row * columns + offs, x * 2.0, mask=mask)

    def scaled(x):
        {prepare}
        y = torch.empty(x.shape, device=x.device, dtype=x.dtype)
        kernel[(x.shape[0],)](x, y, {strides}, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return y
"""
IGNORES = KERNEL.format(prepare="pass", strides="x.shape[1], 1")
HONOURS = KERNEL.format(prepare="pass", strides="x.stride(0), x.stride(1)")
COPIES = KERNEL.format(prepare="x = x.contiguous()", strides="x.shape[1], 1")
REFUSES = KERNEL.format(prepare="assert x.is_contiguous(), 'x must be dense'", strides="x.shape[1], 1")


def compared(folder: Path, a: str, b: str, **options: Any) -> Any:
    for name, text in (("a.py", a), ("b.py", b)):
        (folder / name).write_text(textwrap.dedent(text))
    chosen = {"shapes": ("given",), "timeout": 900.0, **options}  # a slow machine still tries every layout
    return compare(str(folder / "a.py"), str(folder / "b.py"), inputs=["f32[5,7]"], **chosen)


def codes(report: Any) -> list[tuple[str, str]]:
    return [(f.code, f.severity) for f in report.findings if "layout" in f.code]


def test_a_kernel_that_ignores_strides_is_a_finding_and_keeps_its_verdict(tmp_path: Path) -> None:
    report = compared(tmp_path, REFERENCE, IGNORES)
    assert report.verdict.level >= Level.REASSOCIATED and report.exit_code == 0
    assert codes(report) == [("layout-sensitive", "warning")]
    assert [layout.status for layout in report.layouts] == ["b strays"] * 3
    assert any("y_ptr" in line or "kernel[" in line for line in str(report).splitlines())
    shown = next(layout for layout in report.layouts if layout.layout == "transposed")
    assert shown.views["x"] == ((1, 5), STEP)
    row, column = shown.index
    assert shown.value_a == pytest.approx(2 * float(shown.inputs["x"][row, column]))
    assert shown.value_a != shown.value_b
    assert report.to_dict()["layouts"][0]["views"] == {"x": {"strides": [7 + STEP, 1], "offset": STEP}}
    assert "views" in str(report).splitlines()[0]


def test_strict_makes_it_different_with_a_witness(tmp_path: Path) -> None:
    report = compared(tmp_path, REFERENCE, IGNORES, layouts="strict", save_witness=str(tmp_path / "w"))
    assert report.verdict.level is Level.DIFFERENT and report.exit_code == 1
    assert report.witness.views["x"][1] == STEP
    assert "strides" in (tmp_path / "w" / "README.md").read_text()


@pytest.mark.parametrize("kernel", [HONOURS, COPIES], ids=["honours", "copies"])
def test_strides_that_are_honoured_or_removed_are_fine(tmp_path: Path, kernel: str) -> None:
    report = compared(tmp_path, REFERENCE, kernel, layouts="strict")
    assert report.exit_code == 0 and not codes(report)
    assert [layout.status for layout in report.layouts] == ["agree"] * 3
    assert next(check for check in report.checks if check.name == "other layouts").passed


def test_an_assertion_is_scope(tmp_path: Path) -> None:
    report = compared(tmp_path, REFERENCE, REFUSES, layouts="strict")
    assert report.exit_code == 0 and codes(report) == [("specialised-layout", "note")]
    assert {layout.status for layout in report.layouts} == {"refused"}
    assert "x must be dense" in report.layouts[0].message


def test_jax_has_no_strides_and_a_jax_side_follows(tmp_path: Path) -> None:
    jax = "import jax.numpy as jnp\n\n\ndef scaled(x):\n    return x * 2.0\n"
    report = compared(tmp_path, jax, IGNORES)
    assert report.exit_code == 0 and codes(report) == [("layout-sensitive", "warning")]
    other = compared(tmp_path, IGNORES, jax)
    assert other.exit_code == 0 and codes(other) == [("layout-sensitive", "note")]


def test_two_sides_that_ignore_strides_are_scope(tmp_path: Path) -> None:
    report = compared(tmp_path, IGNORES, IGNORES.replace("x * 2.0", "x + x"), layouts="strict")
    assert report.exit_code == 0 and codes(report) == [("specialised-layout", "note")]
    assert not compared(tmp_path, IGNORES, IGNORES, layouts="ignore").layouts


# -- the layouts themselves --------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 5), (4, 16), (2, 8)])
def test_views_hold_the_same_values(shape: tuple[int, ...]) -> None:
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1
    for _, [(_, view)] in derived([("x", ArrayValue(values))]):
        memory = laid_out(view)
        steps = [4 * stride for stride in view.strides]
        seen = np.lib.stride_tricks.as_strided(memory[view.offset :], shape, steps)
        assert (seen == values).all() and (memory[: view.offset] == 0).all()


def test_strides_of_each_layout() -> None:
    assert padded_rows((3, 5)) == (21, 1) and transposed((3, 5)) == (1, 3) and every_other_column((3, 5)) == (26, 2)
    assert transposed((2, 3, 5)) == (15, 1, 3) and padded_rows((2, 3, 5)) == (63, 21, 1)
    for columns in (5, 8, 16, 24, 32):
        assert (every_other_column((3, columns))[0] % 16 == 0) == (columns % 16 == 0)


def test_scalars_have_no_layout_and_vectors_have_two() -> None:
    assert not list(derived([("n", 3), ("s", ArrayValue(np.array(2, np.float32)))]))
    labels = [label for label, _ in derived([("x", ArrayValue(X[0])), ("n", 3)])]
    assert labels == ["an offset", "every other element"]


# -- the judge ---------------------------------------------------------------------------------------------------


def sliced(start: int, factor: float = 1.0) -> Program:
    """Columns start, start + 1, ... of x; 0 stands for a contiguous x, anything else for a stride misread."""
    b = Builder()
    x = b.value(TensorType(F32, (3, 5)))
    b.block.args = [x]
    part = b("slice", x, start=(0, start), limit=(3, start + 3), step=(1, 1))
    return Program(b.block, ["x"], [("out0", b("mul", part, b.like(factor, part)))])


def statuses(a: int, b: int) -> list[str]:
    laid = [LaidOut("transposed", 0, sliced(a), sliced(b), views={"x": ((1, 3), 16)})]
    report = judge([sliced(0)], [sliced(0)], [{"x": X}], OPTIONS, laid)
    assert report.verdict.level is Level.BITWISE
    return [layout.status for layout in report.layouts]


def test_who_strays() -> None:
    assert statuses(0, 0) == ["agree"]
    assert statuses(1, 0) == ["a strays"] and statuses(0, 1) == ["b strays"]
    assert statuses(1, 1) == statuses(1, 2) == ["a and b stray"]


def test_constant_inputs_are_drawn_anew_because_they_hide_wrong_addresses() -> None:
    ones = {"x": np.ones((3, 5), np.float32), "n": np.ones(3, np.int32)}
    made = distinct(ones, 0)
    assert len(np.unique(made["x"])) > 1 and made["n"] is ones["n"]
    laid = [LaidOut("transposed", 0, sliced(0), sliced(1))]
    report = judge([sliced(0)], [sliced(0)], [{"x": ones["x"]}], OPTIONS, laid)
    assert [layout.status for layout in report.layouts] == ["b strays"]


def test_layouts_stop_when_they_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("equivalence.judge.layouts.SECONDS", -1.0)
    laid = [LaidOut("transposed", 0, sliced(0), sliced(1))]
    report = judge([sliced(0)], [sliced(0)], [{"x": X}], OPTIONS, laid)
    check = next(check for check in report.checks if check.name == "other layouts")
    assert check.passed is None and "stopped after 0 of 1" in check.detail and not report.layouts
