"""Interval arithmetic in f64: arrays of lower and upper ends, every end rounded outward (Moore 1966; dots: Rump 2010).

An interval holds the real value of a lane; -inf and +inf are values as well (masks).  TOP, [-inf, inf], also stands
for NaN and for anything unknown.  Must not know lanes, dtypes or operations of KIR.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Array = np.ndarray
LARGEST = float(np.finfo(np.float64).max)
U = 2.0**-53
_SMALL = 2.0**-1022


class Interval(NamedTuple):
    """All lanes' ends; arrays broadcast together, each extent the logical one or 1."""

    lo: Array
    hi: Array

    @property
    def is_point(self) -> Array:
        return self.lo == self.hi

    @property
    def is_top(self) -> Array:
        return (self.lo == -np.inf) & (self.hi == np.inf)

    def map(self, fn: Callable[[Array], Array]) -> Interval:
        return Interval(fn(self.lo), fn(self.hi))


def point(x: Array) -> Interval:
    return Interval(x, x)


def top(rank: int) -> Interval:
    ones = (1,) * rank
    return Interval(np.full(ones, -np.inf), np.full(ones, np.inf))


def where(mask: Array | np.bool_, a: Interval, b: Interval) -> Interval:
    return Interval(np.where(mask, a.lo, b.lo), np.where(mask, a.hi, b.hi))


def union(a: Interval, b: Interval) -> Interval:
    return Interval(np.minimum(a.lo, b.lo), np.maximum(a.hi, b.hi))


def down(x: Array) -> Array:
    return np.nextafter(x, -np.inf)


def up(x: Array) -> Array:
    return np.nextafter(x, np.inf)


def settled(lo: Array, hi: Array, *operands: Interval) -> Interval:
    """NaN becomes TOP; an end that overflowed is infinite only outward, unless an operand is an infinity itself."""
    if np.isfinite(lo).all() and np.isfinite(hi).all():
        return Interval(lo, hi)
    bad = np.isnan(lo) | np.isnan(hi)
    lo, hi = np.where(bad, -np.inf, lo), np.where(bad, np.inf, hi)
    over = (lo == np.inf) | (hi == -np.inf)
    if over.any():
        for x in operands:
            over = over & ~(x.is_point & np.isinf(x.lo))
        lo, hi = np.where(over, np.minimum(lo, LARGEST), lo), np.where(over, np.maximum(hi, -LARGEST), hi)
    return Interval(lo, hi)


def spread(x: Interval, *, exact: Array | None = None) -> Interval:
    """Both ends one float outward, but for lanes that are ``exact``; infinities stay."""
    lo, hi = down(x.lo), up(x.hi)
    kept_lo, kept_hi = np.isinf(x.lo), np.isinf(x.hi)
    if exact is not None:
        kept_lo, kept_hi = kept_lo | exact, kept_hi | exact
    return Interval(np.where(kept_lo, x.lo, lo), np.where(kept_hi, x.hi, hi))


def short(x: Array) -> Array:
    """Numbers of f32: products of two are exact in f64."""
    return x.astype(np.float32) == x


