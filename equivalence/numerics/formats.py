"""The number formats: takes a short dtype name, gives its parameters, ulps and the order of its codes.

Nothing here rounds; see ``rounding``. Must not know about programs, IRs or devices.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
NanKind = Literal["ieee", "fn", "fnuz", "none"]


@dataclass(frozen=True)
class Format:
    """A binary floating-point format (IEEE 754-2019 §3.3: radix 2, precision p, exponents emin..emax).

    ``bits`` counts sign, exponent and fraction. ``nan`` says where NaN lives: ``ieee`` all-ones exponent with
    infinities; ``fn`` only the all-ones code (OCP OFP8 E4M3); ``fnuz`` the code of minus zero; ``none`` nowhere.
    """

    name: str
    storage: np.dtype[Any]
    p: int
    emin: int
    bits: int
    nan: NanKind = "ieee"

    @property
    def has_inf(self) -> bool:
        return self.nan == "ieee"

    @property
    def has_negative_zero(self) -> bool:
        return self.nan != "fnuz"

    @property
    def fraction_bits(self) -> int:
        return self.p - 1

    @property
    def bias(self) -> int:
        return 1 - self.emin

    @cached_property
    def max_code(self) -> int:
        """Magnitude code (sign bit off) of the largest finite value."""
        top = (1 << (self.bits - 1)) - 1
        below = {"ieee": 1 << self.fraction_bits, "fn": 1, "fnuz": 0, "none": 0}[self.nan]
        return top - below

    @property
    def inf_code(self) -> int:
        """Code that an infinity or an overflow becomes: infinity, else NaN, else the largest finite value."""
        return {"ieee": self.max_code + 1, "fn": self.nan_code, "fnuz": self.nan_code, "none": self.max_code}[self.nan]

    @property
    def nan_code(self) -> int:
        """Code of the quiet NaN; a format without NaN gives +max (PTX cvt .satfinite; OCP MX leaves it open)."""
        top = (1 << (self.bits - 1)) - 1
        quiet = self.max_code + 1 + (1 << self.fraction_bits >> 1)
        return {"ieee": quiet, "fn": top, "fnuz": top + 1, "none": top}[self.nan]

    @property
    def emax(self) -> int:
        return (self.max_code >> self.fraction_bits) - self.bias

    @property
    def max(self) -> float:
        """Largest finite value."""
        fraction = self.max_code & ((1 << self.fraction_bits) - 1)
        return float(2.0 ** (self.emax - self.fraction_bits) * ((1 << self.fraction_bits) + fraction))

    @property
    def smallest_normal(self) -> float:
        return 2.0**self.emin

    @property
    def smallest_subnormal(self) -> float:
        return float(np.ldexp(1.0, self.emin - self.fraction_bits))

    @property
    def u(self) -> float:
        """Unit roundoff of round-to-nearest, 2^-p."""
        return 2.0**-self.p


FORMATS: Final[dict[str, Format]] = {
    f.name: f
    for f in (
        Format("f64", np.dtype(np.float64), 53, -1022, 64),
        Format("f32", np.dtype(np.float32), 24, -126, 32),
        Format("f16", np.dtype(np.float16), 11, -14, 16),
        Format("bf16", np.dtype(ml_dtypes.bfloat16), 8, -126, 16),
        # TF32 is a rounding, kept in an f32 whose low 13 bits are zero (PTX ISA, "Alternate floating-point formats").
        Format("tf32", np.dtype(np.float32), 11, -126, 19),
        Format("f8e5m2", np.dtype(ml_dtypes.float8_e5m2), 3, -14, 8),
        Format("f8e4m3", np.dtype(ml_dtypes.float8_e4m3), 4, -6, 8),
        Format("f8e3m4", np.dtype(ml_dtypes.float8_e3m4), 5, -2, 8),
        Format("f8e4m3fn", np.dtype(ml_dtypes.float8_e4m3fn), 4, -6, 8, "fn"),
        Format("f8e5m2fnuz", np.dtype(ml_dtypes.float8_e5m2fnuz), 3, -15, 8, "fnuz"),
        Format("f8e4m3fnuz", np.dtype(ml_dtypes.float8_e4m3fnuz), 4, -7, 8, "fnuz"),
        Format("f8e4m3b11fnuz", np.dtype(ml_dtypes.float8_e4m3b11fnuz), 4, -10, 8, "fnuz"),
        Format("f6e2m3fn", np.dtype(ml_dtypes.float6_e2m3fn), 4, 0, 6, "none"),
        Format("f6e3m2fn", np.dtype(ml_dtypes.float6_e3m2fn), 3, -2, 6, "none"),
        Format("f4e2m1fn", np.dtype(ml_dtypes.float4_e2m1fn), 2, 0, 4, "none"),
    )
}
_ALIASES: Final = {"f4e2m1": "f4e2m1fn", "f6e2m3": "f6e2m3fn", "f6e3m2": "f6e3m2fn"}


@dataclass(frozen=True)
class IntFormat:
    """A two's-complement or unsigned integer of ``bits`` bits; ``i1`` is a bool in storage."""

    name: str
    storage: np.dtype[Any]
    bits: int
    signed: bool

    @property
    def min(self) -> int:
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def max(self) -> int:
        return (1 << (self.bits - 1)) - 1 if self.signed else (1 << self.bits) - 1


