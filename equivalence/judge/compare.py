"""Compares the outputs of one run of a pair: words, distances, bounds, undefined lanes.

Takes a PairRun; gives Comparison per output.  Says what is so on these inputs, never what follows from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from equivalence.evaluator import Lanes
from equivalence.evaluator.frame import Outcome
from equivalence.interpretations.depends import OUT_OF_BOUNDS, UNDEFINED
from equivalence.interpretations.hashed import LITERAL
from equivalence.judge import overflowed
from equivalence.judge.planes import plane, value
from equivalence.numerics.formats import format_of, same_bits, ulp_distance
from lowering.ir.types import DType

Array = np.ndarray
_BLOCK = 1 << 18


#: Formats whose subnormals a GPU's approximate instructions flush; f16 and fp8 keep theirs (PTX ISA, .ftz).
FLUSHED = frozenset({"f32", "bf16"})


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


def words_equal(name: str, a: Lanes, b: Lanes) -> bool:
    """Whether all fingerprints agree; integers that are concrete everywhere are their own fingerprint."""
    if a.planes is None and b.planes is None:
        return bool((value(a) == value(b)).all())
    if a.planes is None or b.planes is None:
        return False
    if not a.data.size:
        return True
    x, y, mask = plane(a, name), plane(b, name), ~LITERAL
    return all(((x[s] & mask) == (y[s] & mask)).all() for s in blocks(x.shape))


def compare(a: Lanes, b: Lanes, names: tuple[str, ...], in_scope: bool = True) -> Comparison:
    """Everything about one output; dtypes and shapes are equal (checked before).

    ``in_scope``: whether the inputs are such that an overflow on one side alone is its fault (SEMANTICS 6).
    """
    x, y = value(a), value(b)
    bound_a, bound_b = overflowed.bounds(a, b) if in_scope else (plane(a, "bound"), plane(b, "bound"))
    excess, one_sided = Sparse(x.shape, 0.0), Sparse(x.shape, False)
    largest, doubtful = [0.0, 0.0, 0.0], overflowed.excused(a, b)
    for s in blocks(x.shape):
        over, lone, found = _distances(x[s], y[s], bound_a[s] + bound_b[s], a.dtype)
        excess.put(s, over)
        one_sided.put(s, lone if doubtful is None else lone & ~doubtful[s])
        largest = [max(pair) for pair in zip(largest, found)]
    return Comparison(
        x,
        y,
        excess.array,
        poisoned(a),
        poisoned(b),
        {name: words_equal(name, a, b) for name in names},
        max_ulp=largest[0],
        max_abs=largest[1],
        max_rel=largest[2],
        bound_a=bound_a,
        bound_b=bound_b,
        one_sided=one_sided.array,
    )


def poisoned(lanes: Lanes) -> Array:
    """Lanes that an undefined value may have reached; one element seen everywhere when it is the same everywhere."""
    poison = (lanes.planes or {}).get("poison", np.zeros((1,) * (len(lanes.shape) + 1), np.uint8))
    mask = (poison.astype(np.uint8, copy=False) & (UNDEFINED | OUT_OF_BOUNDS)) != 0
    return np.broadcast_to(mask, (1, *lanes.shape))[0]


class Sparse:
    """An array that is ``fill`` almost everywhere: one element until another value is put."""

    def __init__(self, shape: tuple[int, ...], fill: float | bool) -> None:
        self.fill, self.array = fill, np.broadcast_to(np.asarray(fill), shape)

    def put(self, s: tuple[Any, ...], part: Array) -> None:
        if not part.any():  # of a fill that is zero
            return
        if not self.array.flags.writeable:
            self.array = np.zeros(self.array.shape, self.array.dtype)
        self.array[s] = part


def blocks(shape: tuple[int, ...]) -> list[tuple[Any, ...]]:
    """Parts of an array along its first axis, small enough for temporaries to stay in the cache."""
    if not shape or not all(shape):
        return [(...,)]
    rows = max(1, _BLOCK * shape[0] // math.prod(shape))
    return [(slice(lo, lo + rows),) for lo in range(0, shape[0], rows)]


def _distances(x: Array, y: Array, bound: Array, dt: DType) -> tuple[Array, Array, tuple[float, float, float]]:
    """(excess, one-sided lanes, (largest distance in ulp, absolute, relative))."""
    wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(all="ignore"):
        distance = np.abs(wide_x - wide_y) if dt.is_float else (x != y) * np.maximum(np.abs(wide_x - wide_y), 1)
        both = np.isfinite(wide_x) & np.isfinite(wide_y)
        excess = np.where(both, distance - bound, 0.0)
        excess = np.where(np.isfinite(excess), np.maximum(excess, 0.0), 0.0)
        if dt.name in FLUSHED:  # two subnormals are no witness: whether they are flushed is the target's choice
            largest, normal = np.maximum(np.abs(wide_x), np.abs(wide_y)), format_of(dt.name).smallest_normal
            excess = np.where(largest < normal, 0.0, excess)
        relative = np.where(both & (distance > 0), distance / np.maximum(np.abs(wide_x), np.abs(wide_y)), 0.0)
        one_sided = np.isfinite(wide_x) != np.isfinite(wide_y)
    absolute = float(np.max(np.where(both, distance, 0.0), initial=0.0))
    return excess, one_sided, (_ulps(x, y, dt), absolute, float(np.max(relative, initial=0.0)))


def same_kind(x: Array, y: Array) -> Array:
    """Both finite, or the same special value."""
    with np.errstate(all="ignore"):
        return (np.isfinite(x) & np.isfinite(y)) | (np.isnan(x) & np.isnan(y)) | (x == y)


def _ulps(x: Array, y: Array, dt: DType) -> float:
    if not x.size:
        return 0.0
    if not dt.is_float:
        return float((x != y).any())
    distance = ulp_distance(np.ascontiguousarray(x), np.ascontiguousarray(y), dt.name)
    same = same_bits(np.ascontiguousarray(x), np.ascontiguousarray(y), dt.name)
    finite = np.isfinite(x.astype(np.float64)) & np.isfinite(y.astype(np.float64))
    return float(np.max(np.where(finite & ~same, distance, 0), initial=0))


def paths_equal(a: Outcome, b: Outcome, name: str) -> bool:
    """Whether data-dependent control went the same way for the same reasons."""
    return a.path.get(name, 0) == b.path.get(name, 0)
