"""The compiled loops over flat arrays: rounding, arithmetic to odd, min/max, look-ups; called through ``flat_map``.

They are in one file because numba's cache on disk watches only the file of the outermost function: a loop that inlines
a function of another file would outlive a change there. Takes and gives flat arrays and codes; knows no names.
"""

from __future__ import annotations

from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt

from ._llvm import bits_of, float_of
from ._llvm import fma as _fma

Array = npt.NDArray[Any]

_FRACTION: Final = (1 << 52) - 1
_MAGNITUDE: Final = (1 << 63) - 1
_INFINITY: Final = 0x7FF << 52


@numba.njit(inline="always", cache=True)
def _increment(mode: int, odd: Any, negative: bool, shift: Any) -> Any:
    """What to add below the kept bits so that a truncating shift rounds in ``mode``."""
    last = (np.int64(1) << shift) - 1
    if mode == 0:
        return (last >> 1) + odd
    if mode == 4:
        return (last >> 1) + 1
    if mode == 1:
        return np.int64(0)
    return last if negative == (mode == 3) else np.int64(0)


@numba.njit(inline="always", cache=True)
def _magnitude_code(a: Any, negative: bool, fraction_bits: int, bias: int, mode: int) -> Any:
    """Code of the rounded magnitude with an unbounded exponent; ``a`` = bits of a finite |x| in f64."""
    e = (a >> 52) - 1023 + bias
    shift = np.int64(52 - fraction_bits)
    if e >= 1:
        v = a - ((np.int64(1023) - bias) << 52)
    else:  # subnormal in the target: make the hidden bit explicit and drop more bits (all of them from 54 on)
        hidden = np.int64(1) << 52 if a > _FRACTION else np.int64(0)
        v = (a & _FRACTION) | hidden
        shift = min(shift + 1 - e, np.int64(54))
    return (v + _increment(mode, (v >> shift) & 1, negative, shift)) >> shift


# What a rounding needs, as numba sees it: (fraction bits, bias, largest code, code of an overflow, of infinity, of NaN,
# position of the sign, whether there is -0, shift of the code in its storage, mode).
Target = tuple[int, int, int, int, int, int, int, int, int, int]


@numba.njit(inline="always", cache=True)
def round_code(x: float, target: Target) -> Any:
    """The code of the f64 x rounded once into ``target``."""
    fraction_bits, bias, max_code, over, inf, nan, sign, negative_zero, left, mode = target
    bits = bits_of(x)
    a, negative = bits & _MAGNITUDE, bits < 0
    code = _magnitude_code(a, negative, fraction_bits, bias, mode)
    if code > max_code:
        outward = mode == 0 or mode == 4 or (mode != 1 and negative == (mode == 3))
        code = np.int64(over) if outward else np.int64(max_code)
    if a == _INFINITY:
        code = np.int64(inf)
    if negative and (negative_zero or code != 0):
        code |= np.int64(1) << sign
    if a > _INFINITY:
        code = np.int64(nan)
    return code << left


@numba.njit(nogil=True, cache=True)
def round_values(out: Array, x: Array, target: Target) -> None:
    for i in range(x.size):
        out[i] = round_code(np.float64(x[i]), target)


@numba.njit(nogil=True, cache=True)
def look_up(out: Array, code: Array, table: Array) -> None:
    for i in range(out.size):
        out[i] = table[code[i]]


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


ADD, SUB, MUL, DIV, SQRT, FMA = range(6)


@numba.njit(inline="always", cache=True, error_model="numpy")
def _in_f64(op: int, odd: bool, x: float, y: float, z: float) -> float:
    """The operation on values of at most 24 bits in f64: to nearest, or sums to odd. Products are exact (48 bits)."""
    if op == ADD:
        return _two_sum_odd(x, y) if odd else x + y
    if op == SUB:
        return _two_sum_odd(x, -y) if odd else x - y
    if op == MUL:
        return x * y
    if op == DIV:
        return x / y
    if op == SQRT:
        return np.sqrt(x)
    return _two_sum_odd(x * y, z)


@numba.njit(inline="always", cache=True)
def _zero_sum(op: int, mode: int, r: float, x: float, y: float, z: float) -> float:
    """rtn makes an exact zero sum -0 unless both terms are +0 (IEEE 754-2019 §6.3)."""
    if mode != 3 or r != 0.0 or op in (MUL, DIV, SQRT):
        return r
    first, second = (x * y, z) if op == FMA else (x, -y if op == SUB else y)
    both = first == 0.0 and second == 0.0 and not np.signbit(first) and not np.signbit(second)
    return r if both else -0.0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def operate_values(out: Array, a: Array, b: Array, c: Array, op: int, odd: bool, target: Target) -> None:
    """Codes of the results, operands given as f32 values."""
    for i in range(out.size):
        x, y, z = np.float64(a[i]), np.float64(b[i]), np.float64(c[i])
        r = _in_f64(op, odd, x, y, z)
        out[i] = round_code(_zero_sum(op, target[9], r, x, y, z), target)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def operate_codes(out: Array, a: Array, b: Array, c: Array, table: Array, op: int, odd: bool, target: Target) -> None:
    """Codes of the results, operands given as codes of a format of up to 16 bits."""
    for i in range(out.size):
        x, y, z = np.float64(table[a[i]]), np.float64(table[b[i]]), np.float64(table[c[i]])
        r = _in_f64(op, odd, x, y, z)
        out[i] = round_code(_zero_sum(op, target[9], r, x, y, z), target)


@numba.njit(nogil=True, cache=True)
def fma_native(out: Array, a: Array, b: Array, c: Array) -> None:
    for i in range(out.size):
        out[i] = _fma(a[i], b[i], c[i])


@numba.njit(nogil=True, cache=True)
def int_to_odd(out: Array, x: Array, low_mask: int) -> None:
    """x (i64 or u64) as f64 rounded to odd, so that a later rounding to p <= 51 bits is the only one.

    Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd" (2008).
    The high and low parts are exact in f64; their TwoSum error says whether, and to which side, to move.
    """
    for i in range(x.size):
        low = x[i] & low_mask
        a, b = np.float64(x[i] - low), np.float64(low)
        s = a + b
        error = b - (s - a)  # |a| >= |b| or a = 0: Fast2Sum is exact
        bits = bits_of(s)
        if error != 0.0 and bits & 1 == 0:
            bits += 1 if (error > 0.0) == (s > 0.0) else -1
        out[i] = float_of(bits)


@numba.njit(inline="always", cache=True)
def _before(a: float, b: float, signed_zero: bool) -> bool:
    """a < b; with ``signed_zero`` also -0 before +0, else the zeros tie."""
    return a < b or (signed_zero and a == 0.0 and b == 0.0 and np.signbit(a) and not np.signbit(b))


@numba.njit(nogil=True, cache=True)
def extreme(out: Array, a: Array, b: Array, largest: bool, number: bool, signed_zero: bool) -> None:
    for i in range(out.size):
        x, y = a[i], b[i]
        second = _before(x, y, signed_zero) if largest else _before(y, x, signed_zero)
        if x != x:
            second = number
        elif y != y:
            second = not number
        out[i] = y if second else x


@numba.njit(nogil=True, cache=True)
def truncate_quotient(out: Array, quotient: Array, a: Array, b: Array) -> None:
    """Floored signed quotients moved towards zero."""
    for i in range(out.size):
        inexact = a[i] - quotient[i] * b[i] != 0
        out[i] = quotient[i] + (1 if inexact and (a[i] < 0) != (b[i] < 0) else 0)
