"""How far a candidate's output is from the reference: allclose, and what people measure instead of it.

Takes two arrays of one dtype and a mask of the elements that count; gives Distance.  Must not judge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equivalence.numerics.formats import same_bits, ulp_distance
from lowering.ir.types import DType

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Distance:
    """``ulp`` is infinite where one side alone is NaN; ``cosine`` is NaN where a side is zero or not finite."""

    identical: bool
    absolute: float
    ulp: float
    cosine: float
    relative_l2: float

    def worse(self, other: Distance) -> Distance:
        return Distance(
            self.identical and other.identical,
            max(self.absolute, other.absolute),
            max(self.ulp, other.ulp),
            float(np.fmin(self.cosine, other.cosine)),
            max(self.relative_l2, other.relative_l2),
        )


NONE = Distance(True, 0.0, 0.0, 1.0, 0.0)


def outside(candidate: Array, reference: Array, rtol: float, atol: float) -> Array:
    """Elements that fail |candidate - reference| <= atol + rtol |reference|; equal infinities and two NaNs pass."""
    x, y = candidate.astype(np.float64), reference.astype(np.float64)
    with np.errstate(all="ignore"):
        within = np.abs(x - y) <= atol + rtol * np.abs(y)
    finite = np.isfinite(x) & np.isfinite(y)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    return ~np.where(finite, within, same)


def caught_below(candidate: Array, reference: Array, atol: float) -> float:
    """The smallest rtol at which the candidate passes with this atol; 0 where atol alone lets it, infinity where none
    does."""
    x, y = candidate.astype(np.float64), reference.astype(np.float64)
    beyond = outside(candidate, reference, 0.0, atol)
    if not beyond.any():
        return 0.0
    with np.errstate(all="ignore"):
        needed = (np.abs(x - y) - atol) / np.abs(y)
    return float(np.max(np.where(np.isfinite(needed), needed, np.inf)[beyond]))


def distance(candidate: Array, reference: Array, dt: DType, counts: Array) -> Distance:
    """Over the elements that count."""
    x, y = np.ascontiguousarray(candidate[counts]), np.ascontiguousarray(reference[counts])
    if not x.size:
        return NONE
    identical = bool((same_bits(x, y, dt.name) if dt.is_float else x == y).all())
    wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(all="ignore"):
        absolute = np.abs(wide_x - wide_y)
        absolute = np.where((wide_x == wide_y) | (np.isnan(wide_x) & np.isnan(wide_y)), 0.0, absolute)
        largest = float(np.max(np.where(np.isnan(absolute), np.inf, absolute)))
        norm = float(np.linalg.norm(wide_y))
        l2 = float(np.linalg.norm(absolute)) / norm if norm else np.inf if largest else 0.0
        cosine = float(wide_x @ wide_y) / (float(np.linalg.norm(wide_x)) * norm or np.nan)
    return Distance(identical, largest, _ulps(x, y, dt), cosine, np.inf if np.isnan(l2) else l2)


def _ulps(x: Array, y: Array, dt: DType) -> float:
    if not dt.is_float:
        return float(np.max(np.abs(x.astype(np.float64) - y.astype(np.float64))))
    steps = float(ulp_distance(x, y, dt.name).max())
    return np.inf if steps >= 2.0**63 else steps
