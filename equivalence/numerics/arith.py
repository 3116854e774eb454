"""add, sub, mul, div, sqrt, fma, rem of every float format with ONE rounding: takes and gives storage arrays.

Must not know about contraction, accumulation or any source language.

Why computing wide and rounding once more is still one rounding (p: precision of the format, q: of the wide one):

* Figueroa, "When is double rounding innocuous?" (1995): for + - * / sqrt of p-bit operands, to nearest in q >= 2p+2
  bits and then to nearest in p bits is to nearest of the exact result. f64 (q = 53) serves every p <= 25, and its
  exponents reach so far beyond f32's that results subnormal in the target are normal in f64.
* Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd" (2008):
  to odd in q >= p+2 bits, then in any mode to p bits, is that mode's rounding of the exact result. Used for fma below
  f32, where the exact sum may need hundreds of bits, and for the directed modes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import numba
import numpy as np

from . import exact
from ._llvm import bits_of, flat_map, float_of
from ._llvm import fma as _fma
from .formats import Array, Format, codes, format_of
from .rounding import Mode, Target, cast_float, round_code, target_of, value_table, widen

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


_ADD, _SUB, _MUL, _DIV, _SQRT, _FMA = range(6)
_OPS: Final = {"add": _ADD, "sub": _SUB, "mul": _MUL, "div": _DIV, "sqrt": _SQRT, "fma": _FMA}


@numba.njit(inline="always", cache=True, error_model="numpy")
def _in_f64(op: int, odd: bool, x: float, y: float, z: float) -> float:
    """The operation on values of at most 24 bits in f64: to nearest, or to odd. Products are exact (48 bits)."""
    if op == _ADD:
        return _two_sum_odd(x, y) if odd else x + y
    if op == _SUB:
        return _two_sum_odd(x, -y) if odd else x - y
    if op == _MUL:
        return x * y
    if op == _DIV:
        q = x / y
        rest = _fma(-q, y, x) if odd else 0.0
        return _to_odd(q, rest if y > 0.0 else -rest)
    if op == _SQRT:
        s = np.sqrt(x)
        return _to_odd(s, _fma(-s, s, x)) if odd else s
    return _two_sum_odd(x * y, z)


@numba.njit(inline="always", cache=True)
def _zero_sum(op: int, mode: int, r: float, x: float, y: float, z: float) -> float:
    """rtn makes an exact zero sum -0 unless both terms are +0 (IEEE 754-2019 §6.3)."""
    if mode != 3 or r != 0.0 or op in (_MUL, _DIV, _SQRT):
        return r
    first, second = (x * y, z) if op == _FMA else (x, -y if op == _SUB else y)
    both = first == 0.0 and second == 0.0 and not np.signbit(first) and not np.signbit(second)
    return r if both else -0.0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _values_kernel(out: Array, a: Array, b: Array, c: Array, op: int, odd: bool, target: Target) -> None:
    """Codes of the results, operands given as f32 values."""
    for i in range(out.size):
        x, y, z = np.float64(a[i]), np.float64(b[i]), np.float64(c[i])
        r = _in_f64(op, odd, x, y, z)
        out[i] = round_code(_zero_sum(op, target[9], r, x, y, z), target)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _codes_kernel(out: Array, a: Array, b: Array, c: Array, table: Array, op: int, odd: bool, target: Target) -> None:
    """Codes of the results, operands given as codes of a format of up to 16 bits."""
    for i in range(out.size):
        x, y, z = np.float64(table[a[i]]), np.float64(table[b[i]]), np.float64(table[c[i]])
        r = _in_f64(op, odd, x, y, z)
        out[i] = round_code(_zero_sum(op, target[9], r, x, y, z), target)


@numba.njit(nogil=True, cache=True)
def _fma_native(out: Array, a: Array, b: Array, c: Array) -> None:
    for i in range(out.size):
        out[i] = _fma(a[i], b[i], c[i])


_NATIVE: Final[dict[str, Callable[..., Any]]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt,
    "fma": lambda a, b, c: flat_map(_fma_native, a.dtype, (a, b, c)),
}  # fmt: skip


def _by_kernel(op: str, arrays: tuple[Array, ...], fmt: Format, mode: Mode) -> Array:
    """Every format below f64 in every mode: once in f64, once into the format."""
    triple = (*arrays, *arrays[:1] * (3 - len(arrays)))
    unsigned, options = f"u{fmt.storage.itemsize}", (_OPS[op], mode != "rne" or op == "fma", target_of(fmt, mode))
    if fmt.storage == np.float32:
        return flat_map(_values_kernel, unsigned, triple, *options).view(fmt.storage)
    raw = tuple(codes(a, fmt.name).reshape(a.shape) for a in triple)
    return flat_map(_codes_kernel, unsigned, raw, value_table(fmt), *options).view(fmt.storage)


def _apply(op: str, arrays: tuple[Array, ...], dtype: str, mode: Mode) -> Array:
    fmt = format_of(dtype)
    operands = tuple(np.asarray(a, dtype=fmt.storage) for a in arrays)
    with np.errstate(all="ignore"):
        if mode == "rne" and fmt.name in ("f32", "f64"):
            return np.asarray(_NATIVE[op](*operands))
        if fmt.name == "f64":
            return exact.elementwise(op, operands, np.asarray(_NATIVE[op](*operands)), fmt.name, mode)
    return _by_kernel(op, operands, fmt, mode)


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
