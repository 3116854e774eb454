"""Fractions over the symbols: sums, products, quotients; a long sum becomes a name.

Takes and gives Values.  Must not know operations of KIR.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from flint import fmpq

from equivalence.certificate.names import Names
from equivalence.certificate.polynomials import add_into, as_constant, common, constant, merged, scaled, shared, without
from equivalence.certificate.symbols import Budget, Monomial, Poly, Uncertain, Value

LONG = 12  # terms from which a sum gets a name
WIDE = 3000  # products of terms from which the factors get names


class Field(Names):
    """Arithmetic of Values."""

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget)
        self.zero, self.one = Value({}), Value(constant(fmpq(1)))

    # -- making values -------------------------------------------------------------------------------------------

    def rational(self, c: fmpq | int) -> Value:
        return Value(constant(fmpq(c)))

    def constant_of(self, x: Value) -> fmpq | None:
        return None if x.den else as_constant(x.num)

    # -- arithmetic ----------------------------------------------------------------------------------------------

    def total(self, parts: Sequence[Value]) -> Value:
        """The sum of many."""
        by_den: dict[Monomial, Poly] = {}
        for x in parts:
            add_into(by_den.setdefault(x.den, {}), x.num)
        by_den = {den: num for den, num in by_den.items() if num} or {(): {}}
        whole: Monomial = ()
        for den in by_den:
            whole = merged(whole, without(den, shared(whole, den)))
        total: Poly = {}
        for den, num in by_den.items():
            add_into(total, num if den == whole else self.times_term(num, 0, without(whole, den)))
        return self.settled(self.reduced(total, whole))

    def add(self, x: Value, y: Value) -> Value:
        return self.total((x, y))

    def neg(self, x: Value) -> Value:
        return Value({t: -c for t, c in x.num.items()}, x.den)

    def sub(self, x: Value, y: Value) -> Value:
        return self.total((x, self.neg(y)))

    def scale(self, x: Value, c: fmpq) -> Value:
        return Value(scaled(x.num, c), x.den if c else ())

    def mul(self, x: Value, y: Value) -> Value:
        for a, b in ((x, y), (y, x)):
            c = self.constant_of(a)
            if c is not None:
                return self.scale(b, c)
        if len(x.num) == len(y.num) == 1:
            return self.reduced(self.product(x.num, y.num), merged(x.den, y.den))
        while len(x.num) * len(y.num) > WIDE:
            x, y = (self.named(x), y) if len(x.num) >= len(y.num) else (x, self.named(y))
        return self.settled(self.reduced(self.product(x.num, y.num), merged(x.den, y.den)))

    def power(self, x: Value, n: int) -> Value:
        result = self.one
        for _ in range(abs(n)):
            result = self.mul(result, x)
        return self.inverse(result) if n < 0 else result

    def div(self, x: Value, y: Value) -> Value:
        return self.mul(x, self.inverse(y))

    def reduced(self, num: Poly, den: Monomial) -> Value:
        """A fraction without squares of roots and without symbols that all its terms share."""
        squares = self.squared_roots(num)
        if squares:
            rest = {t: c for t, c in num.items() if t not in squares}
            return self.total([self.reduced(rest, den), *(self._unsquared(t, num[t], den) for t in squares)])
        if den:
            both = shared(common(mono for _, mono in num), den) if num else den
            if both:
                return Value({(n, without(m, both)): c for (n, m), c in num.items()}, without(den, both))
        return Value(num, den)

    def _unsquared(self, term: tuple[int, Monomial], c: fmpq, den: Monomial) -> Value:
        """A term with the square of a root, the radicand in its place."""
        number, mono = term
        root = next(a for a, b in pairwise(mono) if a == b and a in self.roots)
        square = self.symbols[root].square
        assert square is not None
        return self.mul(self.reduced({(number, without(mono, (root, root))): c}, den), square)

    def settled(self, x: Value) -> Value:
        return self.named(x) if len(x.num) > LONG else x

    def inverse(self, x: Value) -> Value:
        """1 / x; what holds roots or truth values beside other terms is one free symbol there."""
        if not x.num:
            raise Uncertain("a division by zero")
        c, number, mono, rest = self.split(x.num)
        if len(rest) > 1 and not self.pure(rest):
            return self.inverse(self.freed(x))
        factor, turned = self.laurents.power(number, fmpq(-1))
        result = Value({(turned, x.den): factor / c})
        below = list(mono)
        if len(rest) > 1:
            c, symbol = self.name(rest)
            if not c:
                raise Uncertain("a division by zero")
            result, below = self.scale(result, 1 / c), [*below, symbol]
        for symbol in below:
            result = self._over(result, symbol)
        return result

    def _over(self, x: Value, symbol: int) -> Value:
        known = self.symbols[symbol]
        if known.square is not None:  # 1/S = S/S^2
            return self.mul(self.mul(x, self.of(symbol)), self.inverse(known.square))
        if not known.pure:
            symbol = self._free(self.of(symbol))
        if not self.nonzero(symbol):
            raise Uncertain("a division by what is zero for every input")
        return self.reduced(x.num, merged(x.den, (symbol,)))

    def freed(self, x: Value) -> Value:
        """x as a free symbol, by its value, times what all its terms share."""
        c, number, mono, rest = self.split(x.num)
        outside = Value({(number, ()): c})
        return self.mul(outside, self.of(self._free(Value(self.times_term(rest, 0, mono), x.den))))

    def _free(self, x: Value) -> int:
        if self.vanishes(x.num):
            raise Uncertain("a division by what is zero for every input")
        return self.symbol("divisor", self.number(x), self.residue_of(x), positive=self.is_positive(x))

    # -- names ---------------------------------------------------------------------------------------------------

    def named(self, x: Value) -> Value:
        """x with its numerator as a multiple of one symbol."""
        if len(x.num) < 2:
            return x
        c, number, mono, rest = self.split(x.num)
        if len(rest) < 2:
            return x
        factor, symbol = self.name(rest)
        return self.reduced({(number, merged(mono, (symbol,))): c * factor}, x.den) if factor else self.zero
