"""Which derived inputs may speak against a pair: those in its domain, on which the host reads what it read."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.judge import judge
from equivalence.judge.compare import compare
from equivalence.judge.inputs import into_domain
from equivalence.judge.runs import Pair, Runner
from equivalence.verdicts import Level
from irverify.options import CompareOptions
from lowering.ir.builder import Builder
from lowering.ir.program import Program
from lowering.ir.types import F32, TensorType
from tests.semantics.programs import arrays, program

X = np.array([1.5, -0.25, 3.0], np.float32)
OPTIONS = CompareOptions(a="a.py", b="b.py")


def scaled(reads: bool) -> Program:
    """x times its first element; ``reads``: the host read it with .item(), so it is a number in the program."""
    b = Builder()
    x = b.value(TensorType(F32, (3,)))
    b.block.args = [x]
    first = b("slice", x, start=(0,), limit=(1,), step=(1,))
    if reads:
        b.op("observe", [first])
        first = b.like(float(X[0]), first)
    spread = b("broadcast", first, shape=(3,), dims=(0,))
    return Program(b.block, ["x"], [("out0", b("mul", x, spread))])


def test_a_number_the_host_read_does_not_make_two_sides_different() -> None:
    report = judge([scaled(True)], [scaled(False)], [{"x": X}], OPTIONS)
    assert report.verdict.level is Level.UNDECIDED and "host follows data" in report.verdict.reason


def test_the_same_number_written_by_hand_does() -> None:
    program = scaled(True)
    program.body.ops = [op for op in program.body.ops if op.name != "observe"]
    assert judge([program], [scaled(False)], [{"x": X}], OPTIONS).verdict.level is Level.DIFFERENT


def test_a_run_on_which_the_host_reads_another_value_is_off_the_path() -> None:
    pair, runner = Pair(scaled(True), scaled(False), {"x": X}), Runner()
    runs = [runner.run(pair, (), {"x": x}) for x in (X, X[::-1].copy(), np.array([1.5, 7, 8], np.float32))]
    assert [run.on_path for run in runs] == [True, False, True]


def test_log_probabilities_stay_log_probabilities() -> None:
    made = into_domain(np.array([100.0, -3.0, 0.5]), np.array([-4.0, -0.1, -2.0]))
    assert (made <= 0).all()


def constant(value: float) -> Program:
    b = Builder()
    x = b.value(TensorType(F32, (3,)))
    b.block.args = [x]
    return Program(b.block, ["x"], [("out0", b("add", x, b.like(value, x)))])


@pytest.mark.parametrize(
    ("a", "b", "one_sided"),
    [(np.inf, np.nan, False), (np.inf, -np.inf, False), (np.inf, 1.0, True), (1.0, np.nan, True)],
)
def test_one_sided_means_finite_on_one_side(a: float, b: float, one_sided: bool) -> None:
    run = Runner().run(Pair(constant(a), constant(b), {"x": X}), (), {"x": X})
    _, x, y = run.outputs()[0]
    assert bool(compare(x, y, ()).one_sided.any()) is one_sided


def largest_of_the_rest(skip: int, columns: int) -> Program:
    """The maximum of a row without its first ``skip`` elements."""
    b = Builder()
    x = b.value(TensorType(F32, (2, columns)))
    b.block.args = [x]
    rest = b("slice", x, start=(0, min(skip, columns)), limit=(2, columns), step=(1, 1))
    return Program(b.block, ["x"], [("out0", b("reduce", rest, axis=1, combine="max", order="unordered"))])


def test_a_shape_that_cannot_be_run_is_left_out_altogether() -> None:
    programs = [largest_of_the_rest(3, columns) for columns in (5, 3)]
    report = judge(programs, programs, [{"x": np.ones((2, n), np.float32)} for n in (5, 3)], OPTIONS)
    assert report.verdict.level is Level.BITWISE
    assert [shape.level for shape in report.shapes] == [Level.BITWISE, Level.UNDECIDED]


def ranks(a_first: bool) -> Program:
    """Positions of the smaller of two numbers, and an index that no number moves."""
    b = Builder()
    x = b.value(TensorType(F32, (3,)))
    b.block.args = [x]
    place = b("iota", to="i32", shape=(3,), axis=0)
    zero = b.like(0.0, x)
    low = b("min", *((x, zero) if a_first else (zero, x)), nan="number")
    return Program(b.block, ["x"], [("out0", low), ("out1", place)])


def test_outputs_that_are_indices_are_no_obstacle_to_dismissing_choices() -> None:
    report = judge([ranks(True)], [ranks(False)], [{"x": np.abs(X)}], OPTIONS)
    assert report.verdict.level is not Level.DIFFERENT


@pytest.mark.parametrize(("most", "there"), [(None, Level.BITWISE), (50.0, Level.DIFFERENT)])
def test_the_given_shapes_are_tested_too_where_smaller_ones_differ(most: float | None, there: Level) -> None:
    """A clamp at 50 shows at the given shapes on derived inputs only, which the smallest shapes have had."""
    same = lambda k, x: k.mul(x, 2.0)  # noqa: E731
    clamped = lambda k, x: k.mul(x if most is None else k.min(x, most), 2.0)  # noqa: E731
    specs = "f32[24]", "f32[5]"
    a = [program(same, spec) for spec in specs]
    b = [program(clamped, specs[0]), program(lambda k, x: k.mul(x, 3.0), specs[1])]
    report = judge(a, b, [arrays(1, spec) for spec in specs], OPTIONS)
    assert [shape.level for shape in report.shapes] == [there, Level.DIFFERENT]
