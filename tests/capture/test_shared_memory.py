"""A kernel that asks for more shared memory than the device has fails at its launch, as it does there."""

from __future__ import annotations

import numpy as np
import pytest

from lowering.capture import triton_shared
from lowering.capture.torch_host import torch_session
from lowering.capture.trace import Launch
from lowering.capture.triton_sink import TooLarge
from lowering.errors import UsageError
from tests.capture.conftest import SUBJECTS

A, B = (np.ones(shape, np.float32) for shape in ((128, 256), (256, 128)))


@pytest.fixture
def subjects(session, tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    return session.import_file(SUBJECTS / "shared_memory.py")


def launches(trace):
    return [event for event in trace.events if isinstance(event, Launch)]


def test_too_many_stages(session, subjects):
    with pytest.raises(UsageError, match="asks for 196608 bytes of shared memory with num_stages=4, 166912 are"):
        session.capture(lambda a, b: subjects.multiplied(a, b, 64, 4), [A, B])


def test_fewer_stages_fit(session, subjects):
    trace = session.capture(lambda a, b: subjects.multiplied(a, b, 64, 2), [A, B])
    assert launches(trace) and not [note for note in trace.notes if "shared memory" in note]


def test_a_larger_device(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    with torch_session("sm_90") as session:
        subjects = session.import_file(SUBJECTS / "shared_memory.py")
        assert launches(session.capture(lambda a, b: subjects.multiplied(a, b, 64, 4), [A, B]))


def test_a_loop_that_loads_ahead(session, subjects):
    x = np.ones(65536, np.float32)
    with pytest.raises(TooLarge, match="launch of summed"):
        session.capture(lambda x: subjects.blocks_summed(x, 5), [x])
    assert launches(session.capture(lambda x: subjects.blocks_summed(x, 2), [x]))


def test_what_the_host_does_about_it(session, subjects):
    (launch,) = launches(session.capture(subjects.multiplied_or_smaller, [A, B]))
    assert launch.options["num_stages"] == 2


def test_an_autotuner_passes_it_over(session, subjects):
    (launch,) = launches(session.capture(subjects.tuned, [A, B]))
    assert launch.options["num_stages"] == 2
    assert "configuration 1 of 2" in launch.config


def test_no_answer_is_noted(session, subjects, monkeypatch):
    monkeypatch.setattr(triton_shared, "SECONDS", 0.0)
    trace = session.capture(lambda a, b: subjects.multiplied(a, b, 64, 4), [A, B])
    assert "shared memory of kernel product (num_stages=4) was not checked" in trace.notes


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("%0 = tt.dot %a, %b", True),
        ("tensor<128x128xf32>", True),
        ("tensor<128x128x!tt.ptr<f32>>", False),
        ("tensor<1024xf32>", False),
        ("tensor<128x64xf32>", False),
        ("tensor<128x64xf32> {tt.num_stages = 4 : i32}", True),
    ],
)
def test_which_kernels_are_asked_about(text, asks):
    assert triton_shared.is_worth_asking(text) is asks
