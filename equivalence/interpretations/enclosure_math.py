"""Elementary functions of intervals in f64, ends widened by the library's error.

Takes and gives Intervals by the names of ``math``; a lane outside a function's domain, or on a pole, is TOP.
numpy's vectorised loops (Intel SVML) are within 4 ulp, glibc's functions within 4 (its manual, "Errors in Math
Functions"), scipy's erf (Cephes) was seen within 4: all get _ULPS, which the tests hold against arb.
Cephes' erfc takes exp(-x^2) of a rounded square: 2 x^2 ulp more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb
from scipy import special

from equivalence.interpretations import interval as iv
from equivalence.interpretations.interval import Array, Interval

_ULPS = 8
_TINY = 2.0**-1022  # some loops flush subnormal results
_MOST_BALLS = 20_000  # lanes evaluated one by one by arb

#: Increasing on their domain: (function, least value, largest value).
_INCREASING: dict[str, tuple[Callable[..., Any], float, float]] = {
    "exp": (np.exp, 0.0, np.inf), "exp2": (np.exp2, 0.0, np.inf), "expm1": (np.expm1, -1.0, np.inf),
    "log": (np.log, -np.inf, np.inf), "log2": (np.log2, -np.inf, np.inf), "log10": (np.log10, -np.inf, np.inf),
    "log1p": (np.log1p, -np.inf, np.inf), "sinh": (np.sinh, -np.inf, np.inf), "tanh": (np.tanh, -1.0, 1.0),
    "asinh": (np.arcsinh, -np.inf, np.inf), "acosh": (np.arccosh, 0.0, np.inf), "atanh": (np.arctanh, -np.inf, np.inf),
    "asin": (np.arcsin, -1.6, 1.6), "atan": (np.arctan, -1.6, 1.6), "erf": (special.erf, -1.0, 1.0),
    "cbrt": (np.cbrt, -np.inf, np.inf),
}  # fmt: skip
_DECREASING: dict[str, tuple[Callable[..., Any], float, float]] = {
    "erfc": (special.erfc, 0.0, 2.0), "acos": (np.arccos, 0.0, 3.2),
}  # fmt: skip
#: Arguments at which the library's value is exact.
_EXACT_AT: dict[str, float] = {
    "exp": 0, "exp2": 0, "expm1": 0, "log": 1, "log2": 1, "log10": 1, "log1p": 0, "sinh": 0, "tanh": 0, "asinh": 0,
    "acosh": 1, "atanh": 0, "asin": 0, "atan": 0, "erf": 0, "cbrt": 0, "erfc": 0, "acos": 1, "sin": 0, "cos": 0,
}  # fmt: skip


def function(fn: str, *x: Interval) -> Interval:
    """The enclosure of fn's values on the intervals."""
    with np.errstate(all="ignore"):
        if fn in _INCREASING:
            return _monotone(fn, *_INCREASING[fn], x[0])
        if fn in _DECREASING:
            kernel, least, most = _DECREASING[fn]
            return _monotone(fn, kernel, least, most, Interval(x[0].hi, x[0].lo))
        return _OTHERS[fn](*x)


def _slack(y: Array, ulps: Array | float = _ULPS) -> Array:
    return np.abs(y) * (ulps * 2.0**-52) + _TINY


def _sure(fn: str, x: Array, y: Array) -> Array:
    """Where y is fn(x) itself: at the exact argument, and limits at infinity that are 0, 1, -1 or infinite."""
    limit = np.isinf(x) & ((y == 0) | (np.abs(y) == 1) | np.isinf(y))
    return limit | (x == _EXACT_AT[fn]) | (np.isinf(y) & (fn in ("log", "log2", "log10", "log1p", "atanh")))


def _monotone(fn: str, kernel: Callable[..., Any], least: float, most: float, x: Interval) -> Interval:
    low, high = kernel(x.lo), kernel(x.hi)
    ulps = [_ULPS + 2 * end * end if fn == "erfc" else _ULPS for end in x]
    lo = np.where(_sure(fn, x.lo, low), low, np.clip(low, -np.inf, iv.LARGEST) - _slack(low, ulps[0]))
    hi = np.where(_sure(fn, x.hi, high), high, np.clip(high, -iv.LARGEST, np.inf) + _slack(high, ulps[1]))
    lo = np.where(np.isposinf(low) & ~_sure(fn, x.lo, low), iv.LARGEST, lo)
    lost = np.isnan(low) | np.isnan(high) | (np.minimum(x.lo, x.hi) == -np.inf) & (np.maximum(x.lo, x.hi) == np.inf)
    return Interval(np.where(lost, -np.inf, np.maximum(lo, least)), np.where(lost, np.inf, np.minimum(hi, most)))


def _sqrt(x: Interval) -> Interval:
    """Correctly rounded by IEEE 754."""
    low, high = np.sqrt(x.lo), np.sqrt(x.hi)
    lo = np.where(iv.short(low) & (low * low == x.lo), low, np.maximum(iv.down(low), 0.0))
    hi = np.where(iv.short(high) & (high * high == x.hi) | np.isinf(high), high, iv.up(high))
    return iv.settled(lo, hi, x)


def _rsqrt(x: Interval) -> Interval:
    root = _sqrt(x)
    return iv.div(iv.point(np.ones((1,) * root.lo.ndim)), root)


