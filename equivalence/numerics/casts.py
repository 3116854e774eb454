"""Between integers and floats, and the one cast for any pair of dtypes: takes and gives numpy arrays.

Must not know which source language asked: what a language leaves undefined is an option plus a mask here.
"""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from ._kernels import int_to_odd
from ._llvm import flat_map
from .formats import Array, IntFormat, format_of, int_format_of, is_float, storage_dtype
from .rounding import Mode, cast_float, round_integral

Overflow = Literal["saturate", "wrap", "undefined"]


def _int_to_odd_f64(x: Array) -> npt.NDArray[np.float64]:
    return flat_map(int_to_odd, np.float64, (x,), x.dtype.type(0x7FF))


def _directed_f64(x: Array, mode: Mode) -> npt.NDArray[np.float64]:
    """64-bit integers to f64 in a mode other than to nearest even: from the sum of an exact high and low part."""
    from .exact import round_rational

    flat = [round_rational(int(v), 1, "f64", mode) for v in x.reshape(-1)]
    return np.array(flat, np.float64).reshape(x.shape)


def int_to_float(x: Array, src: str, dst: str, *, mode: Mode = "rne", saturate: bool = False) -> Array:
    """Integers (or i1) rounded once to ``dst`` (IEEE 754-2019 §5.4.1 convertFromInt). Shape kept.

    A language that goes through f32 (torch's int64 to half does) must write two casts.
    """
    ints, target = int_format_of(src), format_of(dst)
    if ints.bits <= 32:
        return cast_float(x.astype(np.float64), "f64", dst, mode=mode, saturate=saturate)
    if target.name in ("f32", "f64") and mode == "rne":
        return x.astype(target.storage)
    if target.name == "f64":
        return _directed_f64(x, mode)
    return cast_float(_int_to_odd_f64(x), "f64", dst, mode=mode, saturate=saturate)


_TWO64: Final = 2.0**64


def _wrapped(whole: npt.NDArray[np.float64], bits: int) -> npt.NDArray[np.uint64]:
    """Finite integral f64 modulo 2^bits, exact (fmod is), as u64; NaN and infinities give 0."""
    residue = np.fmod(np.where(np.isfinite(whole), whole, 0.0), 2.0**bits)
    magnitude = np.abs(residue).astype(np.uint64)
    return np.where(residue < 0, np.uint64(0) - magnitude, magnitude)


def _saturated(whole: npt.NDArray[np.float64], ints: IntFormat) -> Array:
    """Out-of-range values to the nearest end, NaN to 0. The ends are compared as powers of two, exact in f64."""
    above, below = whole >= 2.0 ** (ints.bits - ints.signed), whole < float(ints.min)
    inside = np.where(above | below | np.isnan(whole), 0.0, whole).astype(ints.storage)
    return np.where(above, ints.storage.type(ints.max), np.where(below, ints.storage.type(ints.min), inside))


def _indefinite(whole: npt.NDArray[np.float64], ints: IntFormat) -> Array:
    """What x86-64 compilers give: cvttsd2si (minimum when out of range) in 32 or 64 bits, narrowed by wrapping."""
    wide = int_format_of("i32" if ints.bits < 32 or ints.name == "i32" else "i64")
    bad = ~((whole >= float(wide.min)) & (whole < 2.0 ** (wide.bits - 1)))
    inside = np.where(bad, 0.0, whole).astype(wide.storage)
    return np.where(bad, wide.storage.type(wide.min), inside).astype(ints.storage)


def _whole(x: Array, src: str, mode: Mode) -> npt.NDArray[np.float64]:
    return round_integral(cast_float(x, src, "f64"), "f64", mode=mode)


def float_to_int(x: Array, src: str, dst: str, *, mode: Mode = "rtz", overflow: Overflow = "saturate") -> Array:
    """Floats rounded to integers (IEEE 754-2019 §5.8). Shape kept.

    Out of range: ``saturate`` to the nearest end, NaN to 0 (PTX cvt.rzi, XLA); ``wrap`` modulo 2^bits, NaN and
    infinities to 0; ``undefined`` as x86-64 C code does (``float_to_int_undefined`` says where). To i1: x != 0, so
    NaN is true.
    """
    ints = int_format_of(dst)
    if ints.name == "i1":
        return np.asarray(np.asarray(x) != 0, dtype=np.bool_)
    with np.errstate(all="ignore"):
        whole = _whole(np.asarray(x), src, mode)
        if overflow == "wrap":
            return _wrapped(whole, ints.bits).astype(ints.storage)
        return _saturated(whole, ints) if overflow == "saturate" else _indefinite(whole, ints)


def float_to_int_undefined(x: Array, src: str, dst: str, *, mode: Mode = "rtz") -> npt.NDArray[np.bool_]:
    """Where C leaves it undefined: NaN, infinities, and values whose rounding is out of range (C23 §6.3.1.4)."""
    ints = int_format_of(dst)
    if ints.name == "i1":
        return np.zeros(np.shape(x), np.bool_)
    whole = _whole(np.asarray(x), src, mode)
    return ~((whole >= float(ints.min)) & (whole < 2.0 ** (ints.bits - ints.signed)))


def int_to_int(x: Array, src: str, dst: str) -> Array:
    """Integers modulo 2^bits of ``dst``, extended by the signedness of ``src``; to i1: x != 0."""
    int_format_of(src)
    return np.asarray(x).astype(int_format_of(dst).storage)


def cast(
    x: Array, src: str, dst: str, *, mode: Mode | None = None, saturate: bool = False, overflow: Overflow = "saturate"
) -> Array:
    """Any dtype to any dtype; ``mode`` defaults to rne towards floats and rtz towards integers."""
    if not is_float(src) and not is_float(dst):
        return int_to_int(x, src, dst)
    if not is_float(src):
        return int_to_float(np.asarray(x), src, dst, mode=mode or "rne", saturate=saturate)
    if not is_float(dst):
        return float_to_int(x, src, dst, mode=mode or "rtz", overflow=overflow)
    return cast_float(x, src, dst, mode=mode or "rne", saturate=saturate)


def bitcast(x: Array, src: str, dst: str) -> Array:
    """The same bits read as another dtype of equal storage width (last axis must be contiguous after a copy)."""
    source, target = storage_dtype(src), storage_dtype(dst)
    if source.itemsize != target.itemsize:
        raise ValueError(f"bitcast {src} -> {dst}: {source.itemsize} bytes against {target.itemsize}")
    data: Any = np.ascontiguousarray(x, dtype=source)
    return data.view(target).reshape(np.shape(x))
