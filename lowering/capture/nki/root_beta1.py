"""`neuronxcc.nki`: the ways to make a kernel of a function, and to run one (NKI.md §1.2).

What mode a kernel is for (jit, benchmark, simulation, ...) changes nothing of what it computes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from lowering.capture.nki.kernel import Kernel
from lowering.capture.nki.tensor_beta1 import Tensor
from lowering.capture.nki.trace import BETA1


def _kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    if function is None:
        return lambda given: _kernel(given, **options)
    if isinstance(function, Kernel):
        return function
    return Kernel(function, BETA1, options)


def jit(func: Callable[..., Any] | None = None, mode: str = "auto", **options: Any) -> Any:
    return _kernel(func, mode=mode, **options)


def trace(func: Callable[..., Any] | None = None, **options: Any) -> Any:
    return _kernel(func, **options)


def benchmark(kernel: Callable[..., Any] | None = None, **options: Any) -> Any:
    return _kernel(kernel, **options)


def baremetal(kernel: Callable[..., Any] | None = None, **options: Any) -> Any:
    return _kernel(kernel, **options)


def profile(func: Callable[..., Any] | None = None, **options: Any) -> Any:
    return _kernel(func, **options)


def simulate_kernel(kernel: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Runs the kernel."""
    return _kernel(kernel)(*args, **kwargs)


class FrameworkKernel:
    """Base of the bridges to frameworks; only its name is used."""


tensor = Tensor


def __getattr__(name: str) -> Any:
    """The modules inside, which `from neuronxcc import nki` has too."""
    if name in ("compiler", "isa", "language", "typing"):
        return importlib.import_module(f"neuronxcc.nki.{name}")
    raise AttributeError(f"neuronxcc.nki has no {name}")
