"""Tables that two torch hosts make of no input: data first, formulas where that leaves less than `real`."""

from __future__ import annotations

from pathlib import Path

import pytest

from equivalence.verdicts import Level, Report
from irverify.options import CompareOptions
from irverify.orchestrate import FORMULAS, TABLES, compare

ROPE = """
import torch

def f(x):
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[0]).float()[:, None] * ({frequencies})
    a, b = x[:, :half], x[:, half : 2 * half]
    return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], 1)
"""
POWER = "1.0 / (10000.0 ** (torch.arange(half).float() / half))"


@pytest.fixture
def compared(tmp_path: Path):
    def of(a: str, b: str) -> Report:
        for name, frequencies in (("a", a), ("b", b)):
            (tmp_path / f"{name}.py").write_text(ROPE.format(frequencies=frequencies))
        files = {name: str(tmp_path / f"{name}.py") for name in "ab"}
        return compare(CompareOptions(**files, inputs=("f32[30,32]",), shapes=("given",)))

    return of


def formulas(report: Report) -> list[str]:
    return [text for text in report.assumptions if text.startswith(FORMULAS)]


def test_one_formula_is_one_table(compared):
    report = compared(POWER, POWER)
    assert report.verdict.level is Level.BITWISE and TABLES in report.assumptions and not formulas(report)


def test_two_formulas_of_one_function(compared):
    """Their tables differ in the last places, which no bound of the data counts."""
    report = compared(POWER, "torch.exp(torch.arange(half).float() * (-9.210340371976184 / half))")
    assert report.verdict.level is Level.REAL and report.exit_code == 0
    assert len(formulas(report)) == 1


def test_another_function_stays_different(compared):
    report = compared(POWER, POWER.replace("10000", "10001"))
    assert report.verdict.level is Level.DIFFERENT and report.witness is not None and not formulas(report)


def test_a_table_made_in_a_narrow_format_is_a_finding(compared):
    report = compared(f"({POWER}) * 100.03", f"(({POWER}).bfloat16() * 100.03).float()")
    assert report.exit_code == 1
    assert report.verdict.level is Level.DIFFERENT or any(f.code == "precision-lost" for f in report.findings)
