"""Elementary and special functions: takes storage arrays, gives f64 results rounded once to the dtype.

The value is the reference ("as exact as f64 allows"): within 0.5 ulp + 2^-27 for f32 and below, numpy's or scipy's own
error for f64. What a device may return instead is declared in ``error_bounds``. Must not know which device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import special

from .formats import Array
from .rounding import Mode, cast_float

F64 = npt.NDArray[np.float64]


def _rsqrt(x: F64) -> F64:
    """1/sqrt(x); rsqrt(-0) = -inf as PTX and IEEE 754-2019 §9.2.1 rSqrt have it (1/sqrt(-0) is that already)."""
    return 1.0 / np.sqrt(x)


def _sinpi(x: F64) -> F64:
    """sin(pi x), the argument reduced exactly first; integers give the zero of their sign (IEEE 754-2019 §9.2.1)."""
    a = np.abs(np.fmod(x, 2.0))
    t = np.where(a > 1.0, a - 1.0, a)
    return np.copysign(np.sin(np.pi * np.minimum(t, 1.0 - t)), x) * np.where(a > 1.0, -1.0, 1.0)


def _cospi(x: F64) -> F64:
    r = np.abs(np.remainder(x + 0.0, 2.0))
    r = np.where(r > 1.0, 2.0 - r, r)
    return np.where(r == 0.5, 0.0, np.sin(np.pi * (0.5 - r)))


def _sigmoid(x: F64) -> F64:
    return special.expit(x)


def _lgamma(x: F64) -> F64:
    """log |gamma(x)|; +inf at both infinities, as in C (scipy gives -inf at -inf)."""
    return np.where(np.isinf(x), np.inf, special.gammaln(x))


def _digamma(x: F64) -> F64:
    """scipy's psi; at 0 and the negative integers IEEE's poles are given as NaN, -inf at +0, +inf at -0."""
    return special.psi(x)


def _tgamma(x: F64) -> F64:
    """Gamma function; C's tgamma: NaN at negative integers."""
    pole = (x < 0) & (x == np.floor(x))
    return np.where(pole, np.nan, special.gamma(x))


Unary = Callable[[Any], Any]
UNARY: Final[dict[str, Unary]] = {
    "exp": np.exp, "exp2": np.exp2, "exp10": special.exp10, "expm1": np.expm1,
    "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinpi": _sinpi, "cospi": _cospi,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "erf": special.erf, "erfc": special.erfc, "erfinv": special.erfinv, "erfcinv": special.erfcinv,
    "erfcx": special.erfcx, "normcdf": special.ndtr,
    "rsqrt": _rsqrt, "sqrt": np.sqrt, "cbrt": np.cbrt, "rcp": np.reciprocal,
    "lgamma": _lgamma, "digamma": _digamma, "tgamma": _tgamma,
    "sigmoid": _sigmoid, "i0": special.i0, "i1": special.i1, "i0e": special.i0e, "i1e": special.i1e,
}  # fmt: skip


def _pow(x: Any, y: Any) -> Any:
    """C's pow: 1 ** anything and anything ** 0 are 1, NaN included (IEEE 754-2019 §9.2.1)."""
    return np.power(x, y)


Binary = Callable[[Any, Any], Any]
BINARY: Final[dict[str, Binary]] = {
    "pow": _pow, "atan2": np.arctan2, "hypot": np.hypot,
    "igamma": special.gammainc, "igammac": special.gammaincc, "zeta": special.zeta,
    "polygamma": special.polygamma,
}  # fmt: skip


def apply(fn: str, *args: Array, dtype: str, mode: Mode = "rne") -> Array:
    """``fn`` of arrays of ``dtype``, broadcast; computed in f64, rounded once in ``mode``. KeyError: unknown name."""
    table: dict[str, Callable[..., Any]] = {**UNARY} if len(args) == 1 else {**BINARY}
    if fn not in table:
        raise KeyError(f"no {len(args)}-argument function {fn!r}; known: {', '.join(sorted(table))}")
    wide = [cast_float(np.asarray(a), dtype, "f64") for a in args]
    with np.errstate(all="ignore"):
        result = np.asarray(table[fn](*wide), dtype=np.float64)
    return cast_float(result, "f64", dtype, mode=mode)
