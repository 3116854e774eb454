"""The public door of torch-hosted capture: a session with a virtual GPU, and captures inside it.

Takes a host function (Triton launches, plain PyTorch, an nn.Module) and its arguments; gives a HostTrace.  Must not
know what the trace is used for.  Importing this module is cheap: torch and Triton come with the first session.

    with torch_session("sm_80") as session:
        module = session.import_file("kernel.py")
        trace = session.capture(module.softmax, [x])
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from lowering.capture.trace import HostTrace, TensorRef
from lowering.capture.virtual_gpu import VirtualGpu, virtual_gpu
from lowering.errors import UsageError

if TYPE_CHECKING:
    from lowering.capture.torch_session import TorchSession

ReadBack = Callable[[HostTrace, TensorRef], np.ndarray]


def capture_torch(
    fn: Callable[..., Any],
    args: Any,
    *,
    target: str = "sm_80",
    backward: bool = False,
    read_back: ReadBack | None = None,
    autotune_config: int | None = None,
) -> HostTrace:
    """One capture in a session of its own: for functions whose module was imported without asking for a device."""
    with torch_session(target) as session:
        return session.capture(fn, args, backward=backward, read_back=read_back, autotune_config=autotune_config)


@contextlib.contextmanager
def torch_session(target: str = "sm_80") -> Iterator[TorchSession]:
    """The virtual device in place; import the user's file inside, because files ask for the device when imported."""
    gpu = virtual_gpu(target)
    with _environment(gpu):
        from lowering.capture.torch_session import TorchSession

        with TorchSession(gpu) as session:
            yield session


def import_file(path: str | Path) -> ModuleType:
    """The user's file as a module; its directory is importable while it is loaded, as it is for a script."""
    path = Path(path).resolve()
    spec = importlib.util.spec_from_file_location(f"irverify_subject_{path.stem}_{abs(hash(path)):x}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageError(f"{path} is not a Python file that can be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # Triton and dataclasses look functions' modules up by name
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    finally:
        sys.path.remove(str(path.parent))
    return module


def _cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "irverify" / "triton"


@contextlib.contextmanager
def _environment(gpu: VirtualGpu) -> Iterator[None]:
    """Variables that Triton and kernel libraries read: a private cache, and no search for a real GPU."""
    database = f"sqlite:///{tempfile.gettempdir()}/irverify-flaggems-{os.getpid()}.db"
    wanted = {"TRITON_CACHE_DIR": str(_cache_directory()), "TORCHDYNAMO_DISABLE": "1", "GEMS_VENDOR": "nvidia",
              "FLAGGEMS_DB_URL": database, "TRITON_INTERPRET": None, "CUDA_VISIBLE_DEVICES": None}  # fmt: skip
    old = {name: os.environ.get(name) for name in wanted}
    _set_environment(wanted)
    try:
        yield
    finally:
        _set_environment(old)


def _set_environment(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
