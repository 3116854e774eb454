"""min, max, clamp, sign operations and comparisons of floats: exact operations with choices about NaN and zeros.

Takes and gives storage arrays. Must not round.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ._kernels import extreme
from ._llvm import flat_map
from .formats import Array, format_of, from_ordered, isnan, ordered, storage_dtype
from .rounding import cast_float, widen

NanFlavour = Literal["number", "propagate"]


def _narrow(wide: Array, dtype: str) -> Array:
    """Back from ``widen``, exactly."""
    return cast_float(wide, "f64" if dtype == "f64" else "f32", dtype)


def _extreme(a: Array, b: Array, dtype: str, nan: NanFlavour, signed_zero: bool, largest: bool) -> Array:
    x, y = widen(a, dtype), widen(b, dtype)
    return _narrow(flat_map(extreme, x.dtype, (x, y), largest, nan == "number", signed_zero), dtype)


def minimum(a: Array, b: Array, dtype: str, nan: NanFlavour = "propagate", signed_zero: bool = True) -> Array:
    """The smaller of a and b. ``number`` drops one NaN (IEEE 754-2019 §9.6 minimumNumber, C fmin), ``propagate`` keeps.

    ``signed_zero``: -0 is smaller than +0 (2019 minimum, PTX min); without it equal operands give the first one.
    """
    return _extreme(a, b, dtype, nan, signed_zero, largest=False)


def maximum(a: Array, b: Array, dtype: str, nan: NanFlavour = "propagate", signed_zero: bool = True) -> Array:
    """The larger of a and b; options as for ``minimum``."""
    return _extreme(a, b, dtype, nan, signed_zero, largest=True)


def clamp(x: Array, low: Array, high: Array, dtype: str, nan: NanFlavour = "propagate") -> Array:
    """min(max(x, low), high): high wins when low > high (stablehlo.clamp, torch.clamp, tt.clampf).

    ``propagate``: NaN in any of the three is NaN; ``number``: NaN in x gives low, and a NaN bound is no bound.
    """
    return minimum(maximum(x, low, dtype, nan), high, dtype, nan)


def neg(x: Array, dtype: str) -> Array:
    """Sign flipped (IEEE 754-2019 §5.5.1), NaN and zeros too; fnuz formats have one zero."""
    return _narrow(np.negative(widen(x, dtype)), dtype)


def absolute(x: Array, dtype: str) -> Array:
    """Sign cleared."""
    return _narrow(np.abs(widen(x, dtype)), dtype)


def copysign(x: Array, sign: Array, dtype: str) -> Array:
    """Magnitude of x with the sign of ``sign`` (a NaN's sign counts; fnuz NaN is taken as positive)."""
    signs = widen(sign, dtype)
    signs = np.where(isnan(signs), np.abs(signs), signs) if not format_of(dtype).has_negative_zero else signs
    return _narrow(np.copysign(widen(x, dtype), signs), dtype)


def nextafter(x: Array, toward: Array, dtype: str) -> Array:
    """The neighbour of x on the way to ``toward``; ``toward`` itself where they are equal (C nextafter)."""
    storage = storage_dtype(dtype)
    a, b = np.broadcast_arrays(np.asarray(x, dtype=storage), np.asarray(toward, dtype=storage))
    here, there = ordered(a, dtype).reshape(a.shape), ordered(b, dtype).reshape(a.shape)
    direction = (there > here).astype(np.int64) - (there < here)
    step = from_ordered(here + direction, dtype)
    step = copysign(step, a, dtype)  # a step onto zero keeps the sign it came with; every other has it already
    step = np.where(here == 0, from_ordered(direction, dtype), step)
    return np.where(isnan(a), a, np.where(isnan(b) | (here == there), b, step)).astype(storage)
