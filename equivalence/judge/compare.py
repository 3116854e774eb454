"""Compares the outputs of one run of a pair: words, distances, bounds, undefined lanes.

Takes a PairRun; gives Comparison per output.  Says what is so on these inputs, never what follows from it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equivalence.evaluator import Lanes
from equivalence.evaluator.machine import Outcome
from equivalence.interpretations.depends import OUT_OF_BOUNDS, UNDEFINED
from equivalence.interpretations.hashed import LITERAL
from equivalence.numerics.formats import same_bits, ulp_distance

Array = np.ndarray


@dataclass(slots=True)
class Comparison:
    """One output on one set of inputs; arrays have the output's shape.  ``excess``: |A-B| beyond both bounds."""

    a: Array
    b: Array
    excess: Array
    undefined_a: Array
    undefined_b: Array
    equal_words: dict[str, bool]
    max_ulp: float
    max_abs: float
    max_rel: float
    bound_a: Array
    bound_b: Array
    one_sided: Array  # finite on exactly one side (SEMANTICS 6); infinity against NaN is a special value

    @property
    def identical(self) -> bool:
        return self.max_ulp == 0 and not self.one_sided.any()


def plane(lanes: Lanes, name: str, default: float = 0.0) -> Array:
    planes = lanes.planes or {}
    if name not in planes:
        return np.full(lanes.shape, default)
    return np.broadcast_to(planes[name], (planes[name].shape[0], *lanes.shape))[0]


def value(lanes: Lanes) -> Array:
    return lanes.full(lanes.data)[0]


def words_equal(name: str, a: Lanes, b: Lanes) -> bool:
    """Whether all fingerprints agree; integers that are concrete everywhere are their own fingerprint."""
    if a.planes is None and b.planes is None:
        return bool((value(a) == value(b)).all())
    if a.planes is None or b.planes is None:
        return False
    mask = ~LITERAL
    return bool(((plane(a, name) & mask) == (plane(b, name) & mask)).all()) if a.data.size else True


def compare(a: Lanes, b: Lanes, names: tuple[str, ...]) -> Comparison:
    """Everything about one output; dtypes and shapes are equal (checked before)."""
    x, y = value(a), value(b)
    wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
    bound_a, bound_b = plane(a, "bound"), plane(b, "bound")
    with np.errstate(all="ignore"):
        distance = np.abs(wide_x - wide_y) if a.dtype.is_float else (x != y) * np.maximum(np.abs(wide_x - wide_y), 1)
        both = np.isfinite(wide_x) & np.isfinite(wide_y)
        excess = np.where(both, distance - (bound_a + bound_b), 0.0)
        excess = np.where(np.isfinite(excess), np.maximum(excess, 0.0), 0.0)
        relative = np.where(both & (distance > 0), distance / np.maximum(np.abs(wide_x), np.abs(wide_y)), 0.0)
        one_sided = np.isfinite(wide_x) != np.isfinite(wide_y)
    poison = UNDEFINED | OUT_OF_BOUNDS
    return Comparison(
        x,
        y,
        excess,
        (plane(a, "poison").astype(np.uint8) & poison) != 0,
        (plane(b, "poison").astype(np.uint8) & poison) != 0,
        {name: words_equal(name, a, b) for name in names},
        _ulps(x, y, a),
        float(np.max(np.where(both, distance, 0.0), initial=0.0)),
        float(np.max(relative, initial=0.0)),
        bound_a,
        bound_b,
        one_sided,
    )


def same_kind(x: Array, y: Array) -> Array:
    """Both finite, or the same special value."""
    with np.errstate(all="ignore"):
        return (np.isfinite(x) & np.isfinite(y)) | (np.isnan(x) & np.isnan(y)) | (x == y)


def _ulps(x: Array, y: Array, lanes: Lanes) -> float:
    if not x.size:
        return 0.0
    if not lanes.dtype.is_float:
        return float((x != y).any())
    distance = ulp_distance(np.ascontiguousarray(x), np.ascontiguousarray(y), lanes.dtype.name)
    same = same_bits(np.ascontiguousarray(x), np.ascontiguousarray(y), lanes.dtype.name)
    finite = np.isfinite(x.astype(np.float64)) & np.isfinite(y.astype(np.float64))
    return float(np.max(np.where(finite & ~same, distance, 0), initial=0))


def paths_equal(a: Outcome, b: Outcome, name: str) -> bool:
    """Whether data-dependent control went the same way for the same reasons."""
    return a.path.get(name, 0) == b.path.get(name, 0)
