"""In-place ops of torch whose lanes share memory: named where the order of lanes shows, and only there."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from irverify import faults
from lowering.capture.torch_overlaps import OVERWRITTEN, TWICE
from lowering.capture.trace import HostFault
from lowering.errors import Span
from lowering.ir.builder import Builder
from lowering.ir.program import Program
from lowering.pipeline import _fault

X = np.random.default_rng(0).standard_normal((5, 5)).astype(np.float32)


def said(session, body: str) -> list[str]:
    names = {"torch": torch}
    exec(f"def f(x):\n    y = x.clone()\n    {body}\n    return y", names)
    return [fault.said.partition(" ")[2] for fault in session.capture(names["f"], [X]).faults]


@pytest.mark.parametrize(("body", "words"), [
    ("y[:, :-1] = y[:, 1:]", OVERWRITTEN),
    ("y -= y[:, :1]", OVERWRITTEN),
    ("torch._foreach_sub_([y], [y[:, :1]])", OVERWRITTEN),
    ("y[:, 1:].addcmul_(y[:, :-1], y[:, :-1])", OVERWRITTEN),
    ("torch.mm(y, x, out=y)", OVERWRITTEN),
    ("y.addmm_(y, y)", OVERWRITTEN),
    ("torch.addmm(x, y, x, out=y)", OVERWRITTEN),
    ("torch.addmm(y[0], x, x, out=y)", OVERWRITTEN),
    ("y.unfold(0, 3, 1).add_(1.0)", TWICE),
    ("y.as_strided((4, 2), (1, 1)).copy_(x[:4, :2])", TWICE),
])  # fmt: skip
def test_lanes_in_each_others_way(session, body, words):
    assert said(session, body) == [words]


@pytest.mark.parametrize("body", [
    "y[:, :-1] = y[:, 1:].clone()",
    "y[:, :2] = y[:, 2:4]",
    "y.add_(y)",
    "y[:, 0].sub_(y[:, 1])",
    "y /= y.max()",
    "y.t().copy_(y.t())",
    "torch.cumsum(y, 0, out=y)",
    "y[y > 0] = 0",
    "y.masked_fill_(y > 0, 1.0)",
    "y.unfold(0, 3, 1).zero_()",
    "torch._foreach_add_([y[0], y[1]], [y[1], y[2]])",
    "y.fill_diagonal_(0)",
    "y.t_()",
    "torch.mm(x, x, out=y)",
    "torch.addmm(y, x, x, out=y)",
    "torch.addmv(y[0], x, x[0], out=y[0])",
    "torch.nn.functional.batch_norm(y, x[0].clone(), x[1].clone(), training=True)",
])  # fmt: skip
def test_lanes_that_are_not(session, body):
    assert said(session, body) == []


def test_a_path_with_a_tab_is_one_cell():
    line = _fault(HostFault("overlapping-memory", "shifts", Span("/a\tb/b.py", 7)))
    [found] = faults.findings([[program(line)], [program()]], ("b.py", "a.py"))
    assert (found.severity, found.message, found.span) == ("error", "b.py: shifts", Span("/a b/b.py", 7))


def program(*lines: str) -> Program:
    return Program(Builder().block, [], [], {}, {"level": "aten", "faults": list(lines)})


def test_one_side_alone_is_an_error_and_both_a_warning():
    with_it, without = program("overlapping-memory\tb.py\t7\tshifts"), program()
    (finding,) = faults.findings([[without], [with_it, with_it]], ("a.py", "b.py"))
    assert (finding.severity, finding.message, finding.span.line) == ("error", "b.py: shifts", 7)
    assert [f.severity for f in faults.findings([[with_it], [with_it]], ("a.py", "b.py"))] == ["warning"] * 2
    assert faults.findings([[without], [without]], ("a.py", "b.py")) == []


def test_devices_are_compared():
    there, here = program("result-device\tb.py\t0\tout0 is on the CPU"), program()
    assert [f.severity for f in faults.findings([[here], [there]], ("a.py", "b.py"))] == ["error"]
    assert faults.findings([[there], [there]], ("a.py", "b.py")) == []
    jax = Program(Builder().block, [], [], {}, {"level": "stablehlo"})
    assert faults.findings([[jax], [there]], ("a.py", "b.py")) == []


@pytest.mark.parametrize(("result", "count"), [("y.cpu()", 1), ("y.sum().cpu()", 0), ("y.cpu().cuda()", 0), ("y", 0)])
def test_results_on_the_host(session, result, count):
    names = {"torch": torch}
    exec(f"def f(x):\n    y = x * 2\n    return {result}", names)
    assert [fault.code for fault in session.capture(names["f"], [X]).faults] == ["result-device"] * count
