"""Weights of two models: by name, the rest in order, never by force."""

from __future__ import annotations

import pytest

from equivalence.verdicts import Level
from irverify import compare
from irverify._capture_torch import pair_weights
from lowering.errors import UsageError
from tests.tool.conftest import Write


def test_by_name_then_in_order() -> None:
    own = {"weight": (3,), "bias": (3,), "scale": (1,)}
    assert pair_weights(own, {"ln.weight": (3,), "scale": (1,), "ln.bias": (3,)}) == {
        "scale": "scale", "weight": "ln.weight", "bias": "ln.bias"
    }  # fmt: skip


@pytest.mark.parametrize(
    "given", [{"a": (3,)}, {"a": (3,), "b": (4,)}, {"weight": (4,), "bias": (3,)}, {"a": (3,), "b": (3,), "c": (1,)}]
)
def test_what_does_not_fit_is_refused(given: dict[str, tuple[int, ...]]) -> None:
    with pytest.raises(UsageError, match="do not have the same weights"):
        pair_weights({"weight": (3,), "bias": (3,)}, given)


MODEL = """
import torch
from torch import nn

class {name}(nn.Module):
    def __init__(self):
        super().__init__()
        {make}

    def forward(self, x):
        return {call}

def get_inputs():
    return [torch.randn(4, 6)]

def get_init_inputs():
    return []
"""
INNER = MODEL.format(name="Model", make="self.fc = nn.Linear(6, 5)", call="self.fc(x)")
OWN = MODEL.format(
    name="ModelNew",
    make="self.w = nn.Parameter(torch.zeros(5, 6)); self.b = nn.Parameter(torch.zeros(5))",
    call="x @ self.w.T + self.b{more}",
)


@pytest.mark.parametrize(("more", "equal"), [("", True), (" * 2", False)])
def test_models_with_other_names(write: Write, more: str, equal: bool) -> None:
    report = compare(write("a.py", INNER), write("b.py", OWN.replace("{more}", more)), shapes="given")
    assert (report.verdict.level in (Level.BITWISE, Level.REASSOCIATED, Level.REAL)) is equal
    assert any("by position: fc.weight to w, fc.bias to b" in line for line in report.assumptions)
