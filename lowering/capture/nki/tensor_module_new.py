"""The module `nki.tensor`: constants that are made while a kernel is traced, for nl.shared_constant.

Gives numpy arrays, which can be computed with before they are handed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowering.capture.nki.dtypes import HELD, dtype_name
from lowering.capture.nki.placeholders import placeholder

__all__ = ["arange", "full", "identity", "ones", "zeros"]


def arange(start: int, stop: int | None = None, step: int = 1, dtype: Any = "int32") -> np.ndarray:
    """start, start + step, ... below stop; one number is the stop."""
    first, last = (0, start) if stop is None else (start, stop)
    return np.arange(first, last, step).astype(_held(dtype))


def full(shape: int | Sequence[int], fill_value: Any, dtype: Any = "float32") -> np.ndarray:
    return np.full(shape, fill_value).astype(_held(dtype))


def identity(n: int, dtype: Any = "float32") -> np.ndarray:
    return np.identity(int(n)).astype(_held(dtype))


def ones(shape: int | Sequence[int], dtype: Any = "float32") -> np.ndarray:
    return full(shape, 1, dtype)


def zeros(shape: int | Sequence[int], dtype: Any = "float32") -> np.ndarray:
    return full(shape, 0, dtype)


def _held(dtype: Any) -> Any:
    return HELD[dtype_name(dtype)]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return placeholder(f"nki.tensor.{name}")