def _cosh(x: Interval) -> Interval:
    y = iv.absolute(x)
    low, high = np.cosh(y.lo), np.cosh(y.hi)
    return iv.where(x.is_top, x, iv.settled(np.maximum(low - _slack(low), 1.0), high + _slack(high), x))


def _wave(fn: str, kernel: Callable[..., Any], x: Interval) -> Interval:
    """Slope at most 1: the value in the middle, give or take half the width."""
    middle = np.where(x.is_point, x.lo, x.lo + (x.hi - x.lo) / 2)
    reach = np.where(x.is_point, 0.0, iv.up(np.maximum(x.hi - middle, middle - x.lo)))
    y = kernel(middle)
    reach = np.where(x.is_point & (middle == _EXACT_AT[fn]), 0.0, iv.up(reach + _slack(y)))
    lost = np.isnan(y)
    lo, hi = np.maximum(y - reach, -1.0), np.minimum(y + reach, 1.0)
    return Interval(np.where(lost, -np.inf, lo), np.where(lost, np.inf, hi))


def _sin(x: Interval) -> Interval:
    return _wave("sin", np.sin, x)


def _cos(x: Interval) -> Interval:
    return _wave("cos", np.cos, x)


def _tan(x: Interval) -> Interval:
    """Within one period, where the cosine has one sign."""
    return iv.where(x.hi - x.lo < 3, iv.div(_sin(x), _cos(x)), iv.top(x.lo.ndim))


def _box(kernel: Callable[..., Any], a: Interval, b: Interval, sure: Array) -> Interval:
    """Least and largest at the corners of the box, where that is so."""
    ends = [kernel(x, y) for x in a for y in b]
    lo, hi = np.minimum.reduce(np.broadcast_arrays(*ends)), np.maximum.reduce(np.broadcast_arrays(*ends))
    result = iv.settled(lo - _slack(lo), hi + _slack(hi))
    return iv.where(sure & ~np.isnan(lo), result, iv.top(lo.ndim))


def _atan2(y: Interval, x: Interval) -> Interval:
    """Off the cut: the box lies right of, above or below the origin."""
    return _box(np.arctan2, y, x, (x.lo > 0) | (y.lo > 0) | (y.hi < 0))


def _pow(x: Interval, y: Interval) -> Interval:
    """Monotone in each argument for a positive base; whole exponents take any base."""
    positive = _box(np.power, x, y, (x.lo > 0) & np.isfinite(x.hi))
    positive = Interval(np.where(positive.is_top, positive.lo, np.maximum(positive.lo, 0.0)), positive.hi)
    whole = y.is_point & (y.lo == np.rint(y.lo))
    if not whole.any():
        return positive
    return iv.where(whole, _whole_power(x, y), positive)


def _whole_power(x: Interval, n: Interval) -> Interval:
    """x^n for whole n: even powers of |x|; a negative n with a base that may be 0 tells nothing."""
    base = iv.where(np.mod(n.lo, 2) == 0, iv.absolute(x), x)
    sure = ((n.lo >= 0) | (base.lo > 0) | (base.hi < 0)) & np.isfinite(base.lo) & np.isfinite(base.hi)
    result = _box(np.power, base, n, sure)
    return iv.where((n.lo == 1) & ~x.is_top, x, iv.where(n.lo == 0, iv.point(np.ones_like(n.lo)), result))


def _ends(name: str, x: Interval) -> Interval:
    """The lower end of the function at x.lo and the upper end at x.hi, by arb (Johansson 2017), lane by lane."""
    if max(x.lo.size, x.hi.size) > _MOST_BALLS:
        return iv.top(x.lo.ndim)
    low, high = (np.array([_ball(name, end) for end in ends.ravel().tolist()]) for ends in x)
    return Interval(low[:, 0].reshape(x.lo.shape), high[:, 1].reshape(x.hi.shape))


def _ball(name: str, x: float) -> tuple[float, float]:
    y = getattr(arb(x), name)() if np.isfinite(x) else arb(np.nan)
    if not y.is_finite():
        return -np.inf, np.inf
    return float(np.nextafter(float(y.lower()), -np.inf)), float(np.nextafter(float(y.upper()), np.inf))


def _erfinv(x: Interval) -> Interval:
    return _ends("erfinv", x)


def _digamma(x: Interval) -> Interval:
    """Increasing for positive arguments."""
    return iv.where(x.lo > 0, _ends("digamma", x), iv.top(x.lo.ndim))


def _lgamma(x: Interval) -> Interval:
    """Convex for positive arguments, least (-0.12148629...) at 1.46163..."""
    rising, falling = _ends("lgamma", x), _ends("lgamma", Interval(x.hi, x.lo))
    bottom = Interval(np.where(x.is_point, rising.lo, -0.1214863), np.maximum(rising.hi, falling.hi))
    result = iv.where(x.lo > 1.4617, rising, iv.where(x.hi < 1.4616, falling, bottom))
    return iv.where(x.lo > 0, result, iv.top(x.lo.ndim))


_OTHERS: dict[str, Callable[..., Interval]] = {
    "sqrt": _sqrt, "rsqrt": _rsqrt, "cosh": _cosh, "sin": _sin, "cos": _cos, "tan": _tan, "atan2": _atan2,
    "pow": _pow, "lgamma": _lgamma, "digamma": _digamma, "erfinv": _erfinv,
}  # fmt: skip
FUNCTIONS = frozenset([*_INCREASING, *_DECREASING, *_OTHERS])
