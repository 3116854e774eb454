"""Takes a float constant of a named dtype, gives the one short exact form that rounds to it, or None.

Description length of 2^j * (m/n)^(1, 1/2 or 1/4) * atom, m and n odd and coprime: TAG bits for the atom and root, plus
log2(m) + log2(n), plus log2(k) for ln k or log2 k; of a decimal m*10^-k: TAG plus log2(m) + log2(k). A power of two
is free, as it moves no significand (it costs a root one bit: its parity): among the 2^23 significands of a binade of
f32 fewer than 2^14 carry a form (a test counts them), so a constant that means nothing is misread with probability
below 2^-9. Proved: what is returned rounds to the constant. Scaled into (1/2, 2), fractions of a family within the
limit have denominators up to 2^11 (f64: 2^23), so two of them are 2^-22 (2^-46) apart and the interval that rounds to
one float is no wider: the simplest fraction of the interval is the family's only candidate. Where no form fits, a
decimal of few digits does: of those with DIGITS digits at most one rounds to a float, and a literal as people write it
(0.999, 1.702, 0.044715) is one, while a float that means nothing is one by chance in 1 of 100 (f32; f64: 10^-4).
Must not know programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import floor, isfinite, log2, log10

from mpmath import mp

from equivalence.fields.formats import FORMATS, Format, rational
from equivalence.fields.forms import PRECISION, Form, exact, fourth_root_of, is_power, root_of

LIMIT = {"f32": 14.0, "f64": 26.0}
"""Description lengths that are recognised; the other formats are too coarse for any."""

ONE = Fraction(1)
ATOMS: tuple[tuple[Form, float, float], ...] = (
    (Form(ONE), 4, 6),
    (Form(ONE, ln2=-1), 5, 6),
    (Form(ONE, ln2=1), 6, 7),
    (Form(ONE, half_pi=2), 6, 8),
    (Form(ONE, half_pi=-2), 6, 8),
    (Form(ONE, half_pi=1), 6, 8),
    (Form(ONE, half_pi=-1), 6, 8),
)
"""(atom, TAG of rational * atom, TAG of root * atom)."""

FOURTH_TAG = 11
"""TAG of the fourth root of a rational: what scales both factors of a product by 1/sqrt(d)^(1/2), as torch does."""
LOG_TAG = 6.0
LARGEST_LOG = 256
DECIMAL_TAG = 4.0
LARGEST_DECIMAL = 38
DIGITS = {"f32": 5, "f64": 12}
"""Significant digits of decimals that are read where no form within LIMIT is."""


def odd_part(n: int) -> int:
    """n > 0 without its factors of two."""
    return n // (n & -n)


def fraction_bits(r: Fraction) -> float:
    """log2(m) + log2(n) of the odd parts of r > 0."""
    return log2(odd_part(r.numerator)) + log2(odd_part(r.denominator))


def simplest(a: int, b: int, c: int, d: int) -> tuple[int, int]:
    """The fraction of least denominator in [a/b, c/d], 0 < a/b <= c/d, by continued fractions in whole numbers."""
    whole = -(-a // b)
    if whole * d <= c:
        return whole, 1
    below = a // b
    n, m = simplest(d, c - below * d, b, a - below * b)
    return below * n + m, n


def _scaled(lo: int, hi: int, unit: int) -> Fraction:
    """The simplest fraction of [lo/unit, hi/unit] after scaling by a power of two into (1/2, 2)."""
    shift = hi.bit_length() - unit.bit_length()
    up, down = max(-shift, 0), unit << max(shift, 0)
    return Fraction(*simplest(lo << up, down, hi << up, down)) * Fraction(2) ** shift


def _families() -> Iterator[tuple[Form, float, int]]:
    """(atom, bits before the fraction, degree of the root that the fraction is under)."""
    for atom, plain, rooted in ATOMS:
        yield atom, plain, 1
        yield atom, rooted, 2
    yield Form(ONE), FOURTH_TAG, 4
    for n in range(3, LARGEST_LOG + 1):
        if not is_power(n):
            yield Form(ONE, log=n), LOG_TAG + log2(n), 1
            yield Form(ONE, ln2=-1, log=n), LOG_TAG + log2(n), 1


_ROOTS = {1: exact, 2: root_of, 4: fourth_root_of}


@lru_cache(maxsize=1)
def _families_by_reciprocal() -> tuple[tuple[Form, float, int, int], ...]:
    """The families with 2^PRECISION / atom as a whole number."""
    unit = Fraction(2) ** PRECISION
    return tuple((atom, bits, degree, round(unit / rational(atom.value()))) for atom, bits, degree in _families())


def _fractions(lo: Fraction, hi: Fraction, limit: float) -> Iterator[tuple[Form, float]]:
    """(form, bits) for the simplest form of every family in [lo, hi], where it costs at most `limit`."""
    unit = lo.denominator * hi.denominator
    low, high = lo.numerator * hi.denominator, hi.numerator * lo.denominator
    for atom, bits, degree, reciprocal in _families_by_reciprocal():
        r = _scaled((low * reciprocal) ** degree, (high * reciprocal) ** degree, (unit << PRECISION) ** degree)
        if bits + fraction_bits(r) <= limit:
            form = _ROOTS[degree](r).times(atom)
            assert form is not None
            yield form, bits + fraction_bits(r)


def _decimals(x: Fraction, limit: float) -> Iterator[Form]:
    """m * 10^-k next to x, m no multiple of 10."""
    for k in range(1, LARGEST_DECIMAL + 1):
        m = round(x * 10**k)
        if m and m % 10 and DECIMAL_TAG + log2(m) + log2(k) <= limit:
            yield exact(Fraction(m, 10**k))


def written(x: Fraction, digits: int) -> Form:
    """The decimal of so many significant digits next to x > 0."""
    scale = digits - 1 - floor(log10(x.numerator) - log10(x.denominator))
    unit = Fraction(10) ** -scale
    return exact(round(x / unit) * unit)


def rounds_to(form: Form, x: Fraction, target: Format) -> bool:
    """Whether x is the form's correctly rounded value (PRECISION bits decide: forms are never that near to a tie)."""
    with mp.workprec(PRECISION):
        return target.round(form.rational if form.is_rational else rational(form.value())) == x


