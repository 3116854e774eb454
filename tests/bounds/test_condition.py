"""Condition numbers: what a one-pass variance loses is named with its line, and what exponentials forgive is none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equivalence.bounds.condition import cancellations
from equivalence.judge import judge
from equivalence.verdicts import Report
from lowering.ir.parser import parse_program
from tests.bounds.programs import ONE_PASS, TWO_PASS
from tests.interpretations.test_truth import OPTIONS
from tests.tolerance.programs import softmax


def rows(mean: float) -> dict[str, np.ndarray]:
    return {"x": (np.random.default_rng(3).standard_normal((5, 64)) + mean).astype(np.float32)}


def number(program, inputs: dict[str, np.ndarray]) -> float:
    found = cancellations(program, inputs, {}, math.inf)[0]
    assert found is not None
    return found.number


@pytest.mark.parametrize("mean", [30.0, 300.0])
def test_a_variance_in_one_pass_squares_the_ratio_of_mean_and_deviation(mean: float) -> None:
    """(E[x^2] + E[x]^2) / var is about 2 mean^2; two passes lose 2 |mean| / deviation at most a few times."""
    assert number(ONE_PASS, rows(mean)) == pytest.approx(2 * mean**2, rel=0.5)
    assert number(TWO_PASS, rows(mean)) < 5 * mean


def test_ordinary_rows_lose_next_to_nothing() -> None:
    assert number(ONE_PASS, rows(0.0)) < 2


def test_differences_under_an_exponential_are_no_loss() -> None:
    """The largest term less itself is 0, infinitely many times smaller than both."""
    assert number(softmax(40), {"x": rows(300.0)["x"][:2, :40]}) < 2


def test_an_element_of_zero_whose_bound_is_not() -> None:
    program = parse_program(
        'program(%0: f32[2] "x", %1: f32[2] "y") {} {\n  %2 = mul %0, %1 : f32[2]\n  %3 = mul %1, %0 : f32[2]\n'
        '  %4 = sub %2, %3 : f32[2]\n  return "out0" %4\n}\n'
    )
    found = cancellations(program, {"x": np.full(2, 0.1, np.float32), "y": np.full(2, 0.3, np.float32)}, {}, math.inf)
    assert found[0] is not None and math.isinf(found[0].number) and "infinitely" in str(found[0])


def compared(mean: float) -> Report:
    return judge([TWO_PASS], [ONE_PASS], [rows(mean)], OPTIONS)


def test_the_report_says_which_side_cancels() -> None:
    far = compared(200.0).outputs[0]
    assert far.condition_a is not None and far.condition_b is not None
    assert far.condition_b.number > 1e4 > 10 * far.condition_a.number and far.condition_b.left < 3
    findings = [f for f in compared(200.0).findings if f.code == "order-sensitive"]
    assert findings and "times as large as their sum" in findings[0].message


def test_near_zero_nothing_is_said() -> None:
    assert not [f for f in compared(0.0).findings if f.code == "order-sensitive"]
