"""Sums of terms (rational coefficient, positive monomial, symbols): added, multiplied, reduced by truth values squared.

Takes and gives dicts from Term to coefficient without zeros.  Roots are reduced where fractions are known (field.py).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from itertools import pairwise

from flint import fmpq, fmpz

from equivalence.certificate.laurent import Laurents
from equivalence.certificate.modular import P, of_rational
from equivalence.certificate.symbols import UNIT, Budget, Monomial, Poly, Symbol, Term, TooLarge

_CHECKED = 5000  # products of terms from which the time is looked at


def constant(c: fmpq) -> Poly:
    return {UNIT: c} if c else {}


def as_constant(p: Poly) -> fmpq | None:
    """The number that p is, if it is one."""
    if not p:
        return fmpq(0)
    return p.get(UNIT) if len(p) == 1 else None


def add_into(total: Poly, p: Poly) -> None:
    """total += p."""
    for term, c in p.items():
        known = total.get(term)
        if known is None:
            total[term] = c
        elif known + c:
            total[term] = known + c
        else:
            del total[term]


def scaled(p: Poly, c: fmpq) -> Poly:
    return {term: c * d for term, d in p.items()} if c else {}


def merged(a: Monomial, b: Monomial) -> Monomial:
    if not a:
        return b
    return tuple(sorted(a + b)) if b else a


def without(mono: Monomial, part: Monomial) -> Monomial:
    """mono / part, which divides it."""
    if not part:
        return mono
    rest = list(mono)
    for symbol in part:
        rest.remove(symbol)
    return tuple(rest)


def shared(a: Monomial, b: Monomial) -> Monomial:
    """The largest monomial that divides both."""
    if not a or not b:
        return ()
    rest, found = list(b), []
    for symbol in a:
        if symbol in rest:
            rest.remove(symbol)
            found.append(symbol)
    return tuple(found)


def common(monos: Iterable[Monomial]) -> Monomial:
    """The largest monomial that divides all."""
    found: Monomial | None = None
    for mono in monos:
        found = mono if found is None else shared(found, mono)
        if not found:
            return ()
    return found or ()


def content(p: Poly) -> fmpq:
    """The positive rational that leaves whole coefficients without a common factor."""
    top, bottom = 0, 1
    for c in p.values():
        top = math.gcd(top, int(c.p))
        bottom = bottom * int(c.q) // math.gcd(bottom, int(c.q))
    return fmpq(fmpz(top), fmpz(bottom)) if p else fmpq(1)


def key_of(p: Poly) -> frozenset[tuple[Term, int, int]]:
    """p as something to look up: equal keys are equal polynomials."""
    return frozenset((term, int(c.p), int(c.q)) for term, c in p.items())


class Polynomials:
    """Products of polynomials over one table of symbols."""

    def __init__(self, budget: Budget) -> None:
        self.laurents = Laurents()
        self.symbols: list[Symbol] = []
        self.truths: set[int] = set()
        self.roots: set[int] = set()
        self.budget = budget

    def check(self, terms: int) -> None:
        """Raises TooLarge where so many more products of terms are not affordable."""
        if terms > self.budget.terms:
            raise TooLarge(f"a form of more than {self.budget.terms} terms")
        if terms > _CHECKED:
            self.in_time()

    def in_time(self) -> None:
        if time.monotonic() > self.budget.deadline:
            raise TooLarge("out of time")

    def product(self, a: Poly, b: Poly) -> Poly:
        """a * b; squares of truth values are reduced, those of roots are left."""
        self.check(len(a) * len(b))
        if len(a) < len(b):
            a, b = b, a
        total: Poly = {}
        product = self.laurents.product
        for (l1, m1), c1 in b.items():
            for (l2, m2), c2 in a.items():
                c = c1 * c2
                if l1 and l2:
                    factor, number = product(l1, l2)
                    c = c if factor == 1 else c * factor
                else:
                    number = l1 or l2
                term = (number, tuple(sorted(m1 + m2)) if m1 and m2 else m1 or m2)
                known = total.get(term)
                if known is None:
                    total[term] = c
                else:
                    total[term] = known + c
        total = {term: c for term, c in total.items() if c}
        return self._idempotent(total) if self.truths and len(a) and len(b) else total

    def _idempotent(self, p: Poly) -> Poly:
        """Truth values squared are themselves."""
        if not any(self._doubled(mono, self.truths) for _, mono in p):
            return p
        total: Poly = {}
        for (number, mono), c in p.items():
            kept = tuple(s for k, s in enumerate(mono) if not (k and mono[k - 1] == s and s in self.truths))
            add_into(total, {(number, kept): c})
        return total

    @staticmethod
    def _doubled(mono: Monomial, among: set[int]) -> bool:
        return any(a == b and a in among for a, b in pairwise(mono))

    def squared_roots(self, p: Poly) -> list[Term]:
        """Terms of p with the square of a root."""
        return [t for t in p if self._doubled(t[1], self.roots)] if self.roots else []

    def times_term(self, p: Poly, number: int, mono: Monomial = ()) -> Poly:
        """p times a positive monomial and symbols."""
        if not number and not mono:
            return p
        return self.product(p, {(number, mono): fmpq(1)})

    def residue(self, p: Poly) -> int:
        """p at a random point of Z/P."""
        total = 0
        for (number, mono), c in p.items():
            value = of_rational(c) * self.laurents.residue(number)
            for symbol in mono:
                value = value * self.symbols[symbol].residue % P
            total += value
        return total % P

    def support(self, p: Poly) -> frozenset[int]:
        """Free symbols and (by numbers below 0) bases that p is made of, names put back."""
        found: set[int] = set()
        for symbol in {s for _, mono in p for s in mono}:
            found |= self.symbols[symbol].support or {symbol}
        for number in {n for n, _ in p if n}:
            found.update(-1 - base for base, _ in self.laurents.vectors[number])
        return frozenset(found)

    def pure(self, p: Poly) -> bool:
        """Whether neither roots nor truth values are in p."""
        return all(self.symbols[s].pure for s in {s for _, mono in p for s in mono})

    def positive(self, p: Poly, *, strictly: bool = True) -> bool:
        """Whether p is a sum of what is never negative (and of something positive), for every input."""
        found = not strictly
        for (_, mono), c in p.items():
            if c < 0:
                return False
            odd = [s for s in set(mono) if mono.count(s) % 2]
            if not all(self.symbols[s].positive or s in self.roots or s in self.truths for s in odd):
                return False
            found |= all(self.symbols[s].positive for s in mono)
        return found
