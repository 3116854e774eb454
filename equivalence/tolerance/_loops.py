"""The compiled loop behind measure(): everything that is asked of a candidate's elements, in one pass.

Takes flat arrays; leaves one row of figures.  Must not know formats or tolerances by name.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: Places in a row: elements that differ in their bits, largest distance, sums of squares (candidate, reference,
#: distance) and of products, the rtol needed beside the first atol.
DIFFERS, ABSOLUTE, SQUARES_X, SQUARES_Y, SQUARES, PRODUCTS, NEEDED, WIDTH = range(8)


@numba.njit(inline="always", cache=True)
def _ordered(code: Any, top: Any) -> Any:
    """Integers in the order of the values: ``top`` is the sign's bit."""
    magnitude = np.int64(code & (top - np.uint64(1)))
    return -magnitude if code & top else magnitude


@numba.njit(nogil=True, cache=True, error_model="numpy")
def measure(
    x: Array, y: Array, codes_x: Array, codes_y: Array, top: Any, among: Array, counts: Array, known: Array,
    pairs: Array, of_counts: Array, atol: float, limits: Array, row: Array, steps: Array, refused: Array, beyond: Array,
) -> None:  # fmt: skip
    """``among``: of the distance; ``pairs[n]``: (rtol, atol), asked of elements that count or are known; ``limits[n]``:
    of known ones.

    ``steps[0]``: the largest number of representable steps; ``refused`` and ``beyond``: elements outside each.
    """
    for i in range(x.size):
        u, v = np.float64(x[i]), np.float64(y[i])
        nan_u, nan_v = u != u, v != v
        both = nan_u and nan_v
        finite = np.isfinite(u) and np.isfinite(v)
        apart = abs(u - v)
        if among[i]:
            code_u, code_v = np.uint64(codes_x[i]), np.uint64(codes_y[i])
            if code_u != code_v and not both:
                row[DIFFERS] += 1.0
                gap = np.uint64(0xFFFFFFFFFFFFFFFF)
                if not (nan_u or nan_v):
                    low, high = _ordered(code_u, top), _ordered(code_v, top)
                    low, high = min(low, high), max(low, high)
                    gap = np.uint64(high) - np.uint64(low)
                steps[0] = max(steps[0], gap)
            far = 0.0 if (u == v or both) else np.inf if (nan_u or nan_v) else apart
            row[ABSOLUTE] = max(row[ABSOLUTE], far)
            row[SQUARES_X] += u * u
            row[SQUARES_Y] += v * v
            row[SQUARES] += far * far
            row[PRODUCTS] += u * v
            if not (apart <= atol if finite else u == v or both):
                need = (apart - atol) / abs(v)
                row[NEEDED] = max(row[NEEDED], need if np.isfinite(need) else np.inf)
        for n in range(pairs.shape[0]):
            if counts[i] if of_counts[n] else known[i]:
                within = apart <= pairs[n, 1] + pairs[n, 0] * abs(v) if finite else u == v or both
                refused[n] += 0 if within else 1
        if known[i]:
            for n in range(limits.shape[0]):
                beyond[n] += 0 if apart <= limits[n, i] else 1
