"""Float to float: takes arrays in one format, gives the same values rounded once into another.

Also rounding to integral values and flushing of subnormals. Must not know any operation's meaning.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from ._kernels import Target, look_up, round_values
from ._llvm import flat_map
from .formats import Array, Format, codes, format_of

Mode = Literal["rne", "rtz", "rtp", "rtn", "rna"]
MODES: Final[dict[str, int]] = {"rne": 0, "rtz": 1, "rtp": 2, "rtn": 3, "rna": 4}


def target_of(dst: Format, mode: str, saturate: bool = False) -> Target:
    """The parameters of rounding into ``dst`` (below f64)."""
    over, left = dst.max_code if saturate else dst.inf_code, 13 if dst.name == "tf32" else 0
    codes_ = (dst.max_code, over, over, dst.nan_code)
    return (dst.fraction_bits, dst.bias, *codes_, dst.bits - 1, int(dst.has_negative_zero), left, MODES[mode])


def _round(x: Array, dst: Format, mode: str, saturate: bool) -> Array:
    """x (f32 or f64) rounded into ``dst`` by the integer kernel."""
    unsigned = np.dtype(f"u{dst.storage.itemsize}")
    return flat_map(round_values, unsigned, (x,), target_of(dst, mode, saturate)).view(dst.storage)


# Pairs whose library cast rounds exactly once, to nearest even, with our overflow rule, faster than the kernel.
# Not among them: f64 -> bf16 and f64 -> fp8 of ml_dtypes, which pass through f32 and round twice.
_NATIVE: Final = {("f64", "f32"), ("f32", "bf16")}


def _contains(dst: Format, src: Format) -> bool:
    """Whether every value of src is a value of dst, NaN and infinities included."""
    tops = src.max <= dst.max and src.emin - src.p >= dst.emin - dst.p
    return dst.p >= src.p and tops and (dst.has_inf or not src.has_inf) and dst.has_negative_zero and dst.nan != "none"


@cache
def value_table(fmt: Format) -> npt.NDArray[np.float32]:
    """All values of a format of up to 16 bits, by code."""
    unsigned = np.dtype(f"u{fmt.storage.itemsize}")
    with np.errstate(all="ignore"):
        return np.arange(1 << 8 * unsigned.itemsize, dtype=unsigned).view(fmt.storage).astype(np.float32)


def widen(x: Array, dtype: str) -> Array:
    """x without change of value in the arithmetic it is computed in: f64 for f64, f32 for every other format."""
    fmt, array = format_of(dtype), np.asarray(x)
    wide = np.float64 if fmt.name == "f64" else np.float32
    if array.dtype == wide or array.size < 1024 or fmt.name in ("f64", "f32", "tf32", "bf16"):
        with np.errstate(invalid="ignore"):
            return array.astype(wide, copy=False)
    return flat_map(look_up, np.float32, (codes(array, dtype).reshape(array.shape),), value_table(fmt))


def cast_float(x: Array, src: str, dst: str, *, mode: Mode = "rne", saturate: bool = False) -> Array:
    """x rounded once from format ``src`` into ``dst`` (IEEE 754-2019 §4.3, §5.4.2), subnormals included.

    Shape is kept; the result has the storage dtype of ``dst``. Overflow gives infinity, or NaN where the format has no
    infinity, or the largest finite value where it has neither; the inward directed modes give the largest finite
    value. ``saturate`` (PTX .satfinite, OCP OFP8) sends overflow and infinities to the largest finite value. The sign
    of zero is kept where the format has it. NaN payloads are not.
    """
    source, target = format_of(src), format_of(dst)
    with np.errstate(all="ignore"):
        if source == target and not saturate:
            return np.asarray(x).astype(target.storage, copy=False)
        if _contains(target, source) and not saturate:
            exact = widen(x, src) if target.storage == np.float32 else np.asarray(x)
            return exact.astype(target.storage, copy=False)
        if mode == "rne" and not saturate and (source.name, target.name) in _NATIVE:
            return np.asarray(x).astype(target.storage)
        if target.name == "f64":  # only saturation of an infinity is left
            return np.clip(np.asarray(x).astype(np.float64), -target.max, target.max)
        return _round(widen(x, source.name), target, mode, saturate)


def reduce_precision(x: Array, exponent_bits: int, mantissa_bits: int) -> npt.NDArray[np.float32]:
    """f32 values rounded to nearest even to ``mantissa_bits``, then to the exponent range of ``exponent_bits``.

    As stablehlo.reduce_precision: too large becomes infinity, what would be subnormal becomes the zero of its sign.
    """
    m, emax = mantissa_bits, (1 << (exponent_bits - 1)) - 1
    inf = 255 << m
    target = (m, 127, inf - 1, inf, inf, inf | (1 << m >> 1), 8 + m, 1, 23 - m, MODES["rne"])
    narrow = flat_map(round_values, np.uint32, (np.asarray(x, dtype=np.float32),), target).view(np.float32)
    magnitude = np.abs(narrow)
    out = np.where(magnitude < np.float32(2.0 ** (1 - emax)), np.float32(0), magnitude)
    out = np.where(out.astype(np.float64) >= 2.0 ** (emax + 1), np.float32(np.inf), out)
    return np.where(np.isnan(x), x, np.copysign(out, x)).astype(np.float32, copy=False)


def flush_subnormals(x: Array, dtype: str) -> Array:
    """Subnormals replaced by the zero of their sign (PTX .ftz, on inputs and on results); other values unchanged."""
    fmt = format_of(dtype)
    wide = widen(x, dtype)
    tiny = np.abs(wide) < fmt.smallest_normal
    return np.where(tiny, np.copysign(wide.dtype.type(0), wide), wide).astype(fmt.storage)


def _round_away(x: Array) -> Array:
    """Nearest integer, halves away from zero; no x+0.5, which fails just below 0.5 and above 2^p."""
    low = np.trunc(x)
    return np.where(np.abs(x - low) >= 0.5, low + np.copysign(x.dtype.type(1), x), low)


_INTEGRAL: Final[dict[str, Any]] = {
    "rne": np.rint, "rtz": np.trunc, "rtp": np.ceil, "rtn": np.floor, "rna": _round_away,
}  # fmt: skip


def round_integral(x: Array, dtype: str, *, mode: Mode = "rne") -> Array:
    """x rounded to an integral value of the same format (IEEE 754-2019 §5.9): floor is rtn, ceil rtp, trunc rtz.

    Exact in every format whose integral values near 1 exist; the sign of zero is kept.
    """
    fmt = format_of(dtype)
    wide = widen(x, dtype)
    with np.errstate(all="ignore"):
        rounded: npt.NDArray[Any] = np.copysign(_INTEGRAL[mode](wide), wide)
    return cast_float(rounded, "f64" if fmt.name == "f64" else "f32", dtype)
