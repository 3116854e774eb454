"""Kernels of published wheels define themselves while the NKI namespaces are there, and agree with PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.sweeps.wheels import Wheels, cases, disagreements


@pytest.fixture(scope="module")
def wheels() -> Iterator[Wheels]:
    made = Wheels()
    yield made
    made.stack.close()


@pytest.mark.parametrize("name", ["trnfft _complex_mul_kernel", "trnsolver jacobi_rotation_kernel"])
def test_a_published_kernel_is_bitwise_pytorch(name: str, wheels: Wheels) -> None:
    (part,) = wheels.row(name).parts
    assert (part.verdict, part.against) == ("bitwise", []), part.reason


def test_another_function_is_told_by_its_values(wheels: Wheels) -> None:
    case = next(case for case in cases() if case.name == "trnfft _complex_mul_kernel")
    variant, _ = wheels.variant(case)
    conjugated = replace(case, reference=lambda a_real, a_imag, b_real, b_imag: (
        a_real * b_real + a_imag * b_imag, a_imag * b_real - a_real * b_imag))  # fmt: skip
    assert disagreements(case, variant) == []
    assert len(disagreements(conjugated, variant)) == 2
