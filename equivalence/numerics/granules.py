"""Powers of two that numbers are multiples of: whether a sum of them is exact.  Takes and gives f64."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def granule(x: Array) -> Array:
    """The largest power of two of which ``x`` is a multiple; infinite for 0, 0 for what is not finite."""
    mantissa, exponent = np.frexp(np.where(np.isfinite(x), x, 0.0))
    whole = (mantissa * 2.0**53).astype(np.int64)
    step = np.ldexp((whole & -whole).astype(np.float64), exponent - 53)
    return np.where(np.isfinite(x), np.where(whole == 0, np.inf, step), 0.0)


def held(size: Array, step: Array, bits: int) -> Array:
    """Whether every multiple of ``step`` up to ``size`` has at most ``bits`` significant bits."""
    return size < 2.0**bits * step
