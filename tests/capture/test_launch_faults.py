"""Launches that a GPU would refuse are refused, with their line; an autotuner's trial runs leave traces."""

from __future__ import annotations

import numpy as np
import pytest

from lowering.capture.trace import Launch
from lowering.errors import UsageError
from tests.capture.conftest import SUBJECTS

X = np.arange(40, dtype=np.float32)


@pytest.fixture
def faults(session):
    return session.import_file(SUBJECTS / "launch_faults.py")


@pytest.mark.parametrize(
    ("grid", "problem"),
    [
        ((1, 70000), "grid y is 70000, at most 65535"),
        ((1, 1, 65536), "grid z is 65536"),
        ((2**31,), "grid x is 2147483648"),
        ((-1,), "grid x is -1"),
    ],
)
def test_a_launch_that_no_gpu_runs(session, faults, grid, problem):
    with pytest.raises(UsageError, match=problem) as raised:
        session.capture(lambda x: faults.launched(x, grid), [X])
    assert "launch_faults.py:16" in str(raised.value)


@pytest.mark.parametrize("grid", [(1, 65535), (1, 1, 65535), (2**31 - 1,)])
def test_the_largest_launches(session, faults, grid):
    (launch,) = (e for e in session.capture(lambda x: faults.launched(x, grid), [X]).events if isinstance(e, Launch))
    assert launch.grid[: len(grid)] == grid


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("on_the_cpu", "`y` was made without device= at line 21 of launch_faults.py"),
        ("moved_to_the_cpu", "`y` is on the CPU"),
    ],
)
def test_a_cpu_tensor_is_named(session, faults, host, words):
    with pytest.raises(ValueError, match=words):
        session.capture(getattr(faults, host), [X])


@pytest.mark.parametrize(
    ("host", "noted"),
    [
        ("adds", True),
        ("updates", True),
        ("stores", False),
        ("adds_reset", False),
        ("updates_restored", False),
        ("adds_hooked", True),  # whether its hook does is told by a trial
        ("adds_once", False),
    ],
)
def test_trial_runs_that_are_not_taken_back_are_noted(session, faults, host, noted):
    tuned = session.capture(getattr(faults, host), [X]).tuned
    assert [update.arguments for update in tuned] == [("y",)] * noted
