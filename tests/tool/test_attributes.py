"""Tensors that a module keeps after a call: compared where both sides set one of the same name and type."""

from __future__ import annotations

from pathlib import Path

import pytest

from equivalence.verdicts import Level
from irverify import compare

MODEL = """
import torch
class {name}(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = torch.nn.Linear(8, 4)
    def forward(self, x):
        y = self.gate(x)
        self.aux = {aux}
        {more}
        return torch.relu(y)
def get_inputs():
    return [torch.randn(6, 8)]
"""


@pytest.mark.parametrize(("aux", "more", "same"), [
    ("(y * y).mean()", "pass", True),
    ("(y * y).sum()", "pass", False),
    ("(y * y).mean()", "self.only = y.sum()", True),  # an attribute of one side alone
    ("y", "pass", True),  # another type: something else under the same name
])  # fmt: skip
def test_an_auxiliary_loss(tmp_path: Path, aux: str, more: str, same: bool) -> None:
    a, b = tmp_path / "a.py", tmp_path / "b.py"
    a.write_text(MODEL.format(name="Model", aux="(y * y).mean()", more="pass"))
    b.write_text(MODEL.format(name="ModelNew", aux=aux, more=more))
    report = compare(a, b, shapes="given")
    assert (report.verdict.level is not Level.DIFFERENT) is same, report.verdict
    errors = [finding.code for finding in report.findings if finding.severity == "error"]
    assert errors == ["attribute-missing"] * (aux == "y")
    compared = [output.name for output in report.outputs]
    assert ("written:self.aux" in compared) is (aux != "y")
    notes = [line for line in report.assumptions if "sets the attribute" in line]
    assert any("self.only" in line for line in notes) is (more != "pass")


@pytest.mark.parametrize(("line", "same"), [("x.t_()", False), ("x = x.t()", True), ("x = x.clone().t_()", True)])
def test_an_argument_that_is_turned_in_place_is_turned_for_its_caller(tmp_path: Path, line: str, same: bool) -> None:
    a, b = tmp_path / "a.py", tmp_path / "b.py"
    a.write_text("import torch\ndef f(x):\n    return x.t() + 1\n")
    b.write_text(f"import torch\ndef f(x):\n    {line}\n    return x + 1\n")
    report = compare(a, b, inputs=["f32[4,6]"], shapes="given")
    assert (report.verdict.level is not Level.DIFFERENT) is same, report.verdict
    both = compare(b, b, inputs=["f32[4,6]"], shapes="given")
    assert both.verdict.level is Level.BITWISE


@pytest.mark.parametrize(("line", "message"), [
    ("self.aux = y.sum()", "a.py leaves f32 in the attribute self.aux; b.py does not"),
    ("self._aux = y.sum()", ""),  # its own business
    ("self.table = torch.arange(4, device=x.device)", ""),  # a cache
    ("self.weight_sum = self.gate.weight.sum()", ""),  # follows from weights
])  # fmt: skip
def test_an_attribute_that_b_leaves_out(tmp_path: Path, line: str, message: str) -> None:
    a, b = tmp_path / "a.py", tmp_path / "b.py"
    text = MODEL.replace("self.aux = {aux}", "pass")
    a.write_text(text.format(name="Model", more=line))
    b.write_text(text.format(name="ModelNew", more="pass"))
    report = compare(a, b, shapes="given")
    assert [f.message for f in report.findings if f.severity == "error"] == [message] * bool(message)
    assert report.exit_code == bool(message)