# -- arithmetic --------------------------------------------------------------------------------------------------


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """(rounded sum, its exact error) (Knuth); an error that is not finite is given as 0."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    return total, np.where(np.isfinite(error), error, 0.0)


def add(a: Interval, b: Interval) -> Interval:
    (lo, low), (hi, high) = two_sum(a.lo, b.lo), two_sum(a.hi, b.hi)
    return settled(np.where(low < 0, down(lo), lo), np.where(high > 0, up(hi), hi), a, b)


def neg(a: Interval) -> Interval:
    return Interval(-a.hi, -a.lo)


def sub(a: Interval, b: Interval) -> Interval:
    return add(a, neg(b))


def _corners(fn: Callable[[Array, Array], Array], a: Interval, b: Interval) -> Interval:
    ends = [fn(x, y) for x in a for y in b]
    least, most = np.minimum, np.maximum
    return Interval(least(least(ends[0], ends[1]), least(ends[2], ends[3])),
                    most(most(ends[0], ends[1]), most(ends[2], ends[3])))  # fmt: skip


def mul(a: Interval, b: Interval) -> Interval:
    product = _corners(np.multiply, a, b)
    nothing = (a.is_point & (a.lo == 0)) | (b.is_point & (b.lo == 0))
    exact = nothing | (short(a.lo) & short(a.hi) & short(b.lo) & short(b.hi))
    wide = spread(product, exact=exact)
    positive = (a.lo >= 0) & (b.lo >= 0)
    return settled(np.where(positive, np.maximum(wide.lo, 0.0), wide.lo), wide.hi, a, b)


def div(a: Interval, b: Interval) -> Interval:
    """A divisor that may be 0 tells nothing."""
    divides = (b.lo > 0) | (b.hi < 0)
    quotient = _corners(np.divide, a, b)
    whole = a.is_point & b.is_point & short(quotient.lo) & short(b.lo) & (quotient.lo * b.lo == a.lo)
    wide = spread(quotient, exact=whole | (a.is_point & (a.lo == 0)))
    return settled(np.where(divides, wide.lo, -np.inf), np.where(divides, wide.hi, np.inf), a, b)


def absolute(a: Interval) -> Interval:
    inside = (a.lo <= 0) & (a.hi >= 0)
    low, high = np.abs(a.lo), np.abs(a.hi)
    result = Interval(np.where(inside, 0.0, np.minimum(low, high)), np.maximum(low, high))
    return where(a.is_top, a, result)


def extreme(kind: str, a: Interval, b: Interval) -> Interval:
    """max or min of two; what may be NaN stays TOP."""
    fn = np.maximum if kind == "max" else np.minimum
    unknown = a.is_top | b.is_top
    return Interval(np.where(unknown, -np.inf, fn(a.lo, b.lo)), np.where(unknown, np.inf, fn(a.hi, b.hi)))


# -- accumulation along an axis ----------------------------------------------------------------------------------


def _tree_sum(x: Array, axis: int) -> tuple[Array, Array]:
    """(sum, bound of its error): pairwise, with the roundings summed apart (Ogita, Rump & Oishi 2005)."""
    total = np.moveaxis(x, axis, 0)
    error = size = np.zeros_like(total)
    levels = 1
    while total.shape[0] > 1:
        half = total.shape[0] // 2
        parts = [[y[:half], y[half : 2 * half], y[2 * half :]] for y in (total, error, size)]
        (a, b, rest), (ea, eb, e_rest), (sa, sb, s_rest) = parts
        merged, lost = two_sum(a, b)
        total = np.concatenate([merged, rest])
        error, size = np.concatenate([ea + eb + lost, e_rest]), np.concatenate([sa + sb + np.abs(lost), s_rest])
        levels += 1
    final, lost = two_sum(total[0], error[0])
    return final, np.abs(lost) + size[0] * (8 * levels * U)


def total(a: Interval, axis: int) -> Interval:
    """The sum along ``axis``, at its full extent in both ends."""
    (lo, low), (hi, high) = _tree_sum(a.lo, axis), _tree_sum(a.hi, axis)
    lo = np.where(low > 0, down(lo - low), lo)
    hi = np.where(high > 0, up(hi + high), hi)
    infinite = a.is_point & np.isinf(a.lo)
    return settled(lo, hi, point(np.where(infinite.any(axis), np.inf, 0.0)))


def running_total(a: Interval, axis: int) -> Interval:
    """Prefix sums; n roundings of the prefix sum of magnitudes."""
    count = a.lo.shape[axis]
    ends = []
    for x, sign in ((a.lo, -1.0), (a.hi, 1.0)):
        size = np.cumsum(np.abs(x), axis=axis)
        exact = (x == np.rint(x)).all() and np.max(size, initial=0.0) < 2.0**53
        ends.append(np.cumsum(x, axis=axis) + (0.0 if exact else sign * 2 * (count + 2) * U * size))
    return settled(*ends)


def matmul(a: Interval, b: Interval) -> Interval:
    """Midpoints multiplied, radii bounded (Rump, Acta Numerica 2010, 9): no order of summation is assumed."""
    (ma, ra), (mb, rb) = _balls(a), _balls(b)
    count = ma.shape[-1]
    middle, size = np.matmul(ma, mb), np.matmul(np.abs(ma), np.abs(mb))
    points = not (ra.any() or rb.any())
    if points and (ma == np.rint(ma)).all() and (mb == np.rint(mb)).all() and np.max(size, initial=0.0) < 2.0**53:
        return settled(middle, middle)
    radius = 2 * (count + 2) * U * size + _SMALL
    if not points:
        radius = radius + np.matmul(np.abs(ma) + ra, rb) + np.matmul(ra, np.abs(mb))
    radius = radius * (1 + 8 * (count + 4) * U)
    return settled(down(middle - radius), up(middle + radius))


def _balls(a: Interval) -> tuple[Array, Array]:
    """(midpoint, radius); a point has radius 0."""
    middle = np.where(a.is_point, a.lo, a.lo + (a.hi - a.lo) / 2)
    return middle, np.where(a.is_point, 0.0, up(np.maximum(a.hi - middle, middle - a.lo)))
