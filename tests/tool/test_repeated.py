"""What a second call shows: errors for state that matters, silence for caches, notes for what goes on but is unused."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from equivalence.verdicts import Finding
from irverify import loading, repeated
from irverify._capture import CaptureOptions, load_adapter
from irverify.exchange import Exchange
from irverify.options import CompareOptions
from irverify.orchestrate import _briefly
from irverify.values import ArrayValue

SUBJECTS = Path(__file__).parents[1] / "capture" / "subjects" / "stateful.py"


@pytest.fixture
def found(tmp_path):
    """The findings on two subjects of one file."""

    def of(*names: str) -> list[Finding]:
        exchange = Exchange(tmp_path)
        for side, name in zip("ab", names):
            adapter = load_adapter("irverify._capture_torch:TorchAdapter", CaptureOptions())
            with adapter.session():
                entry = getattr(loading.load(SUBJECTS), name)
                function = entry() if isinstance(entry, type) else entry
                arguments = [(None, ArrayValue(np.arange(1, 5, dtype=np.float32)))]
                captured = adapter.capture(function, loading.bind(function, arguments, name))
            exchange.publish(f"{side}.v0", {"inputs": captured.inputs})
            if captured.second is not None:
                exchange.publish(f"{side}.v0.second", asdict(captured.second))
        return repeated.findings(exchange, ("a.py", "b.py"), _briefly(CompareOptions(a="a.py", b="b.py")))

    return of


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Attribute", "every call changes self.mean, and goes on from what the last one left"),
        ("Carried", "gives another out0: state in self.mean"),
        ("counted", "gives another out0: state in CALLS"),
        ("summed", "gives another out0: state in TOTAL"),
        ("once", "raises ValueError"),
    ],
)
def test_state_of_one_side(found, name, words):
    (finding,) = found("pure", name)
    assert finding.severity == "error" and finding.code == "stateful"
    assert finding.message.startswith("b.py: ") and words in finding.message


@pytest.mark.parametrize("name", ["pure", "Table", "BufferInPlace", "Scratch", "KeptAndReturned"])
def test_caches_and_buffers_are_none(found, name):
    assert found(name, "pure") == []


@pytest.mark.parametrize("name", ["memoised", "MadeOnce"])
def test_a_cache_of_what_depends_on_the_arguments(found, name):
    """Right for the same arguments only, whatever it is keyed by."""
    (finding,) = found(name, "pure")
    assert finding.severity == "error" and finding.code == "stateful"
    assert finding.message.endswith("of a second call rest on what the first one computed from its arguments")


def test_a_log_that_nothing_reads(found):
    (finding,) = found("logged", "pure")
    assert finding.severity == "note" and "every call changes LOG" in finding.message


def test_what_only_a_later_call_shows(found):
    (finding,) = found("pure", "every_tenth")
    assert finding.severity == "error" and finding.message.endswith("gives another out0: state in CALLS")
    (finding,) = found("pure", "every_tenth_alike")
    assert finding.severity == "note" and "every call changes CALLS" in finding.message


@pytest.mark.parametrize("name", ["KeptResult", "AllocatedBefore", "ReturnedView"])
def test_a_result_that_is_overwritten(found, name):
    (finding,) = found("pure", name)
    assert finding.severity == "error" and finding.code == "stateful"
    assert finding.message == "b.py's result out0 is a tensor that it keeps and overwrites at the next call"


def test_one_that_is_overwritten_before_it_is_given_again(found):
    (finding,) = found("TwoInTurn", "pure")
    assert finding.severity == "warning" and finding.message.startswith("a.py's result out0 is a tensor that it keeps")


def test_one_that_goes_on_is_reported_once(found):
    (finding,) = found("pure", "Accumulated")
    assert finding.severity == "error" and "a second call with the same arguments gives another out0" in finding.message


def test_both_sides_overwrite_theirs(found):
    (finding,) = found("KeptResult", "KeptResult")
    assert finding.severity == "note" and "both sides keep state (self.out)" in finding.message


def test_the_same_state_on_both_sides(found):
    (finding,) = found("Attribute", "Attribute")
    assert finding.severity == "note" and "both sides keep state (self.mean)" in finding.message


def test_other_state_on_the_other_side(found):
    assert [finding.severity for finding in found("Attribute", "Carried")] == ["error", "error"]


def test_what_could_not_be_called_again(found):
    (finding,) = found("drawn", "pure")
    assert finding.severity == "warning" and "draws random numbers" in finding.message


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["self.mean"], "self.mean"),
        (["len(LOG)", "LOG[0]"], "LOG"),
        (["a", "b", "c", "d", "e"], "a, b, c and 2 more"),
    ],
)
def test_places_in_words(names, words):
    assert repeated._words(names) == words
