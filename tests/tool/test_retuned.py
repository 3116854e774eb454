"""Autotuners that try a kernel on what it updates: an error where nothing puts that back and it shows."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from equivalence.verdicts import Finding
from irverify import loading, retuned
from irverify._capture import CaptureOptions, load_adapter
from irverify.exchange import Exchange
from irverify.options import CompareOptions
from irverify.orchestrate import _briefly
from irverify.values import ArrayValue

SUBJECTS = Path(__file__).parents[1] / "capture" / "subjects" / "tuned.py"


@pytest.fixture
def found(tmp_path):
    """The findings on two subjects of one file."""

    def of(*names: str) -> list[Finding]:
        exchange = Exchange(tmp_path)
        for side, name in zip("ab", names):
            adapter = load_adapter("irverify._capture_torch:TorchAdapter", CaptureOptions())
            with adapter.session():
                function = getattr(loading.load(SUBJECTS), name)
                arguments = [(None, ArrayValue(np.linspace(-1, 2, 70, dtype=np.float32)))]
                captured = adapter.capture(function, loading.bind(function, arguments, name))
            exchange.publish_text(f"{side}.v0.kir", captured.kir)
            exchange.publish(f"{side}.v0", {"inputs": captured.inputs})
            if captured.tuned is not None:
                exchange.publish(f"{side}.tuned", {"at": f"{side}.v0", **asdict(captured.tuned)})
        return retuned.findings(exchange, ("a.py", "b.py"), _briefly(CompareOptions(a="a.py", b="b.py")))

    return of


@pytest.mark.parametrize(
    ("name", "kernel", "argument"),
    [
        ("sums", "_sum", "y"),
        ("sums_with_other_hooks", "_sum", "y"),
        ("steps", "_step", "p"),
        ("doubles_itself", "_double", "y"),
    ],
)
def test_nothing_puts_it_back(found, name, kernel, argument):
    (finding,) = found("doubles", name)
    assert (finding.code, finding.severity) == ("autotune-repeats", "error")
    assert finding.message.startswith(f"b.py: the autotuner of {kernel} runs it for every configuration")
    assert f"nothing puts back what it updates ({argument})" in finding.message
    assert finding.span is not None and finding.span.file.endswith("tuned.py") and finding.span.line


@pytest.mark.parametrize(
    "name",
    [
        "sums_reset",
        "sums_with_one",
        "sums_with_hooks",
        "steps_restored",
        "doubles_itself_restored",
        "positive",
        "doubles",
        "tuned_before",
    ],
)
def test_trials_that_do_not_show(found, name):
    assert found(name, "doubles") == []


def test_both_sides(found):
    assert [(f.severity, f.message[:4]) for f in found("sums", "steps")] == [("warning", "a.py"), ("warning", "b.py")]
