"""A check that was not run does not pass: it says how much of it was run, and why no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from equivalence.evaluator.frame import OutOfTime
from equivalence.judge import judge, planted, realjudge, special, ties
from equivalence.judge.judge import Judge
from equivalence.judge.layouts import LaidOut
from equivalence.judge.runs import Pair, Runner
from equivalence.verdicts import Check, Level, Report
from lowering.errors import UNKNOWN_SPAN, IrverifyError, Unsupported
from lowering.ir.builder import Builder
from lowering.ir.program import Program
from lowering.ir.types import F32, TensorType
from tests.semantics.programs import Body, arrays, options, program

SPEC = "f32[3,5]"


def doubled(k: Any, x: Any) -> Any:
    return k.mul(x, 2.0)


def summed(k: Any, x: Any) -> Any:
    return k.div(x, k.b.broadcast(k.add(k.sum(k.mul(x, x)), 1.0), x.type.shape, []))


def inverse(k: Any, x: Any) -> Any:
    """The same real function as ``summed``, with another rounding."""
    total = k.add(k.sum(k.mul(x, x)), 1.0)
    return k.mul(x, k.b.broadcast(k.div(k.lit(1.0, total), total), x.type.shape, []))


def pairs(a: Body, b: Body, *specs: str) -> list[Pair]:
    return [Pair(program(a, s), program(b, s), arrays(1, s)) for s in specs]


def judged(every: list[Pair], laid_out: Any = (), **changes: Any) -> Report:
    with np.errstate(all="ignore"):
        return judge(
            [p.a for p in every], [p.b for p in every], [p.inputs for p in every], options(**changes), laid_out
        )


def check(report: Report, name: str) -> Check:
    [found] = [check for check in report.checks if check.name == name]
    return found


def failing_after(runs: int, original: Callable[..., Any], error: IrverifyError) -> Callable[..., Any]:
    """``original``, which raises from the call after ``runs`` on."""
    calls: list[int] = []

    def run(*args: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) > runs:
            raise error
        return original(*args, **named)

    return run


OUT_OF_TIME = OutOfTime(UNKNOWN_SPAN)
CANNOT = Unsupported("a loop that does not end")


def test_out_of_time_is_no_construct_that_is_not_modelled() -> None:
    assert not issubclass(OutOfTime, Unsupported) and OutOfTime.exit_code == 3


def test_a_given_run_that_is_out_of_time_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Runner, "run", failing_after(0, Runner.run, OUT_OF_TIME))
    report = judged(pairs(doubled, doubled, SPEC))
    assert report.verdict.level is Level.UNDECIDED and "out of time" in report.verdict.reason


def test_a_larger_set_of_shapes_out_of_time_is_named_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Runner, "run", failing_after(1, Runner.run, OUT_OF_TIME))
    report = judged(pairs(doubled, doubled, SPEC, "f32[4,5]"), special="ignore")
    assert report.shapes[1].note == "not run: out of time"


def test_differential_tests_cut_short_are_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ties, "run", failing_after(3, ties.run, OUT_OF_TIME))
    found = check(judged(pairs(doubled, doubled, SPEC)), "differential tests")
    assert found.passed is None and found.detail.startswith("4 of ") and found.detail.endswith("not run: out of time")


def test_differential_tests_of_which_none_runs_are_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ties, "run", failing_after(0, ties.run, CANNOT))
    found = check(judged(pairs(doubled, doubled, SPEC)), "differential tests")
    assert found.passed is None and "cannot be run" in found.detail


def test_differential_tests_say_what_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ties, "run", failing_after(5, ties.run, CANNOT))
    found = check(judged(pairs(doubled, doubled, SPEC)), "differential tests")
    assert found.passed and found.detail.startswith("6 of ") and "cannot be run (unsupported: a loop" in found.detail


def test_complete_checks_pass() -> None:
    report = judged(pairs(doubled, doubled, SPEC))
    assert check(report, "differential tests").passed and check(report, "special values").passed
    assert " of " not in check(report, "differential tests").detail


# -- special values ----------------------------------------------------------------------------------------------


def divided_by_a_read(factor: float) -> Program:
    """x over its largest element, which the host read: any other is another path."""
    b = Builder()
    x = b.value(TensorType(F32, (4,)))
    b.block.args = [x]
    b.op("observe", [b("reduce", b("reshape", x, shape=(1, 4)), axis=1, combine="max")])
    return Program(b.block, ["x0"], [("out0", b("mul", x, b.like(factor, x)))])


def test_special_values_that_take_the_host_elsewhere_are_not_run() -> None:
    made = [divided_by_a_read(0.5) for _ in "ab"]
    data = {"x0": np.array([1.0, 2.0, 3.0, 4.0], np.float32)}
    rows, tally = special.table(Pair(made[0], made[1], data), Runner(), _error(Pair(made[0], made[1], data)))
    assert (
        {row.status for row in rows} <= {"alike", "not run"}
        and 0 < tally.ran < tally.planned
        and tally.off_path == tally.planned - tally.ran
    )
    found = check(judge(made[:1], made[1:], [data], options()), "special values")
    assert found.passed is None and "the host would do something else" in found.detail


def _error(pair: Pair) -> Any:
    return Judge([pair], options()).error(pair)


@pytest.mark.parametrize(("error", "words"), [(OUT_OF_TIME, "out of time"), (CANNOT, "cannot be run")])
def test_special_values_of_which_none_runs(monkeypatch: pytest.MonkeyPatch, error: IrverifyError, words: str) -> None:
    original = special.table

    def table(pair: Pair, runner: Runner, *rest: Any) -> Any:
        monkeypatch.setattr(Runner, "run", failing_after(0, Runner.run, error))
        return original(pair, runner, *rest)

    monkeypatch.setattr(special, "table", table)
    found = check(judged(pairs(doubled, doubled, SPEC)), "special values")
    assert found.passed is None and found.detail.startswith("not run: ") and words in found.detail


def test_large_inputs_have_special_values_only_where_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(special, "MOST_ELEMENTS", 4)
    monkeypatch.setattr(planted, "FEW_FROM", 4)
    monkeypatch.setattr(special, "FEW_FROM", 4)
    assert check(judged(pairs(doubled, doubled, SPEC)), "special values").passed is None
    strict = check(judged(pairs(doubled, doubled, SPEC), special="strict"), "special values")
    assert strict.passed and "only these" in strict.detail


def test_integers_have_no_special_values() -> None:
    found = check(judged(pairs(lambda k, x: k.add(x, x), lambda k, x: k.add(x, x), "i32[7]")), "special values")
    assert found.passed is None and not found.applies


def test_a_row_has_the_input_that_shows_it() -> None:
    def clamped(nan: str) -> Body:
        return lambda k, x: k.b("max", x, k.lit(0.0, x), nan=nan)

    report = judged(pairs(clamped("propagate"), clamped("number"), SPEC))
    row = report.special_values[0]
    assert row.input == "a NaN in x0" and np.isnan(row.inputs["x0"][row.index]) and row.value_b == 0.0


# -- layouts -----------------------------------------------------------------------------------------------------


def test_layouts_that_irverify_cannot_run_are_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    [pair] = pairs(doubled, doubled, SPEC)
    laid = [LaidOut("transposed", 0, refused="b.py does not run: unsupported: x", limit=True),
            LaidOut("padded rows", 0, pair.a, pair.b)]  # fmt: skip
    report = judged([pair], laid)
    assert [layout.status for layout in report.layouts] == ["not run", "agree"]
    found = check(report, "other layouts")
    assert found.passed is None and found.applies and "not run: transposed" in found.detail


def test_layouts_out_of_time_are_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    [pair] = pairs(doubled, doubled, SPEC)
    monkeypatch.setattr("equivalence.judge.layouts._result", failing_after(0, lambda: None, OUT_OF_TIME))
    report = judged([pair], [LaidOut("padded rows", 0, pair.a, pair.b)])
    assert not report.layouts and "out of time" in check(report, "other layouts").detail


# -- real functions ----------------------------------------------------------------------------------------------

THREE = ("f32[3]", "f32[5]", "f32[7]")


def late_from(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Time is out before the real functions at set ``number`` are looked at."""
    monkeypatch.setattr(realjudge, "_examine", failing_after(number, realjudge._examine, OUT_OF_TIME))


