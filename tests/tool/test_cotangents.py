"""Incoming gradients that are views: an error where one side strays, a note where it refuses, else silence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from irverify import cotangents, loading
from irverify._capture import CaptureOptions, load_adapter
from irverify.exchange import Exchange
from irverify.failures import describe
from irverify.options import CompareOptions
from irverify.orchestrate import _briefly, compare
from irverify.values import ArrayValue

SUBJECTS = Path(__file__).parents[1] / "capture" / "subjects" / "incoming_gradients.py"
X = ArrayValue(np.linspace(1, 2, 21, dtype=np.float32).reshape(7, 3))


@pytest.fixture
def examined(tmp_path):
    """Findings and check for two subjects of one file."""
    exchange = Exchange(tmp_path)

    def capture(side, name):
        adapter = load_adapter("irverify._capture_torch:TorchAdapter", CaptureOptions(backward=True))
        with adapter.session():
            function = getattr(loading.load(SUBJECTS), name)
            bound = loading.bind(function, [(None, X)], name)
            dense = adapter.capture(function, bound)
            publish(f"{side}.v0", dense)
            for label in cotangents.layouts({key: ArrayValue(value) for key, value in dense.inputs.items()}):
                try:
                    publish(f"{side}.g.{label}", adapter.capture_gradients(function, bound, label))
                except AssertionError as error:
                    exchange.publish(f"{side}.g.{label}", {"failure": describe(error, SUBJECTS)})

    def publish(name, captured):
        exchange.publish_text(f"{name}.kir", captured.kir)
        exchange.publish(name, {"inputs": captured.inputs})

    def of(*names):
        exchange.publish("layouts", {"base": 0})
        for side, name in zip("ab", names):
            capture(side, name)
        return cotangents.examine(exchange, ("a.py", "b.py"), _briefly(CompareOptions(a="a.py", b="b.py")))

    return of


@pytest.mark.parametrize(("names", "file"), [(("plain", "careless"), "b.py"), (("careless", "careful"), "a.py")])
def test_one_side_reads_a_view_as_contiguous(examined, names, file):
    (finding,), check = examined(*names)
    assert (finding.code, finding.severity) == ("cotangent-layout", "error")
    assert finding.message.startswith(
        f"{file} reads its incoming gradient as contiguous memory: where that is expanded"
    )
    assert "grad:arg0" in finding.message and "also: transposed" in finding.message
    assert finding.span is not None and finding.span.file.endswith("incoming_gradients.py")
    assert check.passed is False


def test_both_sides_read_views(examined):
    found, check = examined("plain", "careful")
    assert found == [] and check.passed is True
    assert "A expanded, A transposed, B expanded, B transposed" in check.detail


def test_both_sides_are_careless(examined):
    found, check = examined("careless", "careless")
    assert [finding.severity for finding in found] == ["warning", "warning"] and check.passed is False


def test_a_side_that_refuses(examined):
    (finding,), check = examined("plain", "strict")
    assert (finding.code, finding.severity) == ("specialised-layout", "note")
    assert "expanded or transposed: b.py does not run" in finding.message and check.passed is True


@pytest.mark.parametrize("name", ["overwriting", "overwriting_a_copy"])
def test_one_that_is_written_to_is_compared_with_itself(examined, name):
    """Where it is contiguous, only: that the writing itself differs is for the comparison of the two sides."""
    found, check = examined("plain", name)
    assert found == [] and check.passed is True


@pytest.mark.parametrize(("name", "level"), [("overwriting", "different"), ("overwriting_a_copy", "real")])
def test_the_incoming_gradient_is_an_argument(name, level):
    """Autograd may hand it to others as well, so to write to it is an effect."""
    arguments = CompareOptions(a=f"{SUBJECTS}:plain", b=f"{SUBJECTS}:{name}", inputs=("f32[7,3]",), backward=True)
    report = compare(arguments)
    assert str(report.verdict.level) == level and report.exit_code == (level == "different")
    written = [output for output in report.outputs if output.name == "written:cotangent:out0"]
    assert [str(output.verdict.level) for output in written] == ["different"] * (name == "overwriting")


def test_nothing_was_captured_so(tmp_path):
    judged = _briefly(CompareOptions(a="a.py", b="b.py"))
    assert cotangents.examine(Exchange(tmp_path), ("a.py", "b.py"), judged) == ([], None)


def test_why_they_were_not_tried(tmp_path):
    exchange = Exchange(tmp_path)
    assert cotangents.left_out(exchange) == []
    exchange.publish(f"b.{cotangents.LEFT_OUT}", {"why": "capturing b.py takes more than 10 s"})
    (check,) = cotangents.left_out(exchange)
    assert check.passed is None and check.detail == "not run: capturing b.py takes more than 10 s"


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((7, 3), ["expanded", "transposed"]), ((7,), ["expanded"]), ((1, 7), ["expanded"]), ((), []), ((1,), [])],
)
def test_which_layouts_there_are(shape, expected):
    assert cotangents.layouts({"x": X, "cotangent:out0": ArrayValue(np.ones(shape))}) == expected
