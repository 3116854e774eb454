"""What was asked for with ``strict`` and not done never exits 0; what is irverify's limit is not called the file's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equivalence.verdicts import Check, Level, Report, SpecialValue, Verdict
from irverify.collect import Collected
from irverify.exchange import Exchange
from irverify.options import CompareOptions
from irverify.orchestrate import finish, layouts_left_out
from tests.tool.conftest import Run, Write

Judge = Callable[..., list[Collected]]
GOOD = "def double(x):\n    return x + x\n"


def finished(checks: list[Check], level: Level = Level.BITWISE, **options: Any) -> Report:
    return finish(Report(Verdict(level), checks=checks), CompareOptions(a="a.py", b="b.py", **options), 0.0)


def strictly(option: str, how: str = "strict") -> dict[str, Any]:
    return {option: how}


@pytest.mark.parametrize(("option", "name"), [("special", "special values"), ("layouts", "other layouts")])
def test_a_strict_check_that_was_not_run_is_undecided(option: str, name: str) -> None:
    check = Check(name, None, "not run: the inputs are too large")
    report = finished([check], **strictly(option))
    assert report.exit_code == 3 and report.verdict.level is Level.UNDECIDED
    assert option in report.verdict.reason and "too large" in report.verdict.reason
    assert finished([check], **strictly(option, "report")).exit_code == 0


@pytest.mark.parametrize(("option", "name"), [("special", "special values"), ("layouts", "other layouts")])
def test_a_strict_check_that_passed_or_has_nothing_to_look_at_is_fine(option: str, name: str) -> None:
    for check in (Check(name, True), Check(name, None, "no input holds floats", applies=False)):
        assert finished([check], **strictly(option)).exit_code == 0


def test_a_strict_check_that_is_missing_was_not_run() -> None:
    assert finished([], special="strict").exit_code == 3
    assert finished([], layouts="strict").exit_code == 0, "no side has strides"


def test_a_weaker_verdict_is_kept() -> None:
    report = finished([], level=Level.TESTED, special="strict")
    assert report.verdict.level is Level.TESTED and report.exit_code == 1


def test_a_special_value_that_counts_has_a_witness(tmp_path: Path) -> None:
    from equivalence.verdicts import OutputResult

    x = np.array([1.0, np.nan], np.float32)
    row = SpecialValue("out0", "a NaN in x", 0.0, "nan", "said", (1,), 0.5, {"x": x})
    verdict = Verdict(Level.BITWISE)
    report = Report(verdict, [OutputResult("out0", "f32", (2,), verdict, special_values=[row])])
    options = CompareOptions(a="a.py", b="b.py", special="strict", save_witness=str(tmp_path / "w"))
    done = finish(report, options, 0.0)
    assert done.verdict.level is Level.DIFFERENT and done.witness is not None
    assert done.witness.index == (1,) and done.witness.inputs["x"] is x and done.witness.bound == 0.5
    saved = np.load(tmp_path / "w" / "inputs.npz")
    assert np.isnan(saved["x"][1])


def test_an_internal_error_at_another_shape_is_an_internal_error(run: Run, write: Write, judged_at: Judge) -> None:
    judged_at(Level.BITWISE)
    failing = """
        from lowering.errors import InternalError

        def double(x):
            if x.shape != (64, 96):
                raise InternalError("a contradiction")
            return x + x
    """
    bad = write("bad.py", failing)
    good = write("good.py", GOOD)
    for a, b in ((bad, good), (good, bad)):
        result = run("compare", a, b, "--input", "f32[64,96]", "--json", "-")
        assert result.exit_code == 4 and "a contradiction" in result.stderr


def test_what_is_not_modelled_at_another_shape_is_irverifys_limit(run: Run, write: Write, judged_at: Judge) -> None:
    judged_at(Level.BITWISE)
    limited = "def double(x):\n    return x + x if x.shape == (64, 96) else x.fancy()\n"
    fancy, good = write("fancy.py", limited), write("good.py", GOOD)
    for a, b, letter in ((fancy, good, "A"), (good, fancy, "this")):
        result = run("compare", a, b, "--input", "f32[64,96]", "--json", "-")
        document = json.loads(result.stdout)
        notes = [shape["note"] for shape in document["shapes"]]
        assert any(f"irverify does not model what {letter} does there: fake.fancy" in note for note in notes), notes
        assert not any("does not run" in note or "specialised" in note for note in notes)
        assert "specialised-shape" not in [finding["code"] for finding in document["findings"]]


def test_layouts_that_were_left_out_have_a_reason(tmp_path: Path) -> None:
    exchange = Exchange(tmp_path)
    torch, jax = ("torch", "torch"), ("jax", "jax")
    for name in ("a.v0", "b.v0", "a.done"):
        exchange.publish(name, {})
    assert layouts_left_out(exchange, torch) == "out of time" and not layouts_left_out(exchange, jax)
    exchange.publish("b.done", {})
    assert not layouts_left_out(exchange, torch)
    exchange.publish("b.no-layouts", {"why": "capturing b.py takes more than 2 s"})
    assert "more than 2 s" in layouts_left_out(exchange, torch)
    exchange.publish("no-layouts", {"why": "the inputs are too large"})
    assert "too large" in layouts_left_out(exchange, torch) and not layouts_left_out(exchange, jax)
