"""Takes rationals and named constants, gives exact real numbers: r * s^(1/2 or 1/4) * pi^(h/2) * (ln 2)^k * ln n.

A form is canonical: two forms are equal as numbers iff they are equal as records (assuming, as one does, that pi, ln 2
and the ln n are algebraically independent). Must not know floats' formats, programs or fields.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd, isqrt
from typing import Any

from mpmath import mp, mpf

PRECISION = 200
"""Bits at which forms are evaluated."""


@dataclass(frozen=True)
class Form:
    """rational * root^(1/degree) * pi^(half_pi/2) * (ln 2)^ln2 * ln(log); log 1: no such factor.

    ``degree`` 2: root squarefree, or 1 for no root; 4: root without fourth powers, and no square.
    """

    rational: Fraction
    root: int = 1
    half_pi: int = 0
    ln2: int = 0
    log: int = 1
    degree: int = 2

    def value(self) -> Any:
        """The number, an mpmath.mpf, at PRECISION bits."""
        return _value_of(self)

    def evaluated(self) -> Any:
        """As ``value``, which remembers it."""
        with mp.workprec(PRECISION + 20):
            out = mpf(self.rational.numerator) / self.rational.denominator
            out *= mp.root(self.root, self.degree) * mp.pi ** (mpf(self.half_pi) / 2) * mp.ln2**self.ln2
            return out * mp.log(self.log) if self.log > 1 else out

    @property
    def is_rational(self) -> bool:
        return (self.root, self.half_pi, self.ln2, self.log) == (1, 0, 0, 1)

    def times(self, other: Form) -> Form | None:
        """The product, None where it would hold two logarithms other than ln 2."""
        if self.log > 1 and other.log > 1:
            return None
        factor, root, degree = _joined(self, other)
        r = self.rational * other.rational * factor
        return Form(r, root, self.half_pi + other.half_pi, self.ln2 + other.ln2, max(self.log, other.log), degree)

    def inverse(self) -> Form | None:
        """1/form, None for 0 and for forms with ln n."""
        if self.rational == 0 or self.log > 1:
            return None
        factor, root, degree = simplified(self.root ** (self.degree - 1), self.degree)
        return Form(factor / (self.rational * self.root), root, -self.half_pi, -self.ln2, degree=degree)

    def sqrt(self) -> Form | None:
        """The principal root where it is a form: a non-negative rational or its root times a whole power of pi."""
        fourth = self.root > 1
        if self.rational < 0 or (fourth and self.degree > 2) or self.ln2 or self.log > 1 or self.half_pi % 2:
            return None
        root = fourth_root_of(self.rational**2 * self.root) if fourth else root_of(self.rational)
        return Form(Fraction(1), half_pi=self.half_pi // 2).times(root)

    def words(self) -> str:
        """As a person would write it: 1/20*√5*log2(e)."""
        parts = [] if self.rational == 1 and not self.is_rational else [str(self.rational)]
        parts += [f"{'√' if self.degree == 2 else '∜'}{self.root}"] if self.root > 1 else []
        parts += [_power("√π", self.half_pi)] if self.half_pi % 2 else []
        parts += [_power("π", self.half_pi // 2)] if self.half_pi and self.half_pi % 2 == 0 else []
        parts += [_power("log2(e)", -self.ln2) if self.ln2 < 0 else _power("ln 2", self.ln2)] if self.ln2 else []
        return "*".join(parts + ([f"ln {self.log}"] if self.log > 1 else []))


@lru_cache(maxsize=1 << 14)
def _value_of(form: Form) -> Any:
    return form.evaluated()


def _power(name: str, n: int) -> str:
    return name if n == 1 else f"{name}^{n}"


_MOST_TRIALS = 1 << 13


def prime_factors(n: int) -> list[int]:
    """Prime factors of n >= 1 with multiplicity, ascending (trial division: n is small apart from powers of two)."""
    out, d = [], 2
    while d * d <= n:
        while n % d == 0:
            out.append(d)
            n //= d
        d += 1
    return [*out, n] if n > 1 else out


def square_part(n: int) -> tuple[int, int]:
    """(a, s) with n = a^2 * s, for n >= 1; s squarefree but for squares of primes beyond _MOST_TRIALS."""
    a, s, d = 1, 1, 2
    while d * d <= n and d <= _MOST_TRIALS:
        while n % (d * d) == 0:
            a, n = a * d, n // (d * d)
        if n % d == 0:
            s, n = s * d, n // d
        d += 1
    root = isqrt(n)
    return (a * root, s) if root * root == n else (a, s * n)


def root_of(r: Fraction) -> Form:
    """sqrt(r) of a rational r >= 0 in canonical form: a rational times the root of a squarefree integer."""
    if r == 0:
        return Form(Fraction(0))
    a, s = square_part(r.numerator * r.denominator)
    return Form(Fraction(a, r.denominator), s)


def fourth_root_of(r: Fraction) -> Form:
    """r^(1/4) of a rational r >= 0 in canonical form."""
    if r == 0:
        return Form(Fraction(0))
    factor, root, degree = simplified(r.numerator * r.denominator**3, 4)
    return Form(factor / r.denominator, root, degree=degree)


def simplified(n: int, degree: int) -> tuple[Fraction, int, int]:
    """(a, s, d) with n^(1/degree) = a * s^(1/d), canonical as in Form; degree 2 or 4, n >= 1."""
    if degree == 4:
        half, rest = square_part(n)  # n^(1/4) = half^(1/2) * rest^(1/4), rest squarefree
        if rest > 1:
            a, s = square_part(half)  # half^(1/2) = a * s^(1/2), so that the root is s^2 rest
            return Fraction(a), s * s * rest, 4
        n = half
    a, s = square_part(n)
    return Fraction(a), s, 2


def _joined(x: Form, y: Form) -> tuple[Fraction, int, int]:
    """The product of two roots, as a factor, a root and its degree."""
    if max(x.degree, y.degree) == 2:
        return simplified(x.root * y.root, 2)
    factor, root, degree = simplified(x.root ** (4 // x.degree) * y.root ** (4 // y.degree), 4)
    return factor, root, degree


def is_power(n: int) -> bool:
    """Whether n = b^k with k >= 2: then ln n is a whole multiple of ln b."""
    return n > 1 and gcd(*Counter(prime_factors(n)).values()) > 1


def exact(value: float | int | Fraction) -> Form:
    """A finite number as the rational that it is."""
    return Form(Fraction(value))
