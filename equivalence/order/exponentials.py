"""The exponentials that a softmax adds up, read from its results: a division by a power of two changes no digit.

Takes a callable that gives softmax of n values; gives what it takes for exp of a row less its largest value, in its own
digits.  Must not know any framework.

Part of a row's values stand at their own places; the others are 0 (exponential 1), minus infinity (none), and two that
are set so that the denominator becomes a power of two.  That it is one shows at a 0, whose result is its inverse: the
inverses of the numbers beside it are others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from equivalence.numerics.formats import format_of, storage_dtype

Softmax = Callable[[np.ndarray], np.ndarray]
LEAST = 6  # values of a row: one to be read, and what brings the denominator to a power of two
FORMATS = ("f32", "f64")  # others are too coarse to set a denominator by one value
SPLITS = tuple(0.5 + 0.01 * n for n in range(16))  # how the two share: some sums skip the power of two
STEPS = 10  # of the second of them, from where it should be


@dataclass(slots=True)
class Reader:
    """``run`` adds in ``dtype``, the format of its ``n`` values and results."""

    run: Softmax
    n: int
    dtype: str

    def __call__(self, row: np.ndarray) -> np.ndarray:
        """Exponentials of ``row`` less its largest value, as f64; NaN where they cannot be read."""
        kind = storage_dtype(self.dtype)
        less = (row.astype(kind) - row.max()).astype(kind)
        found = np.full(self.n, np.nan)
        size = max(1, (self.n - 4) // 2)
        for start in range(0, self.n, size):
            places = np.arange(start, min(start + size, self.n))
            found[places] = self._some(less, places)
        return found

    def _some(self, less: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Those at ``places``."""
        others = np.setdiff1d(np.arange(self.n), places)
        rest = float(np.exp(less[places].astype(np.float64)).sum())
        power = 2.0 ** math.ceil(math.log2(rest + 1.75))
        ones = math.floor(power - rest - 0.75)
        both = power - rest - ones  # from 3/4 to 7/4
        x = np.full(self.n, -np.inf, less.dtype)
        x[places], x[others[:ones]] = less[places], 0
        first, second = others[ones], others[ones + 1]
        for split in SPLITS:
            x[first] = math.log(both * split)
            got = self._at_power(x, int(others[0]), int(second), both * (1 - split), power)
            if got is not None:
                return got[places] * power
        return np.full(places.size, np.nan)

    def _at_power(self, x: np.ndarray, one: int, place: int, size: float, power: float) -> np.ndarray | None:
        """The results once those at ``one`` are the inverse of ``power``, with about ``size`` added at ``place``."""
        least = power * 2.0 ** -(format_of(self.dtype).p + 1)  # half the spacing of what lies just below
        low, high = 0.0, 1.0  # sizes with which the denominator is smaller, and larger
        for _ in range(STEPS):
            if not low < size < high:
                size = (low + high) / 2
            x[place] = math.log(size)
            got = self.run(x)
            if got[one] == 1 / power:
                return got
            if not got[one] > 0:
                return None
            off = power - 1 / float(got[one])
            low, high = (size, high) if off > 0 else (low, size)
            size += math.copysign(max(abs(off), least), off)
        return None


def readable(n: int, dtype: str, adds: str, result: str) -> bool:
    """Whether exponentials can be read at all."""
    return n >= LEAST and dtype == adds == result and dtype in FORMATS
