"""Number systems of the oracle: how floats are held, rounded and put through functions.

`ieee`: f64, rounded after every op to its dtype.  `lazy`: 64-bit significands; an addition is exact and is rounded when
something other than an addition reads it, so the order of a sum does not matter.  `wide`: 64-bit significands, no
rounding at all.  `deep`: 200 bits, no rounding at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

Array = np.ndarray
BITS = 200

#: name: (precision, smallest exponent of a normal, largest finite value)
FORMATS: dict[str, tuple[int, int, float]] = {
    "f64": (53, -1022, float(np.finfo(np.float64).max)),
    "f32": (24, -126, float(np.finfo(np.float32).max)),
    "f16": (11, -14, 65504.0),
    "bf16": (8, -126, 2.0**127 * (2 - 2.0**-7)),
    "tf32": (11, -126, 2.0**127 * (2 - 2.0**-10)),
    "f8e4m3fn": (4, -6, 448.0),
    "f8e5m2": (3, -14, 57344.0),
}


class CannotTell(Exception):
    """The oracle has no meaning for something in the program."""


def _away(q: Array) -> Array:
    return np.sign(q) * np.floor(np.abs(q) + 0.5)


_MODES: dict[str, Callable[[Array], Array]] = {
    "rne": np.rint,
    "rtz": np.trunc,
    "rna": _away,
    "rtp": np.ceil,
    "rtn": np.floor,
}


def rounded(x: Array, name: str, mode: str = "rne", saturate: bool = False) -> Array:
    """x rounded to a format by scaling to an integer; works on any binary float array wider than the format."""
    if name == "f64" and x.dtype == np.float64:
        return x
    if name not in FORMATS:
        raise CannotTell(f"rounding to {name}")
    precision, emin, largest = FORMATS[name]
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(np.where(np.isfinite(x), x, 1))
        low = np.maximum(exponent - 1, emin) - (precision - 1)
        scaled = _MODES[mode](np.ldexp(x, -low))
        result = np.where(np.isfinite(x) & (x != 0), np.ldexp(scaled, low), x)
        beyond = np.isfinite(x) & (np.abs(result) > largest)
        limit = largest if saturate or name == "f8e4m3fn" or mode == "rtz" else np.inf
        return np.where(beyond, np.sign(result) * limit, result).astype(x.dtype)


def _mp(name: str) -> Callable[..., Any]:
    """One element of a function at 200 bits; what is not real is NaN."""

    def one(*args: Any) -> Any:
        try:
            if any(mpmath.isnan(a) for a in args):
                return mpmath.nan
            value = _SPECIAL[name](*args) if name in _SPECIAL else getattr(mpmath, name)(*args)
        except (ValueError, ZeroDivisionError, OverflowError, ArithmeticError):
            return mpmath.inf if name in ("rsqrt", "div") else mpmath.nan
        return value if isinstance(value, mpmath.mpf) else mpmath.nan

    return one


_SPECIAL: dict[str, Callable[..., Any]] = {
    "exp": lambda x: mpmath.mpf(0) if x == -mpmath.inf else mpmath.exp(x),
    "exp2": lambda x: mpmath.mpf(0) if x == -mpmath.inf else mpmath.mpf(2) ** x,
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "log": lambda x: -mpmath.inf if x == 0 else mpmath.log(x),
    "log2": lambda x: -mpmath.inf if x == 0 else mpmath.log(x, 2),
    "pow": lambda x, y: x**y,
    "max": lambda a, b: b if b > a else a,
    "min": lambda a, b: b if b < a else a,
    "round": lambda x: mpmath.nint(x) if mpmath.isfinite(x) else x,
    "trunc": lambda x: x if not mpmath.isfinite(x) else mpmath.floor(x) if x >= 0 else mpmath.ceil(x),
    "floor": lambda x: x if not mpmath.isfinite(x) else mpmath.floor(x),
    "ceil": lambda x: x if not mpmath.isfinite(x) else mpmath.ceil(x),
    "div": lambda a, b: a / b if b != 0 else (mpmath.nan if a == 0 else mpmath.sign(a) * mpmath.inf),
}

_NUMPY: dict[str, Callable[..., Any]] = {
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "pow": np.power,
    "max": np.maximum,
    "min": np.minimum,
    "round": np.rint,
    "div": np.divide,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
}
_ONLY_MP = {"erf", "erfc", "erfinv", "lgamma", "digamma"}


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``storage`` of floats; whether results are rounded, and whether additions wait for it.

    Whoever computes with ``deep`` sets mpmath's working precision around the whole run.
    """

    name: str
    storage: np.dtype
    rounds: bool
    lazy: bool = False

    @property
    def deep(self) -> bool:
        return self.storage.kind == "O"

    def hold(self, x: Array) -> Array:
        """Numbers of any kind as this system holds floats."""
        if self.deep:
            if x.dtype == object:
                return x
            return np.asarray(np.frompyfunc(lambda v: mpmath.mpf(float(v)), 1, 1)(np.asarray(x, np.float64)), object)
        return np.asarray(x).astype(self.storage)

    def settle(self, x: Array, name: str) -> Array:
        """A result rounded to its dtype, where this system rounds."""
        return rounded(x, name) if self.rounds else x

    def function(self, name: str, *args: Array) -> Array:
        with np.errstate(all="ignore"):
            if self.deep:
                return np.asarray(np.frompyfunc(_mp(name), len(args), 1)(*args), object)
            if name in _ONLY_MP:
                return self._through_mp(name, *args)
            return np.asarray(_NUMPY[name](*args) if name in _NUMPY else getattr(np, name)(*args)).astype(self.storage)

    def _through_mp(self, name: str, *args: Array) -> Array:
        """25 digits, then the storage."""
        with mpmath.workprec(80):
            exact = np.frompyfunc(_mp(name), len(args), 1)(*[hold_exactly(a) for a in args])
            parts = np.frompyfunc(_split, 1, 2)(exact)
        return parts[0].astype(self.storage) + parts[1].astype(self.storage)

    def plain(self, fn: Callable[..., Any], *args: Array) -> Array:
        """add, sub and mul."""
        with np.errstate(all="ignore"):
            return np.asarray(fn(*args))


def hold_exactly(x: Array) -> Array:
    """Binary floats of up to 64 bits as mpf, by their two halves."""
    high = np.asarray(x, np.float64)
    with np.errstate(all="ignore"):
        low = np.where(np.isfinite(high), np.asarray(x - high, np.float64), 0.0)
    return np.frompyfunc(lambda h, t: mpmath.mpf(h) + mpmath.mpf(t), 2, 1)(high, low)


def _split(x: Any) -> tuple[float, float]:
    high = float(x)
    return high, (float(x - high) if np.isfinite(high) else 0.0)


def as_floats(x: Array) -> Array:
    """For comparisons and integer conversion."""
    return x if x.dtype != object else np.frompyfunc(float, 1, 1)(x).astype(np.float64)


IEEE = Arithmetic("ieee", np.dtype(np.float64), rounds=True)
LAZY = Arithmetic("lazy", np.dtype(np.longdouble), rounds=True, lazy=True)
WIDE = Arithmetic("wide", np.dtype(np.longdouble), rounds=False)
DEEP = Arithmetic("deep", np.dtype(object), rounds=False)
