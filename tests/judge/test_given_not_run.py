"""The given set of shapes takes more time or memory than there is: the verdict is about the others, and says so."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from equivalence.evaluator.frame import OutOfTime
from equivalence.judge import judge
from equivalence.verdicts import Level
from irverify.options import CompareOptions
from lowering.errors import UNKNOWN_SPAN
from lowering.ir.builder import Builder
from lowering.ir.program import Block, Program
from lowering.ir.types import F32, TensorType


def doubled(n: int, factor: float = 2.0) -> Program:
    b = Builder()
    x = b.value(TensorType(F32, (n,)))
    b.block = Block([x])
    return Program(b.block, ["x"], [("out0", b("mul", x, b.like(factor, x)))])


@pytest.fixture(params=[OutOfTime(UNKNOWN_SPAN), MemoryError()], ids=["time", "memory"])
def limited(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No run of more than 50 elements."""
    import equivalence.judge.given as given

    deep = given.deep

    def run(runner: Any, pair: Any, *rest: Any) -> Any:
        if pair.size > 50:
            raise request.param
        return deep(runner, pair, *rest)

    monkeypatch.setattr(given, "deep", run)
    monkeypatch.setattr(sys.modules["equivalence.judge.judge"], "deep", run)


def judged(sizes: list[int], factor: float = 2.0) -> Any:
    arrays = [{"x": np.linspace(-1, 2, n, dtype=np.float32)} for n in sizes]
    a, b = [doubled(n) for n in sizes], [doubled(n, factor) for n in sizes]
    return judge(a, b, arrays, CompareOptions(a="a.py", b="b.py", timeout=20.0))


@pytest.mark.usefixtures("limited")
def test_the_other_sets_are_judged() -> None:
    report = judged([64, 32, 48])
    assert report.verdict.level is Level.BITWISE
    assert report.shapes[0].note.startswith("given: not run: out of ")
    assert [shape.level for shape in report.shapes] == [Level.UNDECIDED, Level.BITWISE, Level.BITWISE]


@pytest.mark.usefixtures("limited")
def test_a_difference_shows_there_too() -> None:
    assert judged([64, 32], 3.0).verdict.level is Level.DIFFERENT


@pytest.mark.usefixtures("limited")
def test_nothing_is_said_where_there_is_no_other_set() -> None:
    report = judged([64])
    assert report.verdict.level is Level.UNDECIDED and not report.outputs


@pytest.mark.usefixtures("limited")
def test_nothing_is_said_where_the_others_take_too_much_as_well() -> None:
    report = judged([64, 60])
    assert report.verdict.level is Level.UNDECIDED and report.shapes[0].note.startswith("given: not run: out of ")


@pytest.mark.usefixtures("limited")
def test_another_set_that_takes_too_much_is_left_out() -> None:
    report = judged([32, 64])
    assert report.verdict.level is Level.BITWISE
    assert report.shapes[1].note.startswith("not run: out of ")


@pytest.mark.parametrize("factor", [2.0, 3.0])
def test_a_later_phase_that_takes_too_much_leaves_what_was_found(monkeypatch: Any, factor: float) -> None:
    def run(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(sys.modules["equivalence.judge.judge"].differential, "run", run)
    report = judged([64, 32], factor)
    assert report.shapes[0].level is (Level.BITWISE if factor == 2 else Level.DIFFERENT)
    assert any(check.name == "test" and check.detail == "stopped: out of memory" for check in report.checks)


def test_nothing_is_said_of_what_was_run() -> None:
    assert not any(shape.note.startswith("given: not run") for shape in judged([64, 32]).shapes)
