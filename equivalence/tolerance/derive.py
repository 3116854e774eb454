"""The smallest tolerance that passes whatever rounding may do, from each element's size and possible distance.

Takes arrays of sizes |b| and distances that two permitted implementations may have; gives rtol and atol such that
distance <= atol + rtol size everywhere.  Must not know programs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from itertools import pairwise

import numpy as np

Array = np.ndarray
DIGITS = 2  # to which a tolerance is rounded up, as people write them
MOST_RELATIVE = 0.5
_MOST_WEIGHED = 100_000  # elements that decide between lines
_AT_ONCE = 1 << 16
_SLACK = 1 + 2.0**-40  # of f64 arithmetic on bounds


@dataclass(frozen=True, slots=True)
class Tolerance:
    """As in allclose; ``ulp``: the largest distance in units of the last place of the element it belongs to."""

    rtol: float
    atol: float
    ulp: float = 0.0


@dataclass(slots=True)
class Points:
    """Elements of one output over all draws.  ``unbounded``: those of which the bounds say nothing."""

    sizes: list[Array] = field(default_factory=list)
    errors: list[Array] = field(default_factory=list)
    ulps: float = 0.0
    unbounded: int = 0
    elements: int = 0

    def add(self, size: Array, error: Array, step: Array, known: Array) -> None:
        """``step``: one unit in the last place."""
        self.elements += known.size
        self.unbounded += int((~known).sum())
        self.sizes.append(size[known])
        self.errors.append(error[known])
        self.ulps = max(self.ulps, float(np.max(self.errors[-1] / step[known], initial=0.0)))

    def tolerance(self) -> Tolerance | None:
        """None where nothing is bounded."""
        sizes, errors = (np.concatenate(x) if x else np.zeros(0) for x in (self.sizes, self.errors))
        if not sizes.size:
            return None if self.elements else Tolerance(0.0, 0.0)
        rtol, atol = line(sizes, errors)
        return Tolerance(rtol, atol, float(np.ceil(self.ulps * (1 - 2.0**-40))))


def line(sizes: Array, errors: Array) -> tuple[float, float]:
    """The (rtol, atol) with atol + rtol size >= error everywhere that leaves least room, both rounded up.

    Room is the mean logarithm of atol + rtol size over the elements that are not zero: each counts alike, whatever its
    size.  It is concave in (rtol, atol), so its least value is at a corner: a line through two elements that no other
    element lies above, or one with rtol or atol 0.  Elements near zero decide atol, the others rtol.  An rtol that lets
    half of a value go is taken only where there is no other.
    """
    off = errors > 0
    if not off.any():
        return 0.0, 0.0
    weighed = sizes[sizes > 0]
    weighed = weighed[:: max(1, weighed.size // _MOST_WEIGHED)]
    corners = [(upward(rtol), upward(atol)) for rtol, atol in _corners(sizes[off], errors[off] * _SLACK)]
    if not weighed.size:
        return corners[0]
    return min(
        corners, key=lambda pair: (pair[0] >= MOST_RELATIVE, float(np.mean(np.log(pair[1] + pair[0] * weighed))))
    )


def _corners(sizes: Array, errors: Array) -> Iterator[tuple[float, float]]:
    yield 0.0, float(errors.max())
    if sizes.min() > 0:
        yield float(np.max(errors / sizes)), 0.0
    sizes, errors = _binding(sizes, errors)  # for a rising line no other element decides
    hull = _hull(sizes, errors)
    for (x, y), (right, above) in pairwise(hull):
        slope = (above - y) / (right - x)
        intercept = float(np.max(errors - slope * sizes)) * _SLACK  # not y - slope x, which cancels
        if slope > 0 and intercept >= 0:
            yield slope * _SLACK, intercept


def _binding(sizes: Array, errors: Array) -> tuple[Array, Array]:
    """Elements that no other one of at most their size and at least their error makes idle, by size."""
    kept = np.zeros(0), np.zeros(0)
    for lo in range(0, sizes.size, _AT_ONCE):
        x, y = sizes[lo : lo + _AT_ONCE], errors[lo : lo + _AT_ONCE]
        if kept[0].size:
            below = np.append(-np.inf, kept[1])[np.searchsorted(kept[0], x, side="right")]
            x, y = x[y > below], y[y > below]
        if x.size:
            kept = _staircase(np.append(kept[0], x), np.append(kept[1], y))
    return kept


def _staircase(sizes: Array, errors: Array) -> tuple[Array, Array]:
    order = np.argsort(sizes)
    sizes, errors = sizes[order], errors[order]
    rising = errors > np.concatenate([[-np.inf], np.maximum.accumulate(errors)[:-1]])
    sizes, errors = sizes[rising], errors[rising]
    last = np.append(sizes[1:] != sizes[:-1], True)  # of equal sizes the largest error
    return sizes[last], errors[last]


def _hull(x: Array, y: Array) -> Sequence[tuple[float, float]]:
    """The upper convex hull, from left to right."""
    hull: list[tuple[float, float]] = []
    for point in zip(x.tolist(), y.tolist()):
        while len(hull) > 1 and _below(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return hull


def _below(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])


def upward(value: float) -> float:
    """Rounded up to a few decimal digits."""
    if value <= 0 or not np.isfinite(value):
        return max(value, 0.0)
    rounded = float(Context(prec=DIGITS, rounding=ROUND_CEILING).create_decimal(Decimal(value)))
    return rounded if rounded >= value else float(np.nextafter(rounded, np.inf))
