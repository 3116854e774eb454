"""Evaluation mode without gradients: an error for a port that is right in training mode only, else silence."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from equivalence.verdicts import Finding
from irverify import inference, loading
from irverify._capture import CaptureOptions, load_adapter
from irverify.exchange import Exchange
from irverify.job import Job
from irverify.options import CompareOptions
from irverify.orchestrate import _briefly
from irverify.side import SideRun
from irverify.values import ArrayValue

ADAPTER = "irverify._capture_torch:TorchAdapter"
MODEL = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))
        self.gate = nn.Dropout(0.0)

    def forward(self, x):
        return {}
"""
FUNCTION = "import torch\n\ndef f(x):\n    return {}\n"
PLAIN, DOUBLE = "self.scale * x", "self.scale * x * {} if {} else self.scale * x * {}"


def found(tmp_path: Path, *texts: str) -> list[Finding]:
    exchange = Exchange(tmp_path)
    for side, text in zip("ab", texts, strict=True):
        path = tmp_path / f"{side}.py"
        path.write_text(text)
        assert inference.asked([ast.parse(text)]) or text == texts[0]
        adapter, entry = load_adapter(ADAPTER, CaptureOptions()), "Model" if "Model" in text else "f"
        run = SideRun(Job(side=side, path=str(path), entry=entry, adapter=ADAPTER, exchange=str(tmp_path)), exchange,
                      adapter)  # fmt: skip
        with adapter.session():
            made = getattr(loading.load(path), entry)
            function = made() if isinstance(made, type) else made
            bound = loading.bind(function, [(None, ArrayValue(np.linspace(-1, 2, 4, dtype=np.float32)))], "f")
            run.publish("v0", "given", adapter.capture(function, bound))
            with inference.inference(function) as called:
                run.publish(inference.NAME, "v0", adapter.capture(called, bound))
            assert not isinstance(made, type) or (function.training and "forward" not in vars(function))
    judged = _briefly(CompareOptions(a="a.py", b="b.py"))
    return list(inference.findings(exchange, ("a.py", "b.py"), ("torch", "torch"), judged))


@pytest.mark.parametrize(("a", "b"), [
    (MODEL.format(PLAIN), MODEL.format(DOUBLE.format(1, "self.training", 2))),
    (MODEL.format(PLAIN), MODEL.format(DOUBLE.format(1, "self.gate.training", 2))),
    (FUNCTION.format("x * 2"), FUNCTION.format("x * (2 if torch.is_grad_enabled() else 3)")),
])  # fmt: skip
def test_what_only_training_mode_gives_is_an_error(tmp_path: Path, a: str, b: str) -> None:
    (finding,) = found(tmp_path, a, b)
    assert (finding.code, finding.severity) == ("inference-differs", "error")
    assert finding.message.startswith("in evaluation mode, without gradients out0[")


@pytest.mark.parametrize(("a", "b"), [
    (MODEL.format(PLAIN), MODEL.format("self.gate(self.scale) * x")),
    (MODEL.format(DOUBLE.format(1, "self.training", 2)), MODEL.format(DOUBLE.format(2, "not self.training", 1))),
    (FUNCTION.format("x * 2"), FUNCTION.format("x + x if torch.is_grad_enabled() else x * 2")),
])  # fmt: skip
def test_two_that_agree_in_both_modes(tmp_path: Path, a: str, b: str) -> None:
    assert found(tmp_path, a, b) == []


@pytest.mark.parametrize(("text", "asks"), [
    ("y = x if self.training else x * 2", True), ("bn = nn.BatchNorm2d(3)", True), ("y = x.relu()", False),
])  # fmt: skip
def test_a_second_capture_is_made_where_a_file_names_a_mode(text: str, asks: bool) -> None:
    assert inference.asked([ast.parse("import torch"), ast.parse(text)]) is asks
