"""add, sub, mul, div, sqrt, fma, rem of every float format with ONE rounding: takes and gives storage arrays.

Must not know about contraction, accumulation or any source language.

Why computing wide and rounding once more is still one rounding (p: precision of the format, q: of the wide one):

* Figueroa, "When is double rounding innocuous?" (1995): for + - * / sqrt of p-bit operands, to nearest in q >= 2p+2
  bits and then to nearest in p bits is to nearest of the exact result. f32 (q=24) serves p <= 11: f16 and TF32 exactly
  meet it, bf16 and fp8 easily. Range: f16 and fp8 results are far inside f32. bf16 and TF32 share f32's exponents, so a
  result may be subnormal in f32; sums are exact there. A bf16 product has 16 bits, its last one at or above 2^-149 when
  it is at least 2^-134, and anything below 2^-134 is under half the smallest bf16; a bf16 quotient stays 2^-143 away
  from the midpoints of the subnormal grid, f32 errs by at most 2^-150. TF32's subnormals are too fine: it goes by f64.
* Boldo and Melquiond (2008): rounding to odd in q >= p+2 bits, then in any mode to p bits, is that mode's rounding of
  the exact result. Used for fma below f32 and for the directed modes: f64 is q=53.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import numba
import numpy as np

from . import exact
from ._llvm import bits_of, flat_map, float_of
from ._llvm import fma as _fma
from .formats import Array, format_of
from .rounding import Mode, cast_float, widen

RemFlavour = Literal["trunc", "floor", "python"]


@numba.njit(inline="always", cache=True)
def _to_odd(s: float, error: float) -> float:
    """s + error, s the nearest f64, as the f64 rounded to odd; NaN errors (of infinities) leave s."""
    bits = bits_of(s)
    if (error > 0.0 or error < 0.0) and bits & 1 == 0:
        bits += 1 if (error > 0.0) == (s > 0.0) else -1
    return float_of(bits)


@numba.njit(inline="always", cache=True)
def _two_sum_odd(a: float, b: float) -> float:
    """a + b rounded to odd (Knuth's TwoSum; no overflow: the operands come from f32)."""
    s = a + b
    t = s - a
    return _to_odd(s, (a - (s - t)) + (b - t))


@numba.njit(nogil=True, cache=True)
def _add_odd(out: Array, a: Array, b: Array) -> None:
    for i in range(out.size):
        out[i] = _two_sum_odd(np.float64(a[i]), np.float64(b[i]))


@numba.njit(nogil=True, cache=True)
def _mul_odd(out: Array, a: Array, b: Array) -> None:
    for i in range(out.size):
        out[i] = np.float64(a[i]) * np.float64(b[i])  # 24 + 24 bits: exact


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _div_odd(out: Array, a: Array, b: Array) -> None:
    for i in range(out.size):
        x, y = np.float64(a[i]), np.float64(b[i])
        q = x / y
        rest = _fma(-q, y, x)
        out[i] = _to_odd(q, rest if y > 0.0 else -rest)


@numba.njit(nogil=True, cache=True)
def _sqrt_odd(out: Array, a: Array) -> None:
    for i in range(out.size):
        x = np.float64(a[i])
        s = np.sqrt(x)
        out[i] = _to_odd(s, _fma(-s, s, x))


@numba.njit(nogil=True, cache=True)
def _fma_odd(out: Array, a: Array, b: Array, c: Array) -> None:
    for i in range(out.size):
        out[i] = _two_sum_odd(np.float64(a[i]) * np.float64(b[i]), np.float64(c[i]))


@numba.njit(nogil=True, cache=True)
def _fma_native(out: Array, a: Array, b: Array, c: Array) -> None:
    for i in range(out.size):
        out[i] = _fma(a[i], b[i], c[i])


_ODD: Final[dict[str, Callable[..., None]]] = {
    "add": _add_odd, "mul": _mul_odd, "div": _div_odd, "sqrt": _sqrt_odd, "fma": _fma_odd,
}  # fmt: skip
_NUMPY: Final[dict[str, Callable[..., Any]]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt,
}  # fmt: skip


def _nearest(op: str, operands: tuple[Array, ...], dtype: str) -> Array:
    """To nearest even: one native operation, then the innocuous second rounding for the narrow formats."""
    if op == "fma":
        native = dtype in ("f32", "f64")
        wide = flat_map(_fma_native if native else _fma_odd, operands[0].dtype if native else np.float64, operands)
        return wide if native else cast_float(wide, "f64", dtype)
    if dtype == "tf32":
        return _odd(op, operands, dtype, "rne")
    wide = np.asarray(_NUMPY[op](*operands))
    return wide if dtype in ("f32", "f64") else cast_float(wide, "f32", dtype)


def _signed_zero_sum(result: Array, wide: Array, terms: tuple[Array, Array]) -> Array:
    """rtn makes an exact zero sum -0 unless both terms are +0 (IEEE 754-2019 §6.3)."""
    both = (terms[0] == 0) & (terms[1] == 0) & ~np.signbit(terms[0]) & ~np.signbit(terms[1])
    return np.where((wide == 0) & ~both, np.copysign(wide, -1.0), wide).astype(result.dtype)


def _odd(op: str, operands: tuple[Array, ...], dtype: str, mode: Mode) -> Array:
    """Formats up to f32: the exact result rounded to odd in f64, then once in ``mode``."""
    if op == "sub":
        return _odd("add", (operands[0], np.negative(operands[1])), dtype, mode)
    wide = flat_map(_ODD[op], np.float64, operands)
    if mode == "rtn" and op in ("add", "fma"):
        product = operands[0].astype(np.float64) * operands[1] if op == "fma" else operands[0]
        wide = _signed_zero_sum(wide, wide, (product, operands[-1]))
    return cast_float(wide, "f64", dtype, mode=mode)


def _apply(op: str, arrays: tuple[Array, ...], dtype: str, mode: Mode) -> Array:
    operands = tuple(widen(a, dtype) for a in arrays)
    name = format_of(dtype).name
    with np.errstate(all="ignore"):
        if mode == "rne":
            return _nearest(op, operands, name)
        if name == "f64":
            return exact.elementwise(op, operands, _nearest(op, operands, name), name, mode)
        return _odd(op, operands, name, mode)


def add(a: Array, b: Array, dtype: str, mode: Mode = "rne") -> Array:
    """a + b in ``dtype``, rounded once (IEEE 754-2019 §5.4.1). Arrays of its storage dtype, broadcast."""
    return _apply("add", (a, b), dtype, mode)


def sub(a: Array, b: Array, dtype: str, mode: Mode = "rne") -> Array:
    """a - b in ``dtype``, rounded once."""
    return _apply("sub", (a, b), dtype, mode)


def mul(a: Array, b: Array, dtype: str, mode: Mode = "rne") -> Array:
    """a * b in ``dtype``, rounded once."""
    return _apply("mul", (a, b), dtype, mode)


def div(a: Array, b: Array, dtype: str, mode: Mode = "rne") -> Array:
    """a / b in ``dtype``, rounded once; x/0 is an infinity, 0/0 NaN."""
    return _apply("div", (a, b), dtype, mode)


def sqrt(a: Array, dtype: str, mode: Mode = "rne") -> Array:
    """Square root, rounded once; sqrt(-0) = -0, below zero NaN."""
    return _apply("sqrt", (a,), dtype, mode)


def fma(a: Array, b: Array, c: Array, dtype: str, mode: Mode = "rne") -> Array:
    """a*b + c in ``dtype``, rounded once, for every format."""
    return _apply("fma", (a, b, c), dtype, mode)


def _floored(rest: Array, b: Array, flavour: RemFlavour) -> Array:
    """C remainder moved to the sign of the divisor; python also gives a zero that sign."""
    moved = np.where((rest != 0) & (np.signbit(rest) != np.signbit(b)), rest + b, rest)
    return np.where(rest == 0, np.copysign(rest, b), moved) if flavour == "python" else moved


def rem(a: Array, b: Array, dtype: str, flavour: RemFlavour = "trunc") -> Array:
    """Remainder in ``dtype``: ``trunc`` is C's fmod (exact); ``floor`` has the divisor's sign (torch.remainder, jnp).

    ``floor`` adds the divisor once where the signs differ, with one rounding; ``python`` also gives zeros its sign.
    """
    x, y = widen(a, dtype), widen(b, dtype)
    with np.errstate(all="ignore"):
        rest = np.fmod(x, y)
        result = rest if flavour == "trunc" else _floored(rest, y, flavour)
    return result if dtype in ("f32", "f64") else cast_float(result, "f32", dtype)
