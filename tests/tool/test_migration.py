"""``--target-b``: what a move between devices changes, beside a verdict that it does not touch."""

from __future__ import annotations

from pathlib import Path

import pytest

from equivalence.verdicts import Level
from irverify import compare
from irverify.options import CompareOptions
from lowering.errors import UsageError

KERNEL = """
import jax.numpy as jnp
from jax import lax

def product(a, b):
    return lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32)
"""
INPUTS = ["bf16[48,64]", "bf16[64,48]"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "product.py"
    path.write_text(KERNEL)
    return path


def test_a_note_of_its_own_and_the_verdict_as_it_was(file: Path) -> None:
    report = compare(file, file, inputs=INPUTS, shapes="given", target="sm_80", target_b="sm_90")
    assert report.verdict.level is Level.BITWISE and report.exit_code == 0
    [found] = [finding for finding in report.findings if finding.code == "migration"]
    assert found.severity == "note" and "sm_80 against sm_90: " in found.message
    assert "of 2304 elements" in found.message and not found.message.startswith("out0, sm_80 against sm_90: 0 of")


def test_without_the_option_there_is_none(file: Path) -> None:
    report = compare(file, file, inputs=INPUTS, shapes="given", target="sm_80")
    assert "migration" not in [finding.code for finding in report.findings]


@pytest.mark.parametrize("target_b", ["cpu", "sm_9", "gpu"])
def test_a_name_that_is_no_device_with_a_unit(target_b: str) -> None:
    with pytest.raises(UsageError, match=r"--target-b is .*write sm_90, sm_100, tpu_v5e or trn2"):
        CompareOptions(a="a.py", b="b.py", target_b=target_b)


def test_a_unit_that_is_not_modelled_is_refused_before_anything_runs(file: Path) -> None:
    with pytest.raises(UsageError, match=r"--target is 'cpu': its matrix unit is not modelled"):
        compare(file, file, inputs=INPUTS, target="cpu", target_b="sm_90")
