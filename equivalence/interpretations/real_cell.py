"""The value of `real`: a Cell of four lazily broadcast planes, and the meaning of the bits of its mark.

Gives Cell, its bits, choosing between cells and numpy over slices in threads.  Must not know fields or operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from equivalence.evaluator.lanes import Lanes, Planes
from equivalence.fields import threads

Array = np.ndarray

#: v and w mean something; a lane with neither is undefined, +inf, NaN or lost.
V, W = np.uint32(1), np.uint32(2)
BOTH = V | W
#: With a valid channel: a finite literal so low that exp makes it 0 (a sentinel).  With none: minus infinity.
NEGINF = np.uint32(4)
#: A root was taken of a non-residue on the way to w (to v): that channel proves nothing about this lane.
ROOT_W, ROOT_V = np.uint32(8), np.uint32(32)
ROOTS = ROOT_V | ROOT_W
#: Independent of every input.
LITERAL = np.uint32(16)
#: Came from a maximum (SEMANTICS §5: both operands of a - m are completed when m did).
MAX = np.uint32(64)
#: Exactly the integer that the sample holds.
CONCRETE = np.uint32(128)
#: Some integer, whatever the sample says (rounded values, integers): rounding leaves it alone.
WHOLE = np.uint32(256)
#: log took this w from -v (real_parity); a factor has made the sign of its exponential unknown.
PARITY, UNSURE = np.uint32(512), np.uint32(1024)
SIGNS = PARITY | UNSURE
#: An integer computed from the values of integer inputs: no mask and no count of one.
DATA = np.uint32(2048)
#: A literal factor is on the way whose real root is not the root that the channel takes (real_twist).
TWIST_V, TWIST_W = np.uint32(4096), np.uint32(8192)
TWISTS = TWIST_V | TWIST_W
#: For every input the real value is not negative; is not zero (real_signs).
NONNEG, NONZERO = np.uint32(1 << 16), np.uint32(1 << 17)
#: A rational function of inputs, whatever they are: no decision is on the way.
PURE = np.uint32(1 << 18)
#: Some float input is on the way (where that is lost, a decision counts as one by integers alone).
FLOATS = np.uint32(1 << 14)
#: Where choices are replaced: stands for a maximum or a minimum of several, whose multiset can be found again.
MANY = np.uint32(32768)
NOTHING = np.uint32(0)

_THREADED_FROM = 1 << 17


class Cell(NamedTuple):
    """All planes have one rank (batch axis first); each extent is the logical one or 1."""

    sample: Array
    v: Array
    w: Array
    mark: Array

    def has(self, bits: np.uint32) -> bool:
        """Whether some lane has one of ``bits``."""
        return bool((self.mark & bits).any())

    def is_all(self, bits: np.uint32) -> bool:
        """Whether every lane has all of ``bits``."""
        return bool(((self.mark & bits) == bits).all())

    @property
    def alive(self) -> Array:
        """Lanes with a valid channel."""
        return (self.mark & BOTH) != 0

    @property
    def minus_infinity(self) -> Array:
        return (self.mark & (NEGINF | BOTH)) == NEGINF

    @property
    def sentinel(self) -> Array:
        return ((self.mark & NEGINF) != 0) & self.alive

    @property
    def zero_literal(self) -> Array | None:
        """Lanes that are the literal 0, or None."""
        literal = (self.mark & LITERAL) != 0
        if not literal.any():
            return None
        zero = literal & (self.sample == 0)
        return zero if zero.any() else None

    def marked(self, mark: Array) -> Cell:
        return Cell(self.sample, self.v, self.w, mark)

    def sampled(self, sample: Array) -> Cell:
        """The same channels; the sample computed in a more accurate way."""
        return Cell(sample, self.v, self.w, self.mark)

    def map(self, fn: Callable[[Array], Array]) -> Cell:
        return Cell(*(fn(plane) for plane in self))

    def planes(self) -> Planes:
        return {"sample": self.sample, "v": self.v, "w": self.w, "mark": self.mark}


def cell(lanes: Lanes) -> Cell:
    planes = lanes.planes
    assert planes is not None
    return Cell(planes["sample"], planes["v"], planes["w"], planes["mark"])


def ones(rank: int) -> tuple[int, ...]:
    """The extents of a uniform array of that rank (batch axis included)."""
    return (1,) * rank


def nothing(rank: int) -> Array:
    """What an invalid channel holds."""
    return np.zeros(ones(rank), np.uint32)


def flag(mask: Array, bits: np.uint32) -> Array:
    """``bits`` where ``mask``."""
    return np.where(mask, bits, NOTHING)


def where(mask: Array, a: Array, b: Array) -> Array:
    """np.where that keeps uniform planes small."""
    if a is b or (a.size == b.size == 1 and a.item() == b.item()):
        return a
    if mask.size == 1:
        return a if mask.item() else b
    return np.where(mask, a, b)


def pick(mask: Array, a: Cell, b: Cell) -> Cell:
    """Lanes of a where ``mask``, of b elsewhere."""
    return Cell(*(where(mask, x, y) for x, y in zip(a, b, strict=True)))


def pointwise(fn: Callable[..., Any], *arrays: Array, dtype: Any = np.float64) -> Array:
    """``fn(*arrays)`` with broadcasting; large results in slices along the longest axis, one per thread."""
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    if int(np.prod(shape)) < _THREADED_FROM:
        with np.errstate(all="ignore"):
            return np.asarray(fn(*arrays), dtype)
    out, axis = np.empty(shape, dtype), int(np.argmax(shape))

    def work(part: slice) -> None:
        at = (*([slice(None)] * axis), part)
        with np.errstate(all="ignore"):
            out[at] = fn(*(a if a.shape[axis] == 1 else a[at] for a in arrays))

    threads.run_slices(shape[axis], work, 4 * threads.idle())
    return out
