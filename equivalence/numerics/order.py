"""min, max, clamp, sign operations and comparisons of floats: exact operations with choices about NaN and zeros.

Takes and gives storage arrays. Must not round.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from .formats import Array, format_of, isnan
from .rounding import cast_float

NanFlavour = Literal["number", "propagate"]


def _wide(x: Array, dtype: str) -> Array:
    return np.asarray(x).astype(np.float64 if dtype == "f64" else np.float32, copy=False)


def _less(a: Array, b: Array, signed_zero: bool) -> npt.NDArray[np.bool_]:
    """a before b; with ``signed_zero`` -0 is before +0, else the zeros tie."""
    less = np.asarray(a < b)
    return less | ((a == b) & np.signbit(a) & ~np.signbit(b)) if signed_zero else less


def _extreme(a: Array, b: Array, dtype: str, nan: NanFlavour, signed_zero: bool, largest: bool) -> Array:
    x, y = _wide(a, dtype), _wide(b, dtype)
    second = _less(x, y, signed_zero) if largest else _less(y, x, signed_zero)
    with np.errstate(all="ignore"):
        nan_x, nan_y = np.isnan(x), np.isnan(y)
        take_y = (second & ~nan_x) | ((nan_x & ~nan_y) if nan == "number" else (nan_y & ~nan_x))
    return np.where(take_y, b, a).astype(format_of(dtype).storage, copy=False)


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
    return cast_float(np.negative(_wide(x, dtype)), "f64" if dtype == "f64" else "f32", dtype)


def absolute(x: Array, dtype: str) -> Array:
    """Sign cleared."""
    return cast_float(np.abs(_wide(x, dtype)), "f64" if dtype == "f64" else "f32", dtype)


def copysign(x: Array, sign: Array, dtype: str) -> Array:
    """Magnitude of x with the sign of ``sign`` (a NaN's sign counts; fnuz NaN is taken as positive)."""
    signs = _wide(sign, dtype)
    signs = np.where(isnan(signs), np.abs(signs), signs) if not format_of(dtype).has_negative_zero else signs
    return cast_float(np.copysign(_wide(x, dtype), signs), "f64" if dtype == "f64" else "f32", dtype)
