"""The exact arithmetic of a matrix unit's adder: sums of products that are aligned, cut and rounded as ``Adder`` says.

Takes operands of one format (or two) and an accumulator as arrays, and an Adder; gives the accumulator after all K
products, in the order of K.  Must not know which device has which adder (matrix_units.py).

A fused step takes L products and the accumulator.  Products are exact and are not normalised: the exponent of a product
is the sum of its operands' exponents, its significand in [0, 4).  Every term is cut, toward zero, to F bits below the
largest exponent among them; the cut terms are added as integers, and the sum is rounded once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numba
import numpy as np
import numpy.typing as npt

from ._llvm import fma
from .formats import Array, Format, format_of

_ZERO, _SPECIAL = -(1 << 14), 1 << 20  # exponents that lose, and that win, every comparison
_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Adder:
    """How a unit adds products into an accumulator; ``products`` and the like are explained in matrix_units.py.

    ``kind``: ``fused`` as above, or ``chain``: one fused multiply-add after the other, to nearest.
    ``products`` L of one step.  ``fraction`` F (fused only).  ``nearest``: how a fused sum is rounded to the
    accumulator's format, else toward zero.  ``kept``: fraction bits of a result where these are fewer than its
    format's.  ``joins``: the accumulator is a term of each step; else the step's sum, from zero, is added to it with a
    rounding of its own, to nearest.  ``least``: no alignment below this exponent.
    """

    kind: Literal["fused", "chain"]
    products: int
    fraction: int = 0
    nearest: bool = False
    kept: int | None = None
    joins: bool = True
    least: int | None = None


def accumulate(a: Array, b: Array, acc: Array, adder: Adder, dtypes: tuple[str, str], dtype_acc: str) -> Array:
    """acc + a @ b for a [B, M, K], b [B, K, N], acc [B, M, N]; values of ``dtypes`` in any float storage."""
    fmt = format_of(dtype_acc)
    with np.errstate(all="ignore"):
        if adder.kind == "chain":
            wide = np.float64 if fmt.name == "f64" else np.float32
            if fmt.name not in ("f32", "f64"):
                raise ValueError(f"a chain of multiply-adds is modelled in f32 and f64, not in {fmt.name}")
            out = np.array(acc, wide)
            for total, rows, columns in zip(out, a.astype(wide), b.swapaxes(-1, -2).astype(wide), strict=True):
                _chain(total, np.ascontiguousarray(rows), np.ascontiguousarray(columns), adder.products, adder.joins)
            return out.astype(fmt.storage, copy=False)
        result = np.array(acc, np.float64)
        for total, rows, columns in zip(result, a, b, strict=True):
            _fused_matrix(total, rows, columns, adder, dtypes, fmt)
        return result.astype(fmt.storage)


def _fused_matrix(total: Array, a: Array, b: Array, adder: Adder, dtypes: tuple[str, str], fmt: Format) -> None:
    first, second = format_of(dtypes[0]), format_of(dtypes[1])
    rows, columns = np.asarray(a, np.float64), np.ascontiguousarray(np.asarray(b, np.float64).T)
    point = first.fraction_bits + second.fraction_bits
    least = _ZERO if adder.least is None else adder.least
    kept = fmt.fraction_bits if adder.kept is None else min(adder.kept, fmt.fraction_bits)
    numbers = (adder.fraction, adder.products, point, least, fmt.fraction_bits, kept, fmt.emin)
    _fused(total, rows, columns, *split(rows, first), *split(columns, second), numbers, adder.nearest, adder.joins,
           fmt.max)  # fmt: skip


def split(x: Array, fmt: Format) -> tuple[_Ints, _Ints]:
    """Signed significands and exponents: x = significand * 2^(exponent - fraction bits), subnormals not normalised.

    Zeros have an exponent below all others, infinities and NaN one above.
    """
    finite = np.isfinite(x)
    value = np.where(finite, x, 0.0)
    exponent = np.maximum(np.frexp(value)[1].astype(np.int64) - 1, fmt.emin)
    significand = np.ldexp(value, fmt.fraction_bits - exponent).astype(np.int64)
    exponent = np.where(value == 0, _ZERO, exponent)
    return np.ascontiguousarray(significand), np.ascontiguousarray(np.where(finite, exponent, _SPECIAL))


@numba.njit(inline="always", cache=True)
def _cut(significand: Any, shift: Any) -> Any:
    """significand / 2^shift toward zero."""
    if shift <= 0:
        return significand << -shift
    if shift > 62:
        return np.int64(0)
    return significand >> shift if significand >= 0 else -(-significand >> shift)


@numba.njit(inline="always", cache=True)
def _rounded(total: Any, unit: Any, kept: int, emin: int, nearest: bool, largest: float) -> float:
    """total * 2^unit with ``kept`` fraction bits, as an f64; too large is an infinity, too small is +0 (measured)."""
    magnitude = abs(total)
    if magnitude == 0:
        return 0.0
    exponent = math.frexp(float(magnitude))[1] - 1 + unit
    drop = max(exponent, emin) - kept - unit
    if drop > 62:
        return 0.0
    if drop > 0:
        whole = magnitude >> drop
        if nearest:
            twice, one = (magnitude - (whole << drop)) * 2, np.int64(1) << drop
            whole += 1 if twice > one or (twice == one and whole & 1) else 0
        magnitude = whole
    value = math.ldexp(float(magnitude), unit + max(drop, 0))
    if value > largest:
        value = math.inf
    return value if total > 0 or value == 0.0 else -value


@numba.njit(nogil=True, cache=True)
def _fused(
    out: Array, a: Array, b: Array, ka: Array, ea: Array, kb: Array, eb: Array, numbers: Any, nearest: bool,
    joins: bool, largest: float,
) -> None:  # fmt: skip
    """out[i, j] plus the products of row a[i] and row b[j], ``products`` at a time."""
    fraction, products, point, least, fraction_c, kept, emin = numbers
    inner = a.shape[1]
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            c = out[i, j]
            for low in range(0, inner, products):
                high = min(low + products, inner)
                kc, ec = np.int64(0), np.int64(_ZERO)
                special = not math.isfinite(c)
                if joins and c != 0.0 and not special:
                    ec = np.int64(max(math.frexp(c)[1] - 1, emin))
                    kc = np.int64(math.ldexp(c, fraction_c - ec))
                top = max(np.int64(least), ec)
                for k in range(low, high):
                    top = max(top, ea[i, k] + eb[j, k])
                if special or top > _SPECIAL // 2:
                    for k in range(low, high):
                        c += a[i, k] * b[j, k]
                    continue
                unit = top - fraction
                total = _cut(kc, unit - (ec - fraction_c))
                for k in range(low, high):
                    total += _cut(ka[i, k] * kb[j, k], unit - (ea[i, k] + eb[j, k] - point))
                if joins:
                    c = _rounded(total, unit, kept, emin, nearest, largest)
                else:
                    c = _added(c, _rounded(total, unit, kept, emin, nearest, largest), fraction_c, emin, largest)
            out[i, j] = c


@numba.njit(inline="always", cache=True)
def _added(c: float, step: float, fraction: int, emin: int, largest: float) -> float:
    """c + step to nearest in a format of at most 25 bits: once in f64, once into the format, which is one rounding."""
    exact = c + step
    if exact == 0.0 or not math.isfinite(exact):
        return exact
    significand, exponent = math.frexp(exact)
    return _rounded(np.int64(math.ldexp(significand, 53)), exponent - 53, fraction, emin, True, largest)


@numba.njit(nogil=True, cache=True)
def _chain(out: Array, a: Array, b: Array, products: int, joins: bool) -> None:
    """out[i, j] plus the products of row a[i] and row b[j], each by a fused multiply-add."""
    inner = a.shape[1]
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            c = out[i, j]
            for low in range(0, inner, products):
                total, first = c, low
                if not joins:
                    total, first = a[i, low] * b[j, low], low + 1
                for k in range(first, min(low + products, inner)):
                    total = fma(a[i, k], b[j, k], total)
                c = total if joins else c + total
            out[i, j] = c
