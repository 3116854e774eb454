"""Names for long sums, numbers for equal values: equality by putting names back until only free symbols are left.

Takes and gives polynomials and Values.  Residues say what is worth multiplying out; only what is multiplied out is
equal.  Must not know how values are computed.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Hashable
from itertools import pairwise

from flint import fmpq

from equivalence.certificate.modular import P, quotient, small_rational
from equivalence.certificate.polynomials import (
    Polynomials,
    add_into,
    common,
    constant,
    content,
    key_of,
    scaled,
    shared,
    without,
)
from equivalence.certificate.symbols import UNIT, Budget, Monomial, Poly, Symbol, Value

SHORT = 1000  # products of terms that are made without looking for a shorter way


class Names(Polynomials):
    """The table of symbols and of values seen."""

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget)
        self._by_key: dict[Hashable, int] = {}
        self._by_form: dict[tuple[frozenset, Monomial], int] = {}
        self._alike: dict[int, list[int]] = {}
        self.values: list[Value] = []  # one of each class of equal values, by number
        self._names: dict[frozenset, tuple[fmpq, int]] = {}
        self._supported: dict[frozenset, list[int]] = {}
        self._draws = random.Random("symbols")
        self._nonzero: dict[int, bool] = {}

    def of(self, symbol: int) -> Value:
        return Value({(0, (symbol,)): fmpq(1)})

    def symbol(self, kind: str, key: Hashable, residue: int | None = None, **known: object) -> int:
        """The number of the symbol of that kind and key, made once."""
        whole = (kind, key)
        number = self._by_key.get(whole)
        if number is None:
            number = self._by_key[whole] = len(self.symbols)
            residue = self._draws.randrange(1, P) if residue is None else residue
            self.symbols.append(Symbol(kind, key, residue, **known))  # type: ignore[arg-type]
        return number

    def residue_of(self, x: Value) -> int:
        if x.residue is None:
            below = math.prod(self.symbols[s].residue for s in x.den) % P
            x.residue = quotient(self.residue(x.num), below) if x.den else self.residue(x.num)
        return x.residue

    # -- names --

    def split(self, p: Poly) -> tuple[fmpq, int, Monomial, Poly]:
        """(c, positive monomial, symbols, rest) with p their product; equal rests for all multiples of p."""
        number = self.laurents.common(n for n, _ in p) if any(n for n, _ in p) else 0
        mono = common(m for _, m in p)
        if number:
            factor, turned = self.laurents.power(number, fmpq(-1))
            p = scaled(self.times_term(p, turned), factor)
        if mono:
            p = {(n, without(m, mono)): c for (n, m), c in p.items()}
        c = content(p)
        if p[min(p, key=lambda term: (term[1], term[0]))] < 0:
            c = -c
        return c, number, mono, ({UNIT: fmpq(1)} if len(p) == 1 else scaled(p, 1 / c))

    def name(self, rest: Poly) -> tuple[fmpq, int]:
        """(c, symbol): a split polynomial is c times what the symbol stands for; c is 0 where it vanishes."""
        key = key_of(rest)
        known = self._names.get(key)
        if known is None:
            known = self._names[key] = self._named_before(rest) or (fmpq(1), self._new_name(key, rest))
        return known

    def _named_before(self, rest: Poly) -> tuple[fmpq, int] | None:
        """A name that ``rest`` is a rational multiple of, found by residues and then multiplied out."""
        x = Value(rest)
        if self.vanishes(self._without_squares(rest)):
            return fmpq(0), 0
        for symbol in self._supported.get(self.support(rest), ()):
            c = small_rational(quotient(self.residue_of(x), self.symbols[symbol].residue))
            if c is not None and self.equal(x, Value({(0, (symbol,)): c})):
                return c, symbol
        return None

    def _new_name(self, key: Hashable, rest: Poly) -> int:
        value, support = Value(rest), self.support(rest)
        known = self.symbol(
            "name",
            key,
            self.residue_of(value),
            pure=self.pure(rest),
            positive=self.positive(rest),
            value=value,
            support=support,
        )
        self._supported.setdefault(support, []).append(known)
        return known

    # -- equality ------------------------------------------------------------------------------------------------

    def vanishes(self, p: Poly) -> bool:
        """Whether p is 0 once all names are put back, the latest first; not where a residue tells."""
        if self.residue(p):
            return False
        while p:
            self.in_time()
            named = {s for _, mono in p for s in mono if self.symbols[s].value is not None}
            if not named:
                return False
            if len(named) == 1 and (solved := self._solved(p, max(named))) is not None:
                return not solved
            p = self._without_squares(self._put_back(p, max(named)))
        return True

    def _solved(self, p: Poly, name: int) -> Poly | None:
        """p with a symbol s, of which the only name in p is a multiple plus free symbols, written by the name.

        It vanishes where p does, as the name then is as free as s was.  None where that is not the shorter way.
        """
        value = self.symbols[name].value
        assert value is not None
        counts = Counter(s for _, mono in p for s in set(mono))
        inside = Counter(s for _, mono in value.num for s in mono)
        alone = [m[0] for n, m in value.num if not n and len(m) == 1 and inside[m[0]] == 1 and self._is_free(m[0])]
        nested = any(self.symbols[s].value is not None or not self.symbols[s].pure for s in inside)
        if nested or not alone or counts[name] * len(value.num) < SHORT:
            return None
        symbol = min(alone, key=lambda s: counts[s])
        if 2 * counts[symbol] > counts[name]:
            return None
        c = value.num[(0, (symbol,))]
        rest = {t: -d / c for t, d in value.num.items() if t[1] != (symbol,)} | {(0, (name,)): 1 / c}
        return self._replaced(p, symbol, rest)

    def _is_free(self, symbol: int) -> bool:
        known = self.symbols[symbol]
        return known.value is None and known.square is None and symbol not in self.truths

    def _put_back(self, p: Poly, name: int) -> Poly:
        """p with what ``name`` stands for in its place; squares of roots are left."""
        value = self.symbols[name].value
        assert value is not None
        return self._replaced(p, name, value.num)

    def _replaced(self, p: Poly, symbol: int, by: Poly) -> Poly:
        by_power: dict[int, Poly] = {}
        for (number, mono), c in p.items():
            rest = tuple(s for s in mono if s != symbol)
            by_power.setdefault(len(mono) - len(rest), {})[(number, rest)] = c
        total: Poly = {}
        power: Poly = constant(fmpq(1))
        for k in range(max(by_power) + 1):
            if k:
                power = self.product(power, by)
            if k in by_power:
                add_into(total, self.product(by_power[k], power))
        return total

    def _without_squares(self, p: Poly) -> Poly:
        """A multiple of p without squares of roots: it vanishes where p does."""
        while squares := self.squared_roots(p):
            root = next(a for a, b in pairwise(squares[0][1]) if a == b and a in self.roots)
            square = self.symbols[root].square
            assert square is not None
            total: Poly = {}
            for (number, mono), c in p.items():
                if mono.count(root) >= 2:
                    part = self.product({(number, without(mono, (root, root))): c}, square.num)
                else:
                    part = self.times_term({(number, mono): c}, 0, square.den)
                add_into(total, part)
            p = total
        return p

    def equal(self, x: Value, y: Value) -> bool:
        """Whether x and y are one fraction."""
        both = shared(x.den, y.den)
        left = self.times_term(x.num, 0, without(y.den, both))
        right = self.times_term(y.num, 0, without(x.den, both))
        difference = dict(left)
        add_into(difference, {t: -c for t, c in right.items()})
        return self.vanishes(self._without_squares(difference))

    def number(self, x: Value) -> int:
        """The number of x among all values seen: equal numbers are equal values."""
        if x.number is not None:
            return x.number
        key = (key_of(x.num), x.den)
        known = self._by_form.get(key)
        if known is None:
            alike = self._alike.setdefault(self.residue_of(x), [])
            known = next((n for n in alike if self.equal(x, self.values[n])), None)
            if known is None:
                known = len(self.values)
                self.values.append(x)
                alike.append(known)
            self._by_form[key] = known
        x.number = known
        return known

    # -- what is known -------------------------------------------------------------------------------------------

    def nonzero(self, symbol: int) -> bool:
        """Whether a symbol is no name for 0."""
        value = self.symbols[symbol].value
        if value is None or self.symbols[symbol].positive:
            return True
        bases = (-1 - s for s in self.symbols[symbol].support if s < 0)
        if self.symbols[symbol].residue and not any(self.laurents.is_whole(base) for base in bases):
            return True  # residues are values of whatever holds neither roots nor truth values
        if symbol not in self._nonzero:
            self._nonzero[symbol] = not self.vanishes(value.num)
        return self._nonzero[symbol]

    def is_positive(self, x: Value, *, strictly: bool = True) -> bool:
        return all(self.symbols[s].positive for s in x.den) and self.positive(x.num, strictly=strictly)
