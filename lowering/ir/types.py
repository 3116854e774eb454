"""Types of KIR: a dtype and a shape.  Gives DType, TensorType and the numpy storage of each dtype.  Knows no ops.

Integers carry their signedness (``i32`` is two's complement, ``u32`` unsigned); ``i1`` is a truth value.
``ptr`` is a 64-bit byte address.  Floats are the formats of ml_dtypes under short names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np


@dataclass(frozen=True, slots=True)
class DType:
    """A scalar type: ``kind`` is 'float' | 'int' | 'uint' | 'bool' | 'ptr'; ``bits`` its width in memory."""

    name: str
    kind: str
    bits: int
    numpy: np.dtype

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        """Whether arithmetic is that of integers (truth values and addresses included)."""
        return self.kind != "float"

    @property
    def nbytes(self) -> int:
        return max(1, self.bits // 8)

    def __str__(self) -> str:
        return self.name


def _table() -> dict[str, DType]:
    rows: list[tuple[str, str, int, Any]] = [
        ("i1", "bool", 1, np.bool_),
        ("i8", "int", 8, np.int8),
        ("i16", "int", 16, np.int16),
        ("i32", "int", 32, np.int32),
        ("i64", "int", 64, np.int64),
        ("u8", "uint", 8, np.uint8),
        ("u16", "uint", 16, np.uint16),
        ("u32", "uint", 32, np.uint32),
        ("u64", "uint", 64, np.uint64),
        ("ptr", "ptr", 64, np.int64),
        ("f64", "float", 64, np.float64),
        ("f32", "float", 32, np.float32),
        ("f16", "float", 16, np.float16),
        ("bf16", "float", 16, ml_dtypes.bfloat16),
        ("f8e4m3", "float", 8, ml_dtypes.float8_e4m3),
        ("f8e4m3fn", "float", 8, ml_dtypes.float8_e4m3fn),
        ("f8e5m2", "float", 8, ml_dtypes.float8_e5m2),
        ("f8e4m3fnuz", "float", 8, ml_dtypes.float8_e4m3fnuz),
        ("f8e5m2fnuz", "float", 8, ml_dtypes.float8_e5m2fnuz),
        ("f8e4m3b11fnuz", "float", 8, ml_dtypes.float8_e4m3b11fnuz),
        ("f8e8m0fnu", "float", 8, ml_dtypes.float8_e8m0fnu),
    ]
    return {name: DType(name, kind, bits, np.dtype(np_type)) for name, kind, bits, np_type in rows}


DTYPES: dict[str, DType] = _table()
BOOL, I8, I16, I32, I64 = (DTYPES[n] for n in ("i1", "i8", "i16", "i32", "i64"))
U8, U16, U32, U64 = (DTYPES[n] for n in ("u8", "u16", "u32", "u64"))
PTR, F64, F32, F16, BF16 = (DTYPES[n] for n in ("ptr", "f64", "f32", "f16", "bf16"))


def dtype(name: str) -> DType:
    """The dtype called ``name`` ('f32', 'i1', ...); KeyError when there is none."""
    return DTYPES[name]


def from_numpy(np_dtype: np.dtype) -> DType:
    """The dtype stored as ``np_dtype``; KeyError when there is none (complex, strings, ...)."""
    for candidate in DTYPES.values():
        if candidate.numpy == np_dtype and candidate is not PTR:
            return candidate
    raise KeyError(f"no KIR dtype is stored as numpy {np_dtype}")


@dataclass(frozen=True, slots=True)
class TensorType:
    """``dtype[shape]``; a scalar has shape ()."""

    dtype: DType
    shape: tuple[int, ...] = ()

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        n = 1
        for extent in self.shape:
            n *= extent
        return n

    def with_dtype(self, dt: DType) -> TensorType:
        return TensorType(dt, self.shape)

    def with_shape(self, shape: tuple[int, ...]) -> TensorType:
        return TensorType(self.dtype, tuple(shape))

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]" if self.shape else str(self.dtype)