INTS: Final[dict[str, IntFormat]] = {
    "i1": IntFormat("i1", np.dtype(np.bool_), 1, False),
    **{f"i{n}": IntFormat(f"i{n}", np.dtype(f"int{n}"), n, True) for n in (8, 16, 32, 64)},
    **{f"u{n}": IntFormat(f"u{n}", np.dtype(f"uint{n}"), n, False) for n in (8, 16, 32, 64)},
}


def format_of(dtype: str) -> Format:
    """Format record of a float dtype name; KeyError names what is known."""
    found = FORMATS.get(_ALIASES.get(dtype, dtype))
    if found is None:
        raise KeyError(f"no float format {dtype!r}; known: {', '.join(FORMATS)}")
    return found


def int_format_of(dtype: str) -> IntFormat:
    """Record of an integer dtype name; KeyError names what is known."""
    if dtype not in INTS:
        raise KeyError(f"no integer format {dtype!r}; known: {', '.join(INTS)}")
    return INTS[dtype]


def is_float(dtype: str) -> bool:
    """Whether the name is a float format (integers and i1 are not)."""
    return _ALIASES.get(dtype, dtype) in FORMATS


def storage_dtype(dtype: str) -> np.dtype[Any]:
    """numpy dtype that holds values of ``dtype``."""
    return format_of(dtype).storage if is_float(dtype) else int_format_of(dtype).storage


def ulp(x: Array, dtype: str) -> npt.NDArray[np.float64]:
    """Unit in the last place of each x, as f64: 2^(max(e, emin) - p + 1) for |x| in [2^e, 2^(e+1)).

    This is Muller's "ulp of Harrison/Goldberg" taken in the format ``dtype``; x may be of any float dtype (an f64
    reference value, say). ulp(0) is the smallest subnormal; above the largest finite value the top binade's ulp;
    infinities and NaN give NaN.
    """
    fmt = format_of(dtype)
    wide = np.asarray(x).astype(np.float64)
    if fmt.emin - fmt.fraction_bits >= -1022:
        return _ulp_by_bits(wide, fmt)
    finite = np.isfinite(wide)
    _, e = np.frexp(np.where(finite, wide, 1.0))
    e = np.where(wide == 0, fmt.emin, np.clip(e - 1, fmt.emin, fmt.emax))
    return np.where(finite, np.ldexp(1.0, e - fmt.fraction_bits), np.nan)


def _ulp_by_bits(wide: npt.NDArray[np.float64], fmt: Format) -> npt.NDArray[np.float64]:
    """ulp where it is a normal f64: the exponent field of x, clipped and moved, is that of the result."""
    field = (wide.view(np.int64) >> 52) & 0x7FF
    special = field == 0x7FF
    np.clip(field, fmt.emin + 1023, fmt.emax + 1023, out=field)
    field -= fmt.fraction_bits
    result = (field << 52).view(np.float64)
    return np.where(special, np.nan, result) if special.any() else result


def codes(x: Array, dtype: str) -> Array:
    """The bit patterns of x as unsigned integers, low bits first; TF32 drops its 13 zero bits."""
    fmt = format_of(dtype)
    raw = np.ascontiguousarray(x, dtype=fmt.storage).view(f"u{fmt.storage.itemsize}")
    return raw >> 13 if fmt.name == "tf32" else raw


def isnan(x: Array) -> npt.NDArray[np.bool_]:
    """NaN mask of a float array of any storage dtype."""
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return np.asarray(x != x, dtype=np.bool_)


def ordered(x: Array, dtype: str) -> npt.NDArray[np.int64]:
    """Integers in the order of the values, neighbours differing by one; both zeros map to 0; NaN is meaningless."""
    fmt = format_of(dtype)
    code = codes(x, dtype).astype(np.uint64)
    magnitude = (code & np.uint64((1 << (fmt.bits - 1)) - 1)).astype(np.int64)
    negative = (code >> np.uint64(fmt.bits - 1)).astype(np.bool_)
    return np.where(negative, -magnitude, magnitude)


def from_ordered(k: npt.NDArray[np.int64], dtype: str) -> Array:
    """The values whose ``ordered`` integers are k; 0 gives +0. Beyond infinity is not checked."""
    fmt = format_of(dtype)
    code = np.abs(k).astype(np.uint64) | ((k < 0).astype(np.uint64) << np.uint64(fmt.bits - 1))
    if fmt.name == "tf32":
        code = code << np.uint64(13)
    return code.astype(f"u{fmt.storage.itemsize}").view(fmt.storage)


NAN_DISTANCE: Final = np.uint64(2**64 - 1)


def ulp_distance(a: Array, b: Array, dtype: str) -> npt.NDArray[np.uint64]:
    """Number of representable steps from a to b; NaN to NaN is 0, NaN to a number is ``NAN_DISTANCE``.

    +0 and -0 are 0 apart; infinity is one step past the largest finite value.
    """
    low, high = ordered(a, dtype), ordered(b, dtype)
    low, high = np.minimum(low, high), np.maximum(low, high)
    steps = high.astype(np.uint64) - low.astype(np.uint64)
    nan_a, nan_b = isnan(a), isnan(b)
    return np.where(nan_a & nan_b, np.uint64(0), np.where(nan_a | nan_b, NAN_DISTANCE, steps))


def same_bits(a: Array, b: Array, dtype: str) -> npt.NDArray[np.bool_]:
    """Bit-identical, all NaNs being one value; +0 and -0 differ."""
    return (codes(a, dtype) == codes(b, dtype)) | (isnan(a) & isnan(b))