def test_sets_without_words_or_real_functions_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    late_from(monkeypatch, 1)
    report = judged(pairs(summed, inverse, *THREE))
    assert report.verdict.level is Level.REAL
    assert ["out of time" in shape.note for shape in report.shapes] == [False, True, True]
    assert "inputs are finite; examined at 1 set of shapes" in report.assumptions
    assert check(report, "real function").detail.startswith("1 of 3 sets of shapes")


def test_nothing_is_shown_without_the_smallest_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only there every decision is looked for."""
    late_from(monkeypatch, 1)
    report = judged(pairs(summed, inverse, *THREE[::-1]))
    assert report.verdict.level is Level.TESTED and "out of time" in report.verdict.reason


def test_nothing_is_shown_without_the_given_set(monkeypatch: pytest.MonkeyPatch) -> None:
    late_from(monkeypatch, 0)
    report = judged(pairs(summed, inverse, *THREE))
    assert report.verdict.level is Level.TESTED and "out of time" in report.verdict.reason


@pytest.mark.parametrize("error", [OUT_OF_TIME, CANNOT])
def test_a_difference_keeps_its_witness_where_no_time_is_left_to_shrink_it(
    monkeypatch: pytest.MonkeyPatch, error: IrverifyError
) -> None:
    from equivalence.judge.witness import Shrinker

    monkeypatch.setattr(Shrinker, "check", failing_after(0, Shrinker.check, error))
    report = judged(pairs(doubled, lambda k, x: k.mul(x, 3.0), SPEC))
    assert report.verdict.level is Level.DIFFERENT and report.witness is not None
