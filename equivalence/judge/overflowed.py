"""What `hazards` says of two outputs: where an overflow on one side explains nothing, and where both may give NaN.

Takes the Lanes of one output of either side; gives bounds and masks for compare.  SEMANTICS 6: no operation of the
finite scope turns finite operands into an infinity, so a side that does so alone is judged by the other side's bound.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equivalence.evaluator import Lanes
from equivalence.interpretations.hazards import BELOW, BEYOND, LARGE, PLANE
from equivalence.judge.planes import plane, value

Array = np.ndarray
#: Of the other side's largest value: what a result that overflowed on the way may be off by.
ROOM = 1e-2


def bounds(a: Lanes, b: Lanes) -> tuple[Array, Array]:
    """Both error bounds; a lane that overflowed on this side alone has only ``ROOM`` in place of its own."""
    own, other = plane(a, "bound"), plane(b, "bound")
    if not _has(a, BEYOND) and not _has(b, BEYOND):
        return own, other
    beyond_a, beyond_b = _bit(a, BEYOND), _bit(b, BEYOND)
    return (
        np.where(beyond_a & ~beyond_b, _room(b), own),
        np.where(beyond_b & ~beyond_a, _room(a), other),
    )


def excused(a: Lanes, b: Lanes) -> Array | None:
    """Lanes in which a NaN or an infinity on one side is no difference: both have left the finite scope on the way, or
    both take a root of what rounding may make negative."""
    found = [_bit(a, bit) & _bit(b, bit) for bit in (BELOW, BEYOND) if _has(a, bit) and _has(b, bit)]
    return np.logical_or.reduce(found) if found else None


def below(lanes: Lanes) -> bool:
    """Whether some defined lane may be a NaN for that reason."""
    return _has(lanes, BELOW) and bool((_bit(lanes, BELOW) & (plane(lanes, "poison") == 0)).any())


def everywhere(outputs: Sequence[tuple[str, Lanes, Lanes]]) -> bool:
    """Whether both sides became too large on the way to every output, and A itself gives no number somewhere.

    An infinity that heals is no excuse: a sigmoid of a large number has one on its way and is right.
    """
    floats = [(a, b) for _, a, b in outputs if a.dtype.is_float]
    return bool(floats) and all(_overflows(a) and _has(b, LARGE) for a, b in floats)


def _overflows(lanes: Lanes) -> bool:
    return _has(lanes, LARGE) and bool((_bit(lanes, LARGE) & ~np.isfinite(value(lanes).astype(np.float64))).any())


def _room(clean: Lanes) -> float:
    if not clean.dtype.is_float:
        return 0.0
    sizes = np.abs(value(clean).astype(np.float64))
    return ROOM * float(np.max(np.where(np.isfinite(sizes), sizes, 0.0), initial=0.0))


def _bit(lanes: Lanes, bit: np.uint8) -> Array:
    return (plane(lanes, PLANE).astype(np.uint8) & bit) != 0


def _has(lanes: Lanes, bit: np.uint8) -> bool:
    bits = (lanes.planes or {}).get(PLANE)
    return bits is not None and bool((bits & bit).any())
