"""One session per test module's needs, and the subjects imported inside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from lowering.capture.torch_host import torch_session

SUBJECTS = Path(__file__).parent / "subjects"


@pytest.fixture
def session() -> Iterator[object]:
    with torch_session("sm_80") as session:
        yield session


@pytest.fixture
def kernels(session: object) -> ModuleType:
    return session.import_file(SUBJECTS / "kernels.py")  # type: ignore[attr-defined]
