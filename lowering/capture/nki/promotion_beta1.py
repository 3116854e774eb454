"""Which dtype Beta-1 gives a result whose ``dtype=`` is not stated (NKI.md §1.9).

Takes dtype names and Python numbers; gives a dtype name.  A Python number counts with its kind's dtype.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from lowering.capture.nki.dtypes import FLOATS, dtype_name, size_of
from lowering.capture.nki.tile import Tile

_FLOAT8 = frozenset(name for name in FLOATS if name.startswith("float8"))


def dtype_of(value: Any) -> str:
    """That of a tile; bool is uint8, int is int32, float is float32."""
    if isinstance(value, Tile):
        return value.dtype_name
    if isinstance(value, np.generic):
        return dtype_name(value.dtype)
    return "uint8" if isinstance(value, bool) else "int32" if isinstance(value, int) else "float32"


def promoted(*values: Any) -> str:
    return reduce(_pair, [dtype_of(value) for value in values])


def _pair(x: str, y: str) -> str:
    if x == y:
        return x
    if (x in FLOATS) != (y in FLOATS):
        return x if x in FLOATS else y
    return _floats(x, y) if x in FLOATS else _integers(x, y)


def _floats(x: str, y: str) -> str:
    if x in _FLOAT8 and y in _FLOAT8:
        return "bfloat16"
    if {x, y} == {"float16", "bfloat16"} or {x, y} == {"float32", "tfloat32"}:
        return "float32"
    return x if size_of(x) > size_of(y) else y


def _integers(x: str, y: str) -> str:
    """The wider; for mixed signs one size more than the unsigned one, float32 beyond 32 bits."""
    unsigned = [name for name in (x, y) if name.startswith("u")]
    if len(unsigned) != 1:
        return x if size_of(x) > size_of(y) else y
    signed = y if unsigned[0] == x else x
    if size_of(signed) > size_of(unsigned[0]):
        return signed
    return {1: "int16", 2: "int32"}.get(size_of(unsigned[0]), "float32")
