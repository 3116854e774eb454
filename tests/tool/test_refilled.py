"""The same tensors with other values at the next call: an error for what is kept by their identity, else silence."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from equivalence.verdicts import Finding, Level, Report, Verdict
from irverify import loading, repeated
from irverify._capture import CaptureOptions, load_adapter
from irverify.exchange import Exchange
from irverify.options import CompareOptions
from irverify.orchestrate import _briefly
from irverify.refilled import Judged
from irverify.values import ArrayValue
from lowering.errors import UNKNOWN_SPAN, Unsupported

SUBJECTS = Path(__file__).parents[1] / "capture" / "subjects" / "refilled.py"
STALE = "another than for new tensors of these values: it rests on what the first call computed"


@pytest.fixture
def found(tmp_path):
    """The findings on one subject, on side b; ``size`` elements."""

    def of(name: str, size: int = 5, judged: Judged | None = None) -> list[Finding]:
        exchange = Exchange(tmp_path)
        adapter = load_adapter("irverify._capture_torch:TorchAdapter", CaptureOptions())
        with adapter.session():
            function = getattr(loading.load(SUBJECTS), name)
            arguments = [(None, ArrayValue(np.linspace(1, 5, size, dtype=np.float32)))]
            captured = adapter.capture(function, loading.bind(function, arguments, name))
        exchange.publish("b.v0", {"inputs": captured.inputs})
        if captured.second is not None:
            exchange.publish("b.v0.second", asdict(captured.second))
        if captured.refilled is not None:
            exchange.publish("b.refilled", {"at": "b.v0", **asdict(captured.refilled)})
        judged = judged or _briefly(CompareOptions(a="a.py", b="b.py"))
        return [f for f in repeated.findings(exchange, ("a.py", "b.py"), judged) if f.severity != "note"]

    return of


@pytest.mark.parametrize("name", ["by_lru_cache", "by_attribute", "number_by_id", "number_by_address", "launched_once"])
def test_what_is_kept_by_identity_is_stale(found, name):
    (finding,) = found(name)
    assert (finding.code, finding.severity) == ("stateful", "error")
    assert finding.message.startswith("b.py: ") and "out0" in finding.message and finding.message.endswith(STALE)


def test_what_cannot_be_compared_is_told(found):
    def judged(*_):
        raise Unsupported("an op", UNKNOWN_SPAN)

    (finding,) = found("by_attribute", judged=judged)
    assert finding.severity == "warning" and "could not be compared: unsupported: an op" in finding.message


def test_what_could_not_be_decided_is_told(found):
    def judged(*_):
        return Report(Verdict(Level.UNDECIDED, reason="region: a bound"))

    (finding,) = found("by_attribute", judged=judged)
    assert finding.severity == "warning" and finding.message.endswith("of these values: region: a bound")


@pytest.mark.parametrize(
    "name",
    [
        "through_a_workspace",
        "by_shape",
        "read_at_each_call",
        "checked_once",
        "launched_each_time",
        "changes_its_argument",
        "drawn",
    ],
)
def test_what_may_be_kept(found, name):
    assert found(name) == []


def test_an_argument_that_is_changed_by_what_is_kept(found):
    (finding,) = found("changes_it_by_a_kept_scale")
    assert finding.severity == "error" and "argument 0 is another than for new tensors" in finding.message


def test_a_result_in_memory_that_a_cache_keeps(found):
    (finding,) = found("into_a_kept_result")
    assert finding.message == "b.py keeps the memory of what it returns (out0) and overwrites it at the next call"


def test_only_small_arguments_are_refilled(found):
    assert found("by_lru_cache", 1 << 17) == []
