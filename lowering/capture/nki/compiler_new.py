"""The module `nki.compiler`: decorators that steer the compiler, and change nothing of what a kernel computes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from lowering.capture.nki.placeholders import placeholder

_DECORATORS = frozenset(["skip_middle_end_transformations", "enable_stack_allocator", "force_auto_alloc"])


def _decorator(func: Callable[..., Any] | None = None, **_: Any) -> Any:
    return (lambda function: function) if func is None else func


def no_reorder() -> AbstractContextManager[None]:
    return nullcontext()


def allocation_scope() -> AbstractContextManager[None]:
    return nullcontext()


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _decorator if name in _DECORATORS else placeholder(f"nki.compiler.{name}")
