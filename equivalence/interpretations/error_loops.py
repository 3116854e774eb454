"""The hot rules of `error` for f32 as compiled loops: takes flat f32 values and f64 errors, gives f64 errors.

Each does in one pass what error.py's array expressions say; NaN never comes out, an unknown error is infinite.
Must not know Lanes or sites.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit, types

from equivalence.fields import threads
from equivalence.numerics.formats import format_of
from equivalence.numerics.intrinsic_table import Bound

Array = np.ndarray
_F32, _F64 = types.Array(types.float32, 1, "C", readonly=True), types.Array(types.float64, 1, "C", readonly=True)
_BITS, _OUT = types.Array(types.uint32, 1, "C", readonly=True), types.Array(types.float64, 1, "C")
_INT, _REAL = types.int64, types.float64
_SLACK = 1 + 2.0**-40
_LARGE = 2.0**-6  # beyond: expm1 itself


def _steps() -> Array:
    """Unit in the last place of f32 by exponent field; NaN for infinities and NaN."""
    field = np.clip(np.arange(256), 1, 254)
    return np.where(np.arange(256) == 255, np.nan, np.ldexp(1.0, field - 150))


_STEPS = _steps()


@njit(inline="always")
def _known(error: Any) -> Any:
    return np.inf if math.isnan(error) else error


@njit(types.void(_REAL, _REAL, _F32, _INT, _F64, _INT, _OUT, _INT, _INT), nogil=True, cache=True)
def _rounded(u: float, tiny: float, data: Array, sd: int, e: Array, se: int, out: Array, lo: int, hi: int) -> None:
    for i in range(lo, hi):
        size = abs(np.float64(data[i * sd]))
        out[i] = e[i * se] + size * u + tiny if size < np.inf else np.inf


_PRODUCT = types.void(_REAL, _REAL, _F32, _INT, _F32, _INT, _F32, _INT, _F64, _INT, _F64, _INT, _OUT, _INT, _INT)


@njit(_PRODUCT, nogil=True, cache=True)
def _product(u: float, tiny: float, data: Array, sd: int, a: Array, sa: int, b: Array, sb: int, ea: Array, sea: int,
             eb: Array, seb: int, out: Array, lo: int, hi: int) -> None:  # fmt: skip
    for i in range(lo, hi):
        size, x, y = abs(np.float64(data[i * sd])), ea[i * sea], eb[i * seb]
        passed = abs(np.float64(a[i * sa])) * y + abs(np.float64(b[i * sb])) * x + x * y
        out[i] = _known(passed) + size * u + tiny if size < np.inf else np.inf


_DECLARED = (_F64, _REAL, _REAL, _REAL, _REAL)


@njit(inline="always")
def _declared(steps: Array, ulps: float, per_arg: float, absolute: float, normal: float, x: Any, size: Any,
              bits: Any) -> Any:  # fmt: skip
    """numerics.error_bounds.error_at of one lane: argument x, size of the result and its bits."""
    error = (ulps + per_arg * abs(x)) * steps[(bits >> np.uint32(23)) & np.uint32(255)] + absolute
    error += normal if size < normal else 0.0
    return 0.0 if abs(x) == np.inf else error


_EXP = types.void(*_DECLARED, _REAL, _F32, _INT, _F32, _INT, _BITS, _INT, _F64, _INT, _OUT, _INT, _INT)


@njit(_EXP, nogil=True, cache=True)
def _exp(steps: Array, ulps: float, per_arg: float, absolute: float, normal: float, rate: float, x: Array, sx: int,
         data: Array, sd: int, bits: Array, sb: int, e: Array, se: int, out: Array, lo: int,
         hi: int) -> None:  # fmt: skip
    """exp(x +- e) is off by at most exp(x) (exp(e) - 1), and exp(x) by 2 ulp from the value; exp(e) - 1 <= e (1 + e)
    for e <= 1.  ``rate``: log of the base."""
    for i in range(lo, hi):
        size, own = np.float64(data[i * sd]), e[i * se] * rate
        error = _declared(steps, ulps, per_arg, absolute, normal, np.float64(x[i * sx]), size, bits[i * sb])
        if own != 0:
            growth = own * (1 + own) if own <= _LARGE else math.expm1(own) if own < 700 else np.inf
            reach = (size * (1 + 2.0**-22) + 2.0**-148) * growth * _SLACK
            if own > _LARGE:  # neither is more than exp of the upper end
                x_wide = np.float64(x[i * sx])
                upper = x_wide * rate + own + abs(x_wide) * 2.0**-48
                reach = min(reach, math.exp(upper) * _SLACK + 2.0**-1000) if upper < 700 else reach
            error += reach
        out[i] = _known(error)


_DIV = types.void(*_DECLARED, _F32, _INT, _F32, _INT, _F32, _INT, _BITS, _INT, _F64, _INT, _F64, _INT, _OUT, _INT, _INT)


@njit(_DIV, nogil=True, cache=True)
def _div(steps: Array, ulps: float, per_arg: float, absolute: float, normal: float, a: Array, sa: int, b: Array,
         sb: int, data: Array, sd: int, bits: Array, st: int, ea: Array, sea: int, eb: Array, seb: int, out: Array,
         lo: int, hi: int) -> None:  # fmt: skip
    for i in range(lo, hi):
        size, x, y = abs(np.float64(data[i * sd])), ea[i * sea], eb[i * seb]
        error = _declared(steps, ulps, per_arg, absolute, normal, np.float64(a[i * sa]), size, bits[i * st])
        if x != 0 or y != 0:
            room = abs(np.float64(b[i * sb])) - y
            error += (x + size * y) / room if room > 0 else np.inf
        out[i] = _known(error)


def rounded(data: Array, e: Array, u: float, tiny: float) -> Array:
    """e and one rounding of ``data``."""
    return threads.elementwise(_rounded, [u, tiny], [data, e], np.float64)[0]


def product(data: Array, a: Array, b: Array, ea: Array, eb: Array, u: float, tiny: float) -> Array:
    """The error of a rounded product."""
    return threads.elementwise(_product, [u, tiny], [data, a, b, ea, eb], np.float64)[0]


def _parameters(bound: Bound) -> list[Any]:
    flushed = 0.0 if bound.ulp == 0.5 else format_of("f32").smallest_normal  # a correct rounding flushes nothing
    return [_STEPS, bound.ulp, bound.per_arg, bound.absolute, flushed]


def exponential(bound: Bound, rate: float, x: Array, data: Array, e: Array) -> Array:
    """The error of an exponential within ``bound`` of the real one."""
    operands = [x, data, _bits(data), e]
    return threads.elementwise(_exp, [*_parameters(bound), rate], operands, np.float64)[0]


def quotient(bound: Bound, x: Sequence[Array], data: Array, e: Sequence[Array]) -> Array:
    """The error of a quotient within ``bound`` of the real one."""
    return threads.elementwise(_div, _parameters(bound), [*x, data, _bits(data), *e], np.float64)[0]


def _bits(data: Array) -> Array:
    return np.ascontiguousarray(data).view(np.uint32)


def fits(bound: Bound | None, *values: Array) -> bool:
    """Whether the loops apply: f32 values, enough of them, under a bound without a limit."""
    large = max(v.size for v in values) >= threads.PARALLEL_FROM
    return large and all(v.dtype == np.float32 for v in values) and (
        bound is None or (bound.declared and bound.limit == math.inf)
    )  # fmt: skip


__all__ = ["exponential", "fits", "product", "quotient", "rounded"]
