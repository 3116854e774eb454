"""Sums in an open order, all terms of one sign, added in their worst order: more than is expected, never a witness."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.bounds.observe import SLACK, Subject
from equivalence.interpretations.depends import Depends
from equivalence.interpretations.error import Error
from equivalence.interpretations.summation import Summation
from equivalence.judge import guards, judge
from equivalence.judge.runs import Pair, Runner
from equivalence.verdicts import Level, Report
from lowering.ir.parser import parse_program
from lowering.ir.program import Program
from tests.interpretations.test_truth import OPTIONS
from tests.tolerance.programs import total

LONG = [10_000, 100_000, pytest.param(1_000_000, marks=pytest.mark.sweep)]


def alike(terms: int) -> np.ndarray:
    return np.full((1, terms), 0.1, np.float32)


def one_then_halves(terms: int) -> np.ndarray:
    """Half a unit in the last place of 1 is lost beside it, each time: the tie goes to the even one."""
    x = np.full((1, terms), 2.0**-24, np.float32)
    x[0, 0] = 1
    return x


@pytest.mark.parametrize("terms", LONG)
@pytest.mark.parametrize("make", [alike, one_then_halves])
def test_a_legal_order_exceeds_what_is_expected_and_not_the_bound(terms: int, make) -> None:
    inputs, subject = {"x": make(terms)}, Subject.of(total(terms, rows=1))
    references = subject.references(inputs)
    assert references is not None
    sums = [subject.values(inputs, order)[0] for order in (Summation("one"), Summation("back", "reversed"))]
    assert max(references[0].ratio(x).max() for x in sums) <= SLACK
    off = max(abs(float(x[0]) - inputs["x"].astype(np.float64).sum()) for x in sums)
    assert off > 4 * np.sqrt(terms) * 2.0**-24 * inputs["x"].astype(np.float64).sum()


def compared(a: Program, b: Program, x: np.ndarray) -> Report:
    return judge([a], [b], [{"x": x}], OPTIONS)


@pytest.mark.parametrize("make", [alike, one_then_halves])
def test_the_worst_legal_order_is_another_order_and_nothing_else(make) -> None:
    """Also where all terms are alike, which are kept as they are among inputs of zeros and ones."""
    report = compared(total(300, rows=1), total(300, rows=1, order="sequential"), make(300))
    assert report.verdict.level is Level.REASSOCIATED and not report.findings


def weighted(order: str) -> Program:
    return parse_program(
        'program(%0: f32[2,200] "x", %1: f32[2,200] "weight:w") {} {\n  %2 = mul %0, %1 : f32[2,200]\n'
        f'  %3 = reduce %2 {{axis=1, combine="add", order="{order}"}} : f32[2]\n  return "out0" %3\n}}\n'
    )


def test_weights_are_no_zeros_and_ones() -> None:
    """They keep their values, so sums of them are exact in no order."""
    x, w = np.random.default_rng(0).standard_normal((2, 2, 200)).astype(np.float32)
    report = judge([weighted("unordered")], [weighted("sequential")], [{"x": x, "weight:w": w}], OPTIONS)
    assert report.verdict.level is Level.REASSOCIATED


def test_zeros_and_ones_show_a_term_that_is_missing() -> None:
    short = parse_program(
        'program(%0: f32[1,9] "x") {} {\n  %1 = slice %0 {start=[0,0], limit=[1,8], step=[1,1]} : f32[1,8]\n'
        '  %2 = reduce %1 {axis=1, combine="add"} : f32[1]\n  return "out0" %2\n}\n'
    )
    for x, passed in ((np.ones((1, 9), np.float32), [False]), (np.full((1, 9), 0.1, np.float32), [])):
        pair = Pair(total(9, rows=1), short, {"x": x})
        run = Runner().run(pair, [Depends(marks=False), Error(usual=False)], pair.inputs)
        assert [check.passed for check in guards.zero_one(pair, run)] == passed


def scaled(terms: int) -> Program:
    return parse_program(
        f'program(%0: f32[1,{terms}] "x") {{}} {{\n'
        f'  %1 = constant {{to="f32", shape=[1,{terms}], value={1 + 2.0**-13}}} : f32[1,{terms}]\n'
        f"  %2 = mul %0, %1 : f32[1,{terms}]\n"
        '  %3 = reduce %2 {axis=1, combine="add"} : f32[1]\n  return "out0" %3\n}\n'
    )


def test_what_only_the_worst_order_would_explain_is_no_equality() -> None:
    """A sum off by 2^-13, which the roundings of 3000 equal terms might come to."""
    bound = Subject.of(total(3000, rows=1)).references({"x": alike(3000)})
    assert bound is not None and float(bound[0].bound[0]) > 300 * 2.0**-13
    report = compared(total(3000, rows=1), scaled(3000), alike(3000))
    assert report.verdict.level in (Level.CLOSE, Level.DIFFERENT)
