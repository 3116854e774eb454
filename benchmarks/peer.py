"""One run of a Triton kernel under its interpreter, a process of its own: ``python -m benchmarks.peer FILE SPEC...``.

SPEC is ``f16[1024,1024]``; the entry is the one public function of the file.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from types import ModuleType

os.environ["TRITON_INTERPRET"] = "1"

import torch  # the variable comes first: Triton reads it when a kernel is decorated

_DTYPES = {"f16": torch.float16, "f32": torch.float32}


def loaded(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("peer_kernel", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def argument(spec: str) -> torch.Tensor:
    dtype, _, extents = spec.rstrip("]").partition("[")
    return torch.randn([int(n) for n in extents.split(",")]).to(_DTYPES[dtype])


def main() -> None:
    module = loaded(sys.argv[1])
    entry = next(f for name, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == "peer_kernel")
    result = entry(*(argument(spec) for spec in sys.argv[2:]))
    print(tuple(result.shape))


if __name__ == "__main__":
    main()
