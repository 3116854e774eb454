"""The dtypes of nki.language: names, sizes, numpy counterparts; both generations (NKI.md §1.9).

Gives DTYPES by name, ``dtype_name`` for whatever a kernel writes as a dtype.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from lowering.capture.nki.tracer import here
from lowering.errors import UsageError

#: name -> (numpy dtype that holds it, bytes of an element)
HELD: dict[str, Any] = {
    "uint8": np.uint8,
    "int8": np.int8,
    "uint16": np.uint16,
    "int16": np.int16,
    "uint32": np.uint32,
    "int32": np.int32,
    "int64": np.int64,
    "uint64": np.uint64,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "tfloat32": np.float32,
    "float32": np.float32,
    "float64": np.float64,
    "float8_e4m3": ml_dtypes.float8_e4m3,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "float8_e4m3fn_x4": np.uint32,  # four elements packed
    "float8_e5m2_x4": np.uint32,
    "float4_e2m1fn_x4": np.uint16,
}
FLOATS = frozenset(name for name in HELD if "float" in name)
_ALIASES = {"bool": "uint8", "bool_": "uint8", "bfp16": "bfloat16", "fp32": "float32", "fp16": "float16"}


class DType(str):
    """A dtype of nki.language: a string, as in the new API, that also compares equal to the numpy dtype."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        try:
            return str.__eq__(self, dtype_name(other))
        except UsageError:
            return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    @property
    def itemsize(self) -> int:
        return size_of(self)

    @property
    def name(self) -> str:
        return str(self)


def dtype_name(value: Any) -> str:
    """The name in HELD; raises UsageError for what is no dtype of NKI."""
    name = str(value) if isinstance(value, str) else getattr(value, "__name__", None) or getattr(value, "name", None)
    if not isinstance(name, str) or (name not in HELD and name not in _ALIASES):
        try:
            name = np.dtype(value).name
        except (TypeError, ValueError):
            name = str(value)
    name = name.rsplit(".", 1)[-1]
    name = _ALIASES.get(name, name)
    if name not in HELD:
        span = here()
        raise UsageError((f"{span}: " if span.line else "") + f"{value!r} is no dtype of nki.language")
    return name


def size_of(name: str) -> int:
    """Bytes of an element."""
    return np.dtype(HELD[name]).itemsize
