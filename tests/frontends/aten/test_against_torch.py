"""Capture, lower, evaluate gives the numbers of torch's CPU kernels: bit for bit where nothing is left open."""

from __future__ import annotations

import pytest
import torch

from lowering.capture.torch_host import torch_session
from lowering.ir.parser import parse_program
from lowering.ir.printer import print_program
from tests.frontends.aten.cases import CASES, Case
from tests.frontends.aten.harness import evaluated, flat, lowered

_TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def _expected(case: Case, cotangents: list[torch.Tensor]) -> list[torch.Tensor]:
    inputs = [t.clone().requires_grad_(case.backward) for t in case.inputs]
    results = flat(case.fn(*inputs))
    if not case.backward:
        return results
    torch.autograd.backward(results, cotangents)
    return [r.detach() for r in results] + [t.grad for t in inputs if t.grad is not None]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_equals_torch(case: Case) -> None:
    with torch_session() as session:
        program = lowered(session, case.fn, case.inputs, backward=case.backward)
    text = print_program(program)
    assert print_program(parse_program(text)) == text
    shapes = [v.type for v in program.body.args[len(case.inputs) :]]
    cotangents = [torch.randn(t.shape, generator=torch.Generator().manual_seed(1)) for t in shapes]
    found = evaluated(program, [*case.inputs, *cotangents])
    expected = _expected(case, cotangents)
    assert expected and len(found) >= len(expected)  # arguments that were written to come after the results
    for (name, ours), theirs in zip(found.items(), expected, strict=False):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape, name
        tolerance = 0 if case.exact else _TOLERANCE.get(theirs.dtype, 0)
        torch.testing.assert_close(
            ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True, msg=lambda m, n=name: f"{n}: {m}\n{text}"
        )
