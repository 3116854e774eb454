"""Every kernel that liger-kernel launches, forward and backward, lowers with one parameter per argument."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from lowering.capture.torch_host import torch_session
from lowering.capture.trace import HostTrace, Launch, TensorRef
from lowering.frontends.ttir import lower_kernel

pytestmark = [
    pytest.mark.sweep,
    pytest.mark.skipif(not importlib.util.find_spec("liger_kernel"), reason="liger-kernel is not installed"),
]


def _some_numbers(_trace: HostTrace, tensor: TensorRef) -> np.ndarray:
    """What the host reads of a kernel's result: nothing was run, and any plausible size leads on to the next launch."""
    return np.full(tensor.shape, 4, np.int64)


def _launches(target: str) -> list[Launch]:
    found = []
    with torch_session(target) as session:
        from tests.sweeps.liger_cases import CASES

        for case in CASES:
            read_back = _some_numbers if case.reads_results else None
            trace = session.capture(case.load(), case.inputs(), backward=case.backward, read_back=read_back)
            found += [event for event in trace.events if isinstance(event, Launch)]
    return found


def test_every_launch_lowers() -> None:
    launches = _launches("sm_80")
    assert len(launches) > 100
    for launch in launches:
        kernel = lower_kernel(launch.ttir, name=launch.kernel, options=launch.options, key="")
        pointers = [arg.signature.startswith(("*", "tensordesc")) for arg in launch.args]
        assert [param.type.dtype.name == "ptr" for param in kernel.params] == pointers
