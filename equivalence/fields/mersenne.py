"""Takes and gives uint64 arrays of ring elements mod p = 2^61-1: add, sub, neg, mul and sums, with broadcasting.

Bit 63 (and 61, 62) of an operand belongs to the caller: it is ignored here and clear in every result.
Must not know what the words mean: fingerprints, tags and keys are mixing.py's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import ArrayLike, NDArray

from equivalence.fields import threads
from equivalence.fields.scalar61 import P, add61, mul61, word

Words = NDArray[np.uint64]

MASK = np.uint64(P)
FLAG = np.uint64(1 << 63)
_LOW32, _32, _61 = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(61)


_IN, _OUT = types.Array(types.uint64, 1, "C", readonly=True), types.Array(types.uint64, 1, "C")
_IN3, _OUT2 = types.Array(types.uint64, 3, "C", readonly=True), types.Array(types.uint64, 2, "C")
_INT = types.int64
_BINARY = types.void(_IN, _INT, _IN, _INT, _OUT, _INT, _INT)
_FOLD = types.void(_IN3, _OUT2, _INT, _INT, _INT, _INT)


@njit(_BINARY, nogil=True, cache=True)
def _add(a: Words, sa: int, b: Words, sb: int, out: Words, lo: int, hi: int) -> None:
    """Strides are 1 or 0 (an operand of one word); the plain loop is the one that vectorises."""
    if sa * sb:
        for i in range(lo, hi):
            out[i] = add61(word(a[i]), word(b[i]))
    else:
        for i in range(lo, hi):
            out[i] = add61(word(a[i * sa]), word(b[i * sb]))


@njit(_BINARY, nogil=True, cache=True)
def _sub(a: Words, sa: int, b: Words, sb: int, out: Words, lo: int, hi: int) -> None:
    if sa * sb:
        for i in range(lo, hi):
            out[i] = add61(word(a[i]), MASK - word(b[i]))
    else:
        for i in range(lo, hi):
            out[i] = add61(word(a[i * sa]), MASK - word(b[i * sb]))


@njit(_BINARY, nogil=True, cache=True)
def _mul(a: Words, sa: int, b: Words, sb: int, out: Words, lo: int, hi: int) -> None:
    for i in range(lo, hi):
        out[i] = mul61(word(a[i * sa]), word(b[i * sb]))


@njit(_FOLD, nogil=True, cache=True)
def _sum(a: Words, out: Words, o_lo: int, o_hi: int, i_lo: int, i_hi: int) -> None:
    """Rows of length 1 add their 32-bit halves apart (exact below 2^32 terms): no carried reduction."""
    for o in range(o_lo, o_hi):
        if a.shape[2] == 1:
            low, high = np.uint64(0), np.uint64(0)
            for n in range(a.shape[1]):
                x = word(a[o, n, 0])
                low, high = low + (x & _LOW32), high + (x >> _32)
            out[o, 0] = add61(mul61(word(high), np.uint64(1 << 32)), add61(word(low), low >> _61))
        else:
            for n in range(a.shape[1]):
                for i in range(i_lo, i_hi):
                    out[o, i] = add61(out[o, i], word(a[o, n, i]))


@njit(_FOLD, nogil=True, cache=True)
def _product(a: Words, out: Words, o_lo: int, o_hi: int, i_lo: int, i_hi: int) -> None:
    for o in range(o_lo, o_hi):
        out[o, i_lo:i_hi] = np.uint64(1)
        for n in range(a.shape[1]):
            for i in range(i_lo, i_hi):
                out[o, i] = mul61(out[o, i], word(a[o, n, i]))


def words(a: ArrayLike) -> Words:
    """Any array-like of non-negative ints below 2^64 as uint64, without copying what is uint64 already."""
    return np.asarray(a, np.uint64)


def _apply(kernel: Any, *args: ArrayLike) -> Words:
    return threads.elementwise(kernel, (), [words(a) for a in args], np.uint64)[0]


def add(a: ArrayLike, b: ArrayLike) -> Words:
    """a + b mod p, elementwise; operands canonical in their low 61 bits (value p itself counts as 0)."""
    return _apply(_add, a, b)


def sub(a: ArrayLike, b: ArrayLike) -> Words:
    """a - b mod p, elementwise."""
    return _apply(_sub, a, b)


def neg(a: ArrayLike) -> Words:
    """-a mod p, elementwise."""
    return sub(np.uint64(0), a)


def mul(a: ArrayLike, b: ArrayLike) -> Words:
    """a * b mod p, elementwise, through one 64x64 -> 128 bit multiplication."""
    return _apply(_mul, a, b)


Axis = int | tuple[int, ...] | None


def _fold(kernel: Any, a: ArrayLike, axis: Axis, keepdims: bool) -> Words:
    """Fold one axis after another, from the last, so that earlier positions stay right."""
    array = words(a)
    picked = range(array.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    for at in sorted((i % array.ndim for i in picked), reverse=True):
        array = threads.folded(kernel, (), array, at, np.uint64)
        array = np.expand_dims(array, at) if keepdims else array
    return array


def sum_axis(a: ArrayLike, axis: Axis = -1, keepdims: bool = False) -> Words:
    """Sum mod p over an axis, several or all (None); an empty axis gives 0. The order cannot matter in a ring."""
    return _fold(_sum, a, axis, keepdims)


def prod_axis(a: ArrayLike, axis: Axis = -1, keepdims: bool = False) -> Words:
    """Product mod p over an axis, several or all (None); an empty axis gives 1."""
    return _fold(_product, a, axis, keepdims)


def from_int(a: ArrayLike) -> Words:
    """Signed 64-bit integers as ring elements (exact mod p); uint64 input is reduced mod p."""
    array = np.asarray(a)
    if array.dtype == np.uint64:
        return array % MASK
    return (array.astype(np.int64) % np.int64(P)).astype(np.uint64)


def power(a: ArrayLike, n: int) -> Words:
    """a ** n mod p for a Python int n >= 0; n < 0 inverts first (0 stays 0: the caller flags it)."""
    if n < 0:
        return power(a, n % (P - 1))
    base, out = words(a) & MASK, np.ones(np.shape(a), np.uint64)
    while n:
        out = mul(out, base) if n & 1 else out
        n >>= 1
        base = mul(base, base) if n else base
    return out


def inverse(a: ArrayLike) -> Words:
    """1/a mod p by Fermat, elementwise; 0 maps to 0 and the caller flags it."""
    return power(a, P - 2)


from equivalence.fields.limbs import matmul  # noqa: E402
from equivalence.fields.mixing import Mixer, mix, mix_axis, mix_sym, reseed  # noqa: E402

__all__ = [
    "FLAG",
    "MASK",
    "Mixer",
    "P",
    "Words",
    "add",
    "from_int",
    "inverse",
    "matmul",
    "mix",
    "mix_axis",
    "mix_sym",
    "mul",
    "neg",
    "power",
    "prod_axis",
    "reseed",
    "sub",
    "sum_axis",
    "words",
]
