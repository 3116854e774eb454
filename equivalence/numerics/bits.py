"""Bit counting, high halves of products and saturating sums: takes and gives numpy integer arrays.

Counts come back in the operand's dtype, as MLIR's math.ctpop and XLA's popcnt give them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .formats import Array, IntFormat, int_format_of


def _unsigned(a: Array, ints: IntFormat) -> Array:
    return np.asarray(a, dtype=ints.storage).view(f"u{ints.storage.itemsize}")


def popcount(a: Array, dtype: str) -> Array:
    """Number of one bits."""
    ints = int_format_of(dtype)
    return np.bitwise_count(_unsigned(a, ints)).astype(ints.storage)


def _smear(x: Array, bits: int) -> Array:
    """Every bit below the highest one set as well."""
    step = 1
    while step < bits:
        x = x | (x >> x.dtype.type(step))
        step *= 2
    return x


def clz(a: Array, dtype: str) -> Array:
    """Leading zeros; the width for 0."""
    ints = int_format_of(dtype)
    used = np.bitwise_count(_smear(_unsigned(a, ints), ints.bits))
    return (np.uint8(ints.bits) - used).astype(ints.storage)


def ctz(a: Array, dtype: str) -> Array:
    """Trailing zeros; the width for 0."""
    ints = int_format_of(dtype)
    x = _unsigned(a, ints)
    below = ~x & (x - x.dtype.type(1))
    return np.bitwise_count(below).astype(ints.storage)


def ffs(a: Array, dtype: str) -> Array:
    """Position of the lowest one bit counted from 1; 0 for 0 (CUDA __ffs)."""
    ints = int_format_of(dtype)
    return np.where(_unsigned(a, ints) == 0, 0, ctz(a, dtype).astype(np.int64) + 1).astype(ints.storage)


def reverse(a: Array, dtype: str) -> Array:
    """Bits in reverse order (PTX brev)."""
    ints = int_format_of(dtype)
    x = _unsigned(a, ints)
    out = np.zeros_like(x)
    one = x.dtype.type(1)
    for _ in range(ints.bits):
        out, x = (out << one) | (x & one), x >> one
    return out.view(ints.storage)


def _high64(a: Array, b: Array) -> Array:
    """High 64 bits of u64 * u64 from four 32-bit products; no intermediate overflows."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    a0, a1, b0, b1 = a & low, a >> half, b & low, b >> half
    cross = a1 * b0 + (a0 * b0 >> half)
    second = a0 * b1 + (cross & low)
    return a1 * b1 + (cross >> half) + (second >> half)


def mulhi(a: Array, b: Array, dtype: str) -> Array:
    """High half of the double-width product, by the dtype's signedness (CUDA __mulhi, __umulhi, __mul64hi)."""
    ints = int_format_of(dtype)
    x, y = np.broadcast_arrays(np.asarray(a, dtype=ints.storage), np.asarray(b, dtype=ints.storage))
    if ints.bits < 64:
        wide: Any = np.int64 if ints.signed else np.uint64
        return ((x.astype(wide) * y.astype(wide)) >> wide(ints.bits)).astype(ints.storage)
    with np.errstate(all="ignore"):
        ux, uy = _unsigned(x, ints), _unsigned(y, ints)
        high = _high64(ux, uy)
        if ints.signed:  # two's complement: subtract the other operand where this one is negative
            high = high - np.where(x < 0, uy, np.uint64(0)) - np.where(y < 0, ux, np.uint64(0))
    return high.view(ints.storage)


def add_saturating(a: Array, b: Array, dtype: str) -> Array:
    """a + b clipped to the dtype's range (PTX add.sat.s32)."""
    ints = int_format_of(dtype)
    x, y = np.asarray(a, dtype=ints.storage), np.asarray(b, dtype=ints.storage)
    with np.errstate(all="ignore"):
        total = x + y
    if not ints.signed:
        return np.where(total < x, ints.storage.type(ints.max), total)
    over = ((x ^ total) & (y ^ total)) < 0
    return np.where(over, np.where(x < 0, ints.storage.type(ints.min), ints.storage.type(ints.max)), total)


def sub_saturating(a: Array, b: Array, dtype: str) -> Array:
    """a - b clipped to the dtype's range."""
    ints = int_format_of(dtype)
    x, y = np.asarray(a, dtype=ints.storage), np.asarray(b, dtype=ints.storage)
    with np.errstate(all="ignore"):
        total = x - y
    if not ints.signed:
        return np.where(y > x, ints.storage.type(0), total)
    over = ((x ^ y) & (x ^ total)) < 0
    return np.where(over, np.where(x < 0, ints.storage.type(ints.min), ints.storage.type(ints.max)), total)
