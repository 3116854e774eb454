"""The module `nki`: jit and simulate (NKI.md §1.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lowering.capture.nki.kernel import Kernel
from lowering.capture.nki.trace import NEW


def jit(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """A kernel; options (platform_target, experimental_flags, ...) change nothing of what it computes."""
    if fn is None:
        return lambda function: Kernel(function, NEW, options)
    return Kernel(fn, NEW, options)


def simulate(kernel: Kernel) -> Kernel:
    return kernel
