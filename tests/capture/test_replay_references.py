"""The recorded aten events, replayed, give what eager PyTorch gives: forward and backward of every liger reference."""

from __future__ import annotations

import pytest
import torch

from lowering.capture.torch_host import torch_session
from tests.capture.replay import Replay
from tests.sweeps.liger_cases import CASES, LigerCase

_PLAIN = [case for case in CASES if not case.name.startswith("nn ")]


def _eager(case: LigerCase, cotangents: list[torch.Tensor]) -> dict[str, torch.Tensor]:
    inputs = case.inputs()
    floating = [t for t in inputs.values() if t.is_floating_point()]
    marked = [t for t in floating if t.requires_grad]
    for tensor in marked or (floating if case.backward else []):
        tensor.requires_grad_()
    result = case.load_reference()(**inputs)
    results = result if isinstance(result, tuple) else (result,)
    found = {f"out{i}": value.detach() for i, value in enumerate(results)}
    if case.backward:
        torch.autograd.backward(results, cotangents)
        found |= {f"grad:{name}": t.grad for name, t in inputs.items() if t.grad is not None}
    return found


@pytest.mark.parametrize("case", _PLAIN, ids=lambda case: case.name)
def test_replay_equals_eager(case: LigerCase) -> None:
    with torch_session() as session:
        trace = session.capture(case.load_reference(), case.inputs(), backward=case.backward)
    replay = Replay(trace)
    cotangents = [replay.view(ref).clone() for name, ref in trace.inputs if name.startswith("cotangent:")]
    expected = _eager(case, cotangents)
    assert set(replay.outputs) == set(expected)
    for name, value in expected.items():
        torch.testing.assert_close(
            replay.outputs[name], value, rtol=2e-2 if value.dtype == torch.bfloat16 else 1e-4, atol=1e-4
        )
