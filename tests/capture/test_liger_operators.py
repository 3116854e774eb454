"""Every liger-kernel operator is captured, forward and backward, in one session; every launch's TTIR is there."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest

from lowering.capture.torch_host import torch_session
from lowering.capture.trace import Launch
from tests.sweeps.liger_cases import CASES, LigerCase


@pytest.fixture(scope="module")
def shared() -> Iterator[object]:
    with torch_session() as session:
        yield session


def _zeros(trace, ref):
    """In place of an evaluator: the launch count then depends on it, the capture must not fail."""
    return np.zeros(ref.shape, getattr(ml_dtypes, ref.dtype, ref.dtype))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_operator_is_captured(shared, case: LigerCase) -> None:
    operator, inputs = case.load(), case.inputs()
    arguments = list(inputs.values()) if hasattr(operator, "forward") else inputs
    read_back = _zeros if case.reads_results else None
    trace = shared.capture(operator, arguments, backward=case.backward, read_back=read_back)
    launches = [event for event in trace.events if isinstance(event, Launch)]
    assert launches or case.note
    assert all("tt.func" in launch.ttir and launch.span.line and launch.written for launch in launches)
    outputs = [name for name, _ in trace.outputs]
    assert "out0" in outputs and (not case.backward or any(name.startswith("grad:") for name in outputs))
