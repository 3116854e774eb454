"""What cannot be captured says so, with the user's line; the user's own errors come through unchanged."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from lowering.capture.torch_host import capture_torch, import_file, torch_session
from lowering.errors import Unsupported, UsageError

X = np.ones((4, 6), np.float32)


def _autocast(x):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return x @ x.t()


def _graph(x):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        return x + 1


def _load(x):
    return torch.load("weights.pt", map_location="cuda")


def _distributed(x):
    torch.distributed.init_process_group("nccl")
    return x


def _inline(x):
    from torch.utils.cpp_extension import load_inline

    return load_inline(name="extension", cpp_sources="")


@pytest.mark.parametrize("host", [_autocast, _graph, _load, _distributed, _inline])
def test_unsupported_constructs_name_the_line(host):
    with pytest.raises(Unsupported) as raised:
        capture_torch(host, [X])
    assert raised.value.span.name == host.__name__ and raised.value.span.file == __file__


def test_gluon_kernel(tmp_path):
    source = tmp_path / "gluon_kernel.py"
    source.write_text(
        "import torch\nfrom triton.experimental import gluon\nfrom triton.experimental.gluon import language as gl\n\n"
        "@gluon.jit\ndef kernel(x_ptr):\n    pass\n\ndef host(x):\n    kernel[(1,)](x)\n    return x\n"
    )
    with torch_session() as session:
        module = session.import_file(source)
        with pytest.raises(Unsupported, match="Gluon") as raised:
            session.capture(module.host, [X])
    assert raised.value.span.line == 10


def test_users_exception_is_unchanged():
    def host(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        capture_torch(host, [X])


def test_shape_errors_are_torchs_own():
    with pytest.raises(RuntimeError, match="shape"):
        capture_torch(lambda x: x @ x, [X])


def test_unknown_target_and_file():
    with pytest.raises(UsageError, match="sm_80"), torch_session("sm_11"):
        pass
    with pytest.raises(UsageError, match="not a Python file"):
        import_file("no/such/file.py")


def test_everything_is_undone():
    import triton

    before = (torch.cuda.is_available(), torch.cuda.current_device, torch.Generator, dict(triton.backends.backends))
    with pytest.raises(ZeroDivisionError), torch_session():
        raise ZeroDivisionError
    assert before == (
        torch.cuda.is_available(),
        torch.cuda.current_device,
        torch.Generator,
        dict(triton.backends.backends),
    )


def test_importing_capture_is_cheap():
    code = "import lowering.capture.torch_host, sys; assert not {'torch', 'triton', 'jax'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_backward_does_not_abort_the_process():
    code = (
        "import numpy as np, torch\n"
        "from lowering.capture.torch_host import capture_torch\n"
        "host = lambda x: torch.nn.functional.gelu(x).sum()\n"
        "trace = capture_torch(host, [np.ones((3, 4), np.float32)], backward=True)\n"
        "print([name for name, _ in trace.outputs])\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0 and "grad:x" in result.stdout, result.stderr


def test_a_dtype_that_torch_lacks_is_a_usage_error(session):
    import ml_dtypes

    with pytest.raises(UsageError, match=r"torch has no dtype float8_e4m3; .*float8_e4m3fn"):
        session.capture(lambda x: x, [np.zeros((3, 5), ml_dtypes.float8_e4m3)])
