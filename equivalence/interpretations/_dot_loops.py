"""Compiled loops that add a dot's products one after the other, for summation.py.

Takes matrices of f32 or f64; gives sums in that dtype.  Must not know attributes or orders by name.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from equivalence.numerics._llvm import fma as _fma

Array = npt.NDArray[Any]
_STRIP = 256  # columns at once, so that what is read of them stays near


@numba.njit(nogil=True, cache=True)
def in_order(out: Array, rows: Array, columns: Array, places: Array, chunk: int, fused: bool, lo: int, hi: int) -> None:
    """Rows lo to hi of ``out`` = rows [m, k] @ columns [k, n], k in the order of ``places``.

    ``chunk`` products are added one after the other, then such partial sums.  Each product is rounded, or with
    ``fused`` only its sum with what is there; the first always is.
    """
    part = np.empty(_STRIP, out.dtype)
    for left in range(0, out.shape[1], _STRIP):
        width = min(_STRIP, out.shape[1] - left)
        for i in range(lo, hi):
            for start in range(0, places.size, chunk):
                for at in range(start, min(start + chunk, places.size)):
                    x = rows[i, places[at]]
                    column = columns[places[at]]
                    if at == start:
                        for j in range(width):
                            part[j] = x * column[left + j]
                    elif fused:
                        for j in range(width):
                            part[j] = _fma(x, column[left + j], part[j])
                    else:
                        for j in range(width):
                            part[j] += x * column[left + j]
                if start == 0:
                    for j in range(width):
                        out[i, left + j] = part[j]
                else:
                    for j in range(width):
                        out[i, left + j] += part[j]
