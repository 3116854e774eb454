"""State that a call leaves behind is seen, by name, and a second call is made where there is some."""

from __future__ import annotations

import numpy as np
import pytest

from tests.capture.conftest import SUBJECTS

X = np.ones(4, np.float32)


@pytest.fixture
def subjects(session):
    return session.import_file(SUBJECTS / "stateful.py")


def second(session, function):
    function = function() if isinstance(function, type) else function
    session.capture(function, [X], call_again=True)
    return session.second


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("Attribute", "self.mean"),
        ("Nested", "self.inner.0.mean"),
        ("Table", "self.cos"),
        ("counted", "CALLS"),
        ("memoised", "TABLE['twice']"),
        ("logged", "len(LOG)"),
        ("summed", "TOTAL"),
        ("default", "default 0 of default[0]"),
        ("closed", "closed's calls"),
    ],
)
def test_what_a_call_changes_is_named(session, subjects, name, changed):
    found = second(session, getattr(subjects, name))
    assert changed in found.names
    assert found.first.events == found.again.events, "one run of both calls"
    assert [name for name, _ in found.first.outputs] == [name for name, _ in found.again.outputs]


@pytest.mark.parametrize("name", ["pure", "Buffer", "BufferInPlace"])
def test_no_second_call_where_nothing_else_changes(session, subjects, name):
    assert second(session, getattr(subjects, name)) is None


@pytest.mark.parametrize("name", ["Buffer", "BufferInPlace"])
def test_a_buffer_is_an_output_however_it_is_changed(session, subjects, name):
    outputs = dict(session.capture(getattr(subjects, name)(), [X]).outputs)
    assert list(outputs) == ["out0", "written:weight:mean"]


def test_the_first_trace_ends_with_the_first_call(session, subjects):
    trace = session.capture(subjects.Carried(), [X], call_again=True)
    assert len(trace.events) < len(session.second.again.events)
    assert [name for name, _ in trace.outputs] == ["out0", "written:self.mean"]


def test_a_second_call_is_only_made_when_asked_for(session, subjects):
    session.capture(subjects.counted, [X])
    assert session.second is None and subjects.CALLS == 1


@pytest.mark.parametrize(
    ("name", "why"), [("drawn", "draws random"), ("chosen", "draws random"), ("written", "changes its arguments")]
)
def test_calls_that_cannot_be_repeated(session, subjects, name, why):
    found = second(session, getattr(subjects, name))
    assert why in found.unseen and found.again is None


def test_a_second_call_that_raises(session, subjects):
    assert "raises ValueError: called twice" in second(session, subjects.once).differs


def test_plain_values_that_go_on_changing(session, subjects):
    assert "len(LOG)" in second(session, subjects.logged).counted
    assert not second(session, subjects.memoised).counted


@pytest.mark.parametrize("name", ["KeptResult", "AllocatedBefore", "ReturnedView", "Accumulated"])
def test_a_result_that_the_next_call_overwrites_and_returns(session, subjects, name):
    found = second(session, getattr(subjects, name))
    assert (found.overwritten, found.reused) == (("out0",), ())


def test_a_result_that_the_next_call_only_overwrites(session, subjects):
    found = second(session, subjects.TwoInTurn)
    assert (found.overwritten, found.reused) == ((), ("out0",))


@pytest.mark.parametrize("name", ["KeptAndReturned", "MadeOnce", "Table", "Carried", "Scratch"])
def test_results_that_stay_as_they_are(session, subjects, name):
    found = second(session, getattr(subjects, name))
    assert (found.overwritten, found.reused) == ((), ())
