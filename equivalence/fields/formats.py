"""Takes real numbers, gives them rounded to nearest even in a named float format, exactly and in one rounding.

Must not know programs or forms. (Conversions of ml_dtypes from f64 round twice, through f32.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class Format:
    """Significand bits (with the hidden one), the exponents of the smallest and largest normal numbers, the maximum."""

    precision: int
    e_min: int
    maximum: Fraction

    def ulp(self, x: Fraction) -> Fraction:
        """Spacing of the format at |x| (of its subnormals below the normal range)."""
        return _two_to(max(floor_log2(x), self.e_min) - self.precision + 1)

    def round(self, x: Fraction) -> Fraction | None:
        """x to nearest even; None where it overflows. Python's round on Fractions is exact and to even."""
        if x == 0:
            return x
        ulp = self.ulp(abs(x))
        out = round(x / ulp) * ulp
        return out if abs(out) <= self.maximum else None

    def is_normal(self, x: Fraction) -> bool:
        """Non-zero and not subnormal."""
        return _two_to(self.e_min) <= abs(x) <= self.maximum


def _two_to(n: int) -> Fraction:
    return Fraction(2) ** n


def floor_log2(x: Fraction) -> int:
    """The exponent of x > 0."""
    guess = x.numerator.bit_length() - x.denominator.bit_length()
    return guess if _two_to(guess) <= x else guess - 1


def _ieee(precision: int, e_max: int) -> Format:
    return Format(precision, 1 - e_max, (2 - _two_to(1 - precision)) * _two_to(e_max))


FORMATS: dict[str, Format] = {
    "f64": _ieee(53, 1023),
    "f32": _ieee(24, 127),
    "f16": _ieee(11, 15),
    "bf16": _ieee(8, 127),
    "f8e5m2": _ieee(3, 15),
    "f8e4m3": Format(4, -6, Fraction(240)),
    "f8e4m3fn": Format(4, -6, Fraction(448)),
}


def rational(x: Any) -> Fraction:
    """A finite mpmath.mpf as the rational that it is."""
    sign, mantissa, exponent, _ = x._mpf_
    return Fraction((-1) ** sign * int(mantissa)) * _two_to(int(exponent))


def finer(a: str, b: str) -> bool:
    """Whether every normal number of format b is one of format a, a not b: f32 is finer than bf16 and than f16."""
    x, y = FORMATS[a], FORMATS[b]
    return a != b and x.precision >= y.precision and x.e_min <= y.e_min and x.maximum >= y.maximum
