"""The module `nki`: jit and simulate (NKI.md §1.2)."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from lowering.capture.nki.kernel import Kernel
from lowering.capture.nki.language_new import NKIObject
from lowering.capture.nki.signatures import missing
from lowering.capture.nki.trace import NEW
from lowering.capture.nki.tracer import here
from lowering.errors import UsageError

__all__ = ["NKIObject", "jit", "simulate"]


def jit(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """A kernel; options (platform_target, experimental_flags, ...) change nothing of what it computes."""
    if fn is None:
        return lambda function: Kernel(function, NEW, options)
    return Kernel(fn, NEW, options)


def simulate(kernel: Any) -> Kernel:
    """The kernel, which is always run as the simulator would: on numbers, one instruction after another."""
    if not isinstance(kernel, Kernel):
        raise UsageError(f"{here()}: nki.simulate takes a kernel under nki.jit, and not a {type(kernel).__name__}")
    return kernel


_BETA1 = frozenset(["benchmark", "baremetal", "profile", "simulate_kernel", "trace", "FrameworkKernel"])


_MODULES = frozenset(["collectives", "compiler", "dtype", "isa", "language", "runtime", "tensor", "typing"])


def __getattr__(name: str) -> Any:
    """The modules of the package are there without an import of their own."""
    if name in _MODULES:
        return importlib.import_module(f"nki.{name}")
    return missing("nki", name, _BETA1, {})
