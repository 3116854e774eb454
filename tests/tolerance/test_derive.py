"""The smallest tolerance: against lines known beforehand, and against Higham's bound for a sum."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.tolerance import Request, assess
from equivalence.tolerance.derive import Points, line, upward
from tests.tolerance.programs import normal, total


def covers(pair: tuple[float, float], sizes: np.ndarray, errors: np.ndarray) -> bool:
    return bool((pair[1] + pair[0] * sizes >= errors).all())


SIZES = np.geomspace(1e-3, 1e3, 500)


@pytest.mark.parametrize(
    ("rtol", "atol"), [(1e-3, 0.0), (0.0, 1e-4), (2e-5, 3e-6)], ids=["relative", "absolute", "both"]
)
def test_a_line_is_found_again(rtol: float, atol: float) -> None:
    found = line(SIZES, atol + rtol * SIZES)
    assert found[0] == pytest.approx(rtol, rel=0.11) and found[1] == pytest.approx(atol, rel=0.11)
    assert covers(found, SIZES, atol + rtol * SIZES)


@pytest.mark.parametrize("seed", range(20))
def test_every_element_is_covered_and_nothing_smaller_covers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = np.exp(rng.normal(0, 3, 400)) * (rng.random(400) > 0.1)
    errors = np.exp(rng.normal(-10, 1, 400)) * (1 + sizes) ** rng.choice([0.0, 0.5, 1.0])
    rtol, atol = line(sizes, errors)
    assert covers((rtol, atol), sizes, errors)
    assert not covers((0.85 * rtol, 0.85 * atol), sizes, errors)


def test_zeros_do_not_decide() -> None:
    """Half of a relu's output is exactly zero; the rest must not pay for it with an rtol that passes everything."""
    sizes = np.concatenate([np.zeros(500), np.geomspace(1e-6, 1, 500)])
    errors = np.concatenate([np.full(500, 1e-45), np.full(500, 1e-5)])
    rtol, atol = line(sizes, errors)
    assert rtol < 0.5 and covers((rtol, atol), sizes, errors)


def test_an_exact_output_needs_none() -> None:
    assert line(SIZES, np.zeros(500)) == (0.0, 0.0)


@pytest.mark.parametrize("value", [1.234e-5, 9.99e-3, 2.0**-24, 7.0])
def test_rounded_up_to_two_digits(value: float) -> None:
    assert value <= upward(value) <= value * 1.1
    assert float(f"{upward(value):.1e}") == upward(value)


def test_without_a_bound_there_is_no_tolerance() -> None:
    points = Points()
    one = np.ones(3)
    points.add(one, np.full(3, np.inf), one, np.zeros(3, bool))
    assert points.tolerance() is None and points.unbounded == 3


def test_of_a_sum() -> None:
    """Two orders of n ones: each within gamma_(n-1) n of the sum, n itself (Higham 2002, 4.4)."""
    n, u = 1024, 2.0**-24
    report = assess(Request(total(n), {"x": np.ones((3, n), np.float32)}, mutants=0, draws=1))
    found = report.outputs[0].worst
    gamma = (n - 1) * u / (1 - (n - 1) * u)
    assert found is not None
    assert found.atol + found.rtol * n == pytest.approx(2 * gamma * n, rel=0.1)
    assert found.atol + found.rtol * n >= 2 * gamma * n
    expected = report.outputs[0].expected
    assert expected is not None and expected.atol + expected.rtol * n == pytest.approx(8 * np.sqrt(n) * u * n, rel=0.1)


def test_where_rounding_has_no_bound_nothing_is_derived() -> None:
    """n u > 1: 4096 ones in bf16 come to 256 one after the other."""
    report = assess(Request(total(4096, "bf16"), {"x": np.ones((3, 4096), "bfloat16")}, mutants=0, draws=1))
    assert report.outputs[0].worst is None and report.outputs[0].unbounded == 3


def test_a_fixed_order_has_nothing_to_reorder() -> None:
    program = total(64, order="sequential")
    report = assess(Request(program, normal(program), mutants=0))
    assert report.runs == 0 and any("nothing to reorder" in note for note in report.notes)
