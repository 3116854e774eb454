"""Settings of torch that a call leaves changed are named, and a later capture does not find them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

X = np.ones((3, 5), np.float32)


def faults(session, body: str) -> list[tuple[str, str]]:
    names = {"torch": torch}
    exec(f"def f(x):\n    {body}\n    return x * 2", names)
    found = session.capture(names["f"], [X], backward=True).faults
    return [(fault.code, fault.said.removeprefix("the call leaves ").split(" at ")[0]) for fault in found]


@pytest.mark.parametrize(("body", "name"), [
    ("torch.set_grad_enabled(False)", "grad mode"),
    ("torch.set_default_dtype(torch.float64)", "the default dtype"),
    ("torch.set_default_device('cuda')", "the default device"),
    ("torch.use_deterministic_algorithms(True)", "deterministic algorithms"),
    ("torch.manual_seed(0)", "torch's random generators seeded for all code after it"),
    ("torch.cuda.manual_seed(0)", "torch's random generators seeded for all code after it"),
])  # fmt: skip
def test_what_is_left_changed(session, body, name):
    assert faults(session, body) == [("global-state", name)]
    assert faults(session, "pass") == []


def test_precision_is_told_apart(session):
    before = torch.get_float32_matmul_precision()
    try:
        found = faults(session, "torch.set_float32_matmul_precision('high')")
        assert found and {code for code, _ in found} == {"precision-left-changed"}
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize("body", [
    "with torch.no_grad(): x.sum()",
    "torch.set_default_dtype(torch.float64); torch.set_default_dtype(torch.float32)",
    "state = torch.get_rng_state(); torch.manual_seed(3); torch.set_rng_state(state); torch.cuda.set_rng_state(CUDA)",
    "x = x + torch.randn(3, 5, device='cuda')",
    "torch.set_num_threads(1)",
])  # fmt: skip
def test_what_is_put_back(session, body):
    body = body.replace("state =", "CUDA = torch.cuda.get_rng_state(); state =")
    assert faults(session, body) == []


def test_a_plain_call_does_not_import_the_compiler():
    """torch._dynamo takes longer to import than everything else that a capture does."""
    program = (
        "import sys, numpy as np\n"
        "from lowering.capture.torch_host import torch_session\n"
        "with torch_session('sm_80') as session:\n"
        "    session.capture(lambda x: x.relu() + 1, [np.ones((3, 5), np.float32)], backward=True)\n"
        "assert 'torch._decomp' in sys.modules\n"
        "assert 'torch._dynamo' not in sys.modules and 'torch._inductor' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
