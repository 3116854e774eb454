"""Real numbers that programs name: roots of rationals, pi, ln 2 and other logarithms, as monomials and symbols.

Takes rationals and forms (fields/forms.py); gives Values.  Must not know literals of programs.
"""

from __future__ import annotations

import math

from flint import fmpq

from equivalence.certificate.field import Field
from equivalence.certificate.symbols import Value
from equivalence.fields.forms import Form, prime_factors

HALF = fmpq(1, 2)
_SMALL_FACTORS = 1 << 10


def factored(n: int) -> dict[int, int]:
    """n > 0 as powers of small primes, and a rest that stands for itself."""
    found: dict[int, int] = {}
    for p in (2, *range(3, _SMALL_FACTORS, 2)):
        while n % p == 0:
            n //= p
            found[p] = found.get(p, 0) + 1
        if n == 1:
            break
    r = math.isqrt(n)
    if n > 1 and r * r == n:
        return {**found, r: 2}
    return found | ({n: 1} if n > 1 else {})


class Numbers(Field):
    """Values of constants."""

    def monomial(self, exponents: dict[int, fmpq]) -> Value:
        c, number = self.laurents.number(exponents)
        return Value({(number, ()): c})

    def rational_power(self, c: fmpq, exponent: fmpq) -> Value:
        """c^exponent for c > 0."""
        exponents: dict[int, fmpq] = {}
        for n, sign in ((int(c.p), 1), (int(c.q), -1)):
            for p, k in factored(n).items():
                base = self.laurents.whole(p)
                exponents[base] = exponents.get(base, fmpq(0)) + exponent * k * sign
        return self.monomial(exponents)

    def ln2(self, power: int = 1) -> Value:
        return self.monomial({self.laurents.base("ln 2"): fmpq(power)})

    def logarithm_of(self, n: int) -> Value:
        """ln n of a whole number, over its primes."""
        parts = [
            self.scale(self.ln2() if p == 2 else self.of(self._log_symbol(p)), fmpq(k)) for p, k in factored(n).items()
        ]
        return self.total(parts)

    def _log_symbol(self, p: int) -> int:
        return self.symbol("ln", p, positive=True)

    def form(self, form: Form) -> Value:
        """A constant of fields/forms.py."""
        r = fmpq(form.rational.numerator, form.rational.denominator)
        if not r:
            return self.zero
        exponents = {self.laurents.base("root of pi"): fmpq(form.half_pi)}
        exponents[self.laurents.base("ln 2")] = fmpq(form.ln2)
        for p in prime_factors(form.root):
            base = self.laurents.whole(p)
            exponents[base] = exponents.get(base, fmpq(0)) + fmpq(1, form.degree)
        value = self.scale(self.monomial(exponents), r)
        return self.mul(value, self.logarithm_of(form.log)) if form.log > 1 else value
