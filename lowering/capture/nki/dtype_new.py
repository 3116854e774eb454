"""The module `nki.dtype`: the dtypes of nki.language by name."""

from __future__ import annotations

from typing import Any

from lowering.capture.nki.dtypes import HELD, DType, size_of
from lowering.capture.nki.signatures import missing

__all__ = ["DType", "size_of"]


def __getattr__(name: str) -> Any:
    if name in HELD or name in ("bool", "bool_"):
        return DType(name if name in HELD else "uint8")
    return missing("nki.dtype", name, frozenset(), {})
