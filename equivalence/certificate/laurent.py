"""Positive monomials with rational exponents: powers of exponentials, of whole numbers, of ln 2 and of the root of pi.

Takes bases by key and gives numbers for their products, so that equal numbers are equal monomials.  A whole number's
exponent lies in [0, 1), what is over goes to a coefficient: sqrt(2) * sqrt(2) = 2.  Must not know sums.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable, Mapping

from flint import fmpq

from equivalence.certificate.modular import P, Q, of_rational

ONE, ZERO = fmpq(1), fmpq(0)
Vector = tuple[tuple[int, fmpq], ...]


class Laurents:
    """All monomials of a session; number 0 is 1."""

    def __init__(self) -> None:
        self.bases: list[Hashable] = []
        self.vectors: list[Vector] = [()]
        self._draws = random.Random("bases")
        self._weights: list[int] = []  # each base is 4 to that power, mod P
        self._residues: dict[int, int] = {0: 1}
        self._whole: dict[int, int] = {}
        self._base_of: dict[Hashable, int] = {}
        self._number_of: dict[tuple[int, ...], int] = {(): 0}
        self._products: dict[tuple[int, int], tuple[fmpq, int]] = {}

    def base(self, key: Hashable) -> int:
        """The base named ``key``."""
        known = self._base_of.get(key)
        if known is None:
            known = self._base_of[key] = len(self.bases)
            self.bases.append(key)
            self._weights.append(self._draws.randrange(1, Q))
        return known

    def whole(self, n: int) -> int:
        """The base n, a whole number above 1."""
        number = self.base(("whole", n))
        self._whole[number] = n
        return number

    def is_whole(self, base: int) -> bool:
        return base in self._whole

    def number(self, exponents: Mapping[int, fmpq]) -> tuple[fmpq, int]:
        """(coefficient, monomial) of a product of bases."""
        factor, vector = ONE, []
        for base, exponent in sorted(exponents.items()):
            n = self._whole.get(base)
            if n is not None:
                over = exponent.floor()
                if over:
                    factor, exponent = factor * fmpq(n) ** int(over), exponent - over
            if exponent:
                vector.append((base, exponent))
        return factor, self._numbered(tuple(vector))

    def _numbered(self, vector: Vector) -> int:
        key = tuple(n for base, e in vector for n in (base, int(e.p), int(e.q)))
        known = self._number_of.get(key)
        if known is None:
            known = self._number_of[key] = len(self.vectors)
            self.vectors.append(vector)
        return known

    def product(self, a: int, b: int) -> tuple[fmpq, int]:
        """(coefficient, monomial) of a * b."""
        if not a:
            return ONE, b
        if not b:
            return ONE, a
        key = (a, b) if a <= b else (b, a)
        known = self._products.get(key)
        if known is None:
            total = dict(self.vectors[a])
            for base, exponent in self.vectors[b]:
                total[base] = total[base] + exponent if base in total else exponent
            known = self._products[key] = self.number(total)
        return known

    def power(self, a: int, exponent: fmpq) -> tuple[fmpq, int]:
        """(coefficient, monomial) of a^exponent."""
        return (ONE, 0) if not a else self.number({b: e * exponent for b, e in self.vectors[a]})

    def common(self, monomials: Iterable[int]) -> int:
        """The largest monomial that divides all: of each base the least exponent."""
        least: dict[int, fmpq] = {}
        count: dict[int, int] = {}
        total = 0
        for a in monomials:
            total += 1
            for base, exponent in self.vectors[a]:
                known = least.get(base)
                if known is None or exponent < known:
                    least[base] = exponent
                count[base] = count.get(base, 0) + 1
        found = {b: e if count[b] == total else min(e, ZERO) for b, e in least.items()}
        return self._numbered(tuple(sorted((b, e) for b, e in found.items() if e)))

    def residue(self, a: int) -> int:
        """The monomial at a random point of Z/P: a whole number is itself wherever its exponent is one."""
        known = self._residues.get(a)
        if known is None:
            known, weight = 1, 0
            for base, exponent in self.vectors[a]:
                turned = of_rational(exponent, Q)
                if base in self._whole:
                    known = known * pow(self._whole[base], turned, P) % P
                else:
                    weight += self._weights[base] * turned
            known = self._residues[a] = known * pow(4, weight % Q, P) % P
        return known
