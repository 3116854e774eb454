"""What tests of several rooms share."""

from __future__ import annotations

import pytest

from irverify import sandbox
from tests.forked import Forked


@pytest.fixture
def forked_workers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that need not import the frameworks anew; not where a test is about the processes themselves."""
    if request.node.get_closest_marker("own_processes") is None:
        monkeypatch.setattr(sandbox, "spawn", Forked)