@lru_cache(maxsize=4096)
def recognise(value: float, dtype: str) -> Form | None:
    """The only form within the limit that rounds to `value`, else the decimal of few digits that does; None: none, or
    more than one.  A short dyadic is its own.

    None means: take the exact value of the float. In formats without a limit (bf16, f16, f8) every value is exact.
    """
    if not isfinite(value):
        return None
    x, limit = Fraction(value), LIMIT.get(dtype)
    if limit is None or x == 0 or log2(odd_part(abs(x.numerator))) <= limit:
        return exact(x)
    size, half = abs(x), FORMATS[dtype].ulp(abs(x)) / 2
    found = {f for f, _ in _fractions(size - half, size + half, limit)} | {*_decimals(size, limit)}
    fitting = [form for form in found if rounds_to(form, size, FORMATS[dtype])]
    if not fitting and rounds_to(decimal := written(size, DIGITS[dtype]), size, FORMATS[dtype]):
        fitting = [decimal]
    return fitting[0].times(exact(1 if x > 0 else -1)) if len(fitting) == 1 else None


def description_length(form: Form) -> float:
    """The shortest spelling's bits of a recognisable form (infinity if it has none)."""
    size, near = abs(rational(form.value())), Fraction(1, 2**100)
    spelled = _fractions(size * (1 - near), size * (1 + near), LIMIT["f64"])
    costs = [bits for spelling, bits in spelled if spelling == _absolute(form)]
    return min(costs + [DECIMAL_TAG + log2(m) + log2(k) for k, m in _decimal_spellings(form)], default=float("inf"))


def _absolute(form: Form) -> Form:
    return replace(form, rational=abs(form.rational))


def _decimal_spellings(form: Form) -> Iterator[tuple[int, int]]:
    """(k, m) with form = m * 10^-k, m no multiple of 10."""
    for k in range(1, LARGEST_DECIMAL + 1):
        m = abs(form.rational) * 10**k
        if form.is_rational and m.denominator == 1 and m.numerator % 10:
            yield k, m.numerator
