"""How errors of arguments pass through elementary functions: |f(x +- e) - f(x)| for every argument in the interval.

Takes values and error bounds in f64; gives bounds in f64 (infinity where the function is not monotone and no slope is
known).  The f64 evaluation itself is covered by a factor 1 + 2^-40.  Must not know Lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import special

Array = np.ndarray
_SLACK = 1 + 2.0**-40
_MONOTONE = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sqrt": np.sqrt, "cbrt": np.cbrt, "sinh": np.sinh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "erf": special.erf, "erfc": special.erfc, "erfinv": special.erfinv,
}  # fmt: skip


def _rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


def propagated(fn: str, x: Sequence[Array], e: Sequence[Array]) -> Array:
    """The error of fn's exact value when each argument may be off by its error."""
    if all(not np.any(error) for error in e):
        return np.zeros((1,) * x[0].ndim)
    with np.errstate(all="ignore"):
        if fn in ("sin", "cos"):
            return np.minimum(e[0], 2.0)
        if fn == "cosh":
            return _monotone(np.cosh, np.abs(x[0]), e[0])
        if fn == "rsqrt":
            return _monotone(_rsqrt, x[0], e[0])
        if fn in _MONOTONE:
            return _monotone(_MONOTONE[fn], x[0], e[0])
        if fn == "pow":
            return power(x, e)
    total = e[0] + (e[1] if len(e) > 1 else 0)
    return np.where(total == 0, 0.0, np.inf)


def _monotone(fn: Callable[[Array], Array], x: Array, e: Array) -> Array:
    here = fn(x)
    reach = np.maximum(np.abs(fn(x + e) - here), np.abs(here - fn(x - e))) * _SLACK + np.abs(here) * 2.0**-50
    reach = np.where(np.isnan(reach), np.inf, reach)
    return np.where(e == 0, 0.0, reach)


def power(x: Sequence[Array], e: Sequence[Array]) -> Array:
    """To an exact whole power any base may be raised: |x|^n is monotone in |x|, and the sign changes at 0 alone."""
    base, exponent = x
    whole = (e[1] == 0) & (exponent == np.round(exponent))
    if not whole.any():
        return _positive_power(x, e)
    return np.where(whole, _whole_power(np.abs(base), exponent, e[0]), _positive_power(x, e))


def _positive_power(x: Sequence[Array], e: Sequence[Array]) -> Array:
    """Corners of the box, for positive bases; x^y is monotone in each argument there."""
    base, exponent = x
    here = np.power(base, exponent)
    reach = np.zeros_like(here)
    for s in (-1, 1):
        for t in (-1, 1):
            reach = np.maximum(reach, np.abs(np.power(base + s * e[0], exponent + t * e[1]) - here))
    sure = (base - e[0] > 0) & ~np.isnan(reach)
    return np.where((e[0] == 0) & (e[1] == 0), 0.0, np.where(sure, reach * _SLACK, np.inf))


def _whole_power(size: Array, n: Array, e: Array) -> Array:
    """How far x^n moves where |x| is ``size`` and x moves by ``e``."""
    with np.errstate(all="ignore"):
        here, above, below = np.power(size, n), np.power(size + e, n), np.power(np.maximum(size - e, 0), n)
    reach = np.where(size > e, np.maximum(np.abs(above - here), np.abs(here - below)), above + here)
    sure = ((size > e) | (n >= 0)) & ~np.isnan(reach)
    return np.where((e == 0) | (n == 0), 0.0, np.where(sure, reach * _SLACK + here * 2.0**-50, np.inf))


def remainder(a: Array, b: Array, e: Sequence[Array], *, floor: bool) -> Array:
    """Of a - q b, q the quotient's whole part: e[0] + |q| e[1] while q is certain, else as far as remainders lie apart.

    All remainders are smaller than their divisor, and have its sign (floor) or that of the dividend.
    """
    with np.errstate(all="ignore"):
        whole, signed = (np.floor, (b, e[1])) if floor else (np.trunc, (a, e[0]))
        corners = [(a + s * e[0]) / (b + t * e[1]) for s in (-1, 1) for t in (-1, 1)]
        low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
        first, last = whole(low - np.abs(low) * 2.0**-50), whole(high + np.abs(high) * 2.0**-50)
        moved = e[0] + np.abs(first) * e[1]
        apart = np.abs(b) * np.where(np.abs(signed[0]) > signed[1], 1, 2) + e[1]
        error = np.where(first == last, moved, apart) * _SLACK
        known = (np.abs(b) > e[1]) & np.isfinite(a) & ~np.isnan(error)
        return np.where((e[0] == 0) & (e[1] == 0), 0.0, np.where(known, error, np.inf))
