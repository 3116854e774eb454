"""Takes flat uint32 slices and Barrett parameters (m, mu), gives compiled loops mod m < 2^26 and their scalar steps.

Must not know shapes or threads. The plain loops (strides 1) are written so that the compiler vectorises them.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from equivalence.fields.scalar61 import Word

U32 = NDArray[np.uint32]
F64 = NDArray[np.float64]

IN, OUT = types.Array(types.uint32, 1, "C", readonly=True), types.Array(types.uint32, 1, "C")
FLOATS = types.Array(types.float64, 1, "C", readonly=True)
INT, WORD = types.int64, types.uint64
_BINARY = types.void(WORD, WORD, IN, INT, IN, INT, OUT, INT, INT)

LANES = 64
BLOCK = 512
_25, _27 = np.uint64(25), np.uint64(27)
_32BITS = np.uint64(0xFFFFFFFF)


@njit(inline="always")
def reduce52(m: Word, mu: Word, t: Word) -> Word:
    """t mod m for t < 2^52, 2^24 < m < 2^26, mu = floor(2^52/m).

    Barrett: h = ((t >> 25) * mu) >> 27 is at most t/m and above t/m - 1 - 2^25/m - t/2^52 > t/m - 4 (t/2^52 < 1/4
    where m < 2^25), so t - h*m < 4m. The masks tell the compiler that 32-bit factors suffice.
    """
    h = (((t >> _25) & _32BITS) * (mu & _32BITS)) >> _27
    r = t - (h & _32BITS) * (m & _32BITS)
    r = r - (m + m) if r >= m + m else r
    return r - m if r >= m else r


@njit(inline="always")
def mulmod(m: Word, mu: Word, a: Word, b: Word) -> Word:
    """a * b mod m for canonical a, b: the product is below m^2 < 2^52."""
    return reduce52(m, mu, np.uint64(a) * np.uint64(b))


@njit(_BINARY, nogil=True, cache=True)
def add(m: Word, mu: Word, a: U32, sa: int, b: U32, sb: int, out: U32, lo: int, hi: int) -> None:
    """Strides are 1, or 0 for an operand of one element."""
    m32 = np.uint32(m)
    if sa * sb:
        for i in range(lo, hi):
            s = np.uint32(a[i] + b[i])
            out[i] = min(s, np.uint32(s - m32))
    else:
        for i in range(lo, hi):
            s = np.uint32(a[i * sa] + b[i * sb])
            out[i] = min(s, np.uint32(s - m32))


@njit(_BINARY, nogil=True, cache=True)
def sub(m: Word, mu: Word, a: U32, sa: int, b: U32, sb: int, out: U32, lo: int, hi: int) -> None:
    m32 = np.uint32(m)
    if sa * sb:
        for i in range(lo, hi):
            d = np.uint32(a[i] - b[i])
            out[i] = min(d, np.uint32(d + m32))
    else:
        for i in range(lo, hi):
            d = np.uint32(a[i * sa] - b[i * sb])
            out[i] = min(d, np.uint32(d + m32))


@njit(_BINARY, nogil=True, cache=True)
def mul(m: Word, mu: Word, a: U32, sa: int, b: U32, sb: int, out: U32, lo: int, hi: int) -> None:
    if sa * sb:
        for i in range(lo, hi):
            out[i] = mulmod(m, mu, a[i], b[i])
    else:
        for i in range(lo, hi):
            out[i] = mulmod(m, mu, a[i * sa], b[i * sb])


@njit(inline="always")
def powmod(m: Word, mu: Word, a: Word, e: Word) -> Word:
    """a^e mod m by squaring, one element."""
    base, out = np.uint64(a), np.uint64(1)
    while e > np.uint64(0):
        if e & np.uint64(1):
            out = mulmod(m, mu, out, base)
        base = mulmod(m, mu, base, base)
        e = e >> np.uint64(1)
    return out


@njit(types.void(WORD, WORD, WORD, IN, OUT, INT, INT), nogil=True, cache=True)
def power(m: Word, mu: Word, e: Word, a: U32, out: U32, lo: int, hi: int) -> None:
    """out = a^e, e >= 1, bit by bit from the top over blocks in cache; a short block's end is not read."""
    top = 0
    while (e >> np.uint64(top + 1)) > np.uint64(0):
        top += 1
    base, acc = np.zeros(BLOCK, np.uint64), np.zeros(BLOCK, np.uint64)
    for start in range(lo, hi, BLOCK):
        n = min(BLOCK, hi - start)
        for i in range(n):
            base[i] = acc[i] = np.uint64(a[start + i])
        for bit in range(top - 1, -1, -1):
            for i in range(BLOCK if n > LANES else n):
                acc[i] = mulmod(m, mu, acc[i], acc[i])
            if (e >> np.uint64(bit)) & np.uint64(1):
                for i in range(BLOCK if n > LANES else n):
                    acc[i] = mulmod(m, mu, acc[i], base[i])
        for i in range(n):
            out[start + i] = acc[i]


@njit(inline="always")
def _or_one(x: Word) -> Word:
    return np.uint32(1) if x == 0 else x


@njit(types.void(WORD, WORD, IN, OUT, INT, INT), nogil=True, cache=True)
def inverse(m: Word, mu: Word, a: U32, out: U32, lo: int, hi: int) -> None:
    """Montgomery's trick in blocks of up to 64 rows of LANES columns; zeros count as 1 and come out as 0.

    Going down, out holds the product of a column's earlier rows; one power inverts each column's whole product.
    """
    run = np.empty(LANES, np.uint32)
    tail = lo + (hi - lo) // LANES * LANES
    for start in range(lo, tail, 64 * LANES):
        stop = min(start + 64 * LANES, tail)
        run[:] = np.uint32(1)
        for row in range(start, stop, LANES):
            for l in range(LANES):
                out[row + l] = run[l]
                run[l] = mulmod(m, mu, run[l], _or_one(a[row + l]))
        for l in range(LANES):
            run[l] = powmod(m, mu, run[l], m - np.uint64(2))
        for row in range(stop - LANES, start - 1, -LANES):
            for l in range(LANES):
                x = a[row + l]
                inv = mulmod(m, mu, out[row + l], run[l])
                run[l] = mulmod(m, mu, run[l], _or_one(x))
                out[row + l] = np.uint64(0) if x == 0 else inv
    for i in range(tail, hi):
        out[i] = powmod(m, mu, a[i], m - np.uint64(2))


@njit(types.void(WORD, WORD, FLOATS, FLOATS, OUT, INT, INT), nogil=True, cache=True)
def recombine(m: Word, mu: Word, low: F64, high: F64, out: U32, lo: int, hi: int) -> None:
    """out = low + 2^13 * high mod m for exact integers |low|, |high| <= 2^53."""
    signed = np.int64(m)
    for i in range(lo, hi):
        h = np.int64(high[i]) % signed
        out[i] = (np.int64(low[i]) + (h << 13)) % signed
