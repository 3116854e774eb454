"""exp, log, roots and what is made of them, on Values; other functions as symbols of their argument's value.

e^h is the product over the terms m of h of E_m^coefficient; log(e^h u) = h + log u; a root takes out rational factors
and exponentials; S^2 = u for the symbol S of sqrt(u).  Each rule holds wherever both of its sides are finite.
"""

from __future__ import annotations

from flint import fmpq

from equivalence.certificate.modular import root
from equivalence.certificate.numbers import HALF, Numbers
from equivalence.certificate.polynomials import without
from equivalence.certificate.symbols import UNIT, Monomial, Poly, Uncertain, Value

_MOST_EXPONENT = 4096  # terms of an argument of exp

_ODD = frozenset(["sin", "asin", "atan", "erf", "erfinv", "cbrt", "trunc", "even", "away"])


class Functions(Numbers):
    """Functions of Values."""

    # -- exp -----------------------------------------------------------------------------------------------------

    def exp(self, x: Value) -> Value:
        """The product of E_m^c over the terms c m of x; of a logarithm's whole multiples the power itself."""
        num = self._without_names(x.num)
        exponents: dict[int, fmpq] = {}
        factors: list[Value] = []
        for (number, mono), c in num.items():
            taken = self._of_logarithm(number, mono, x.den, c)
            if isinstance(taken, Value):
                factors.append(taken)
                continue
            base = self._exponential(number, mono, x.den) if taken is None else taken
            exponents[base] = exponents.get(base, fmpq(0)) + c
        result = self.monomial(exponents)
        for factor in factors:
            result = self.mul(result, factor)
        return result

    def _without_names(self, p: Poly) -> Poly:
        """p with its names put back that stand for polynomials."""
        while True:
            named = [s for _, mono in p for s in mono if (v := self.symbols[s].value) is not None and not v.den]
            if not named:
                return p
            p = self._put_back(p, max(named))
            if self.squared_roots(p):
                raise Uncertain("an exponential of a sum with squares of roots")
            if len(p) > _MOST_EXPONENT:
                raise Uncertain(f"an exponential of more than {_MOST_EXPONENT} terms")

    def _of_logarithm(self, number: int, mono: Monomial, den: Monomial, c: fmpq) -> Value | int | None:
        """e^(c m) where m is a logarithm: a Value, or the base that it is a power of."""
        if den or (len(mono) + (number != 0)) != 1:
            return None
        if number:
            return self.laurents.whole(2) if self.laurents.vectors[number] == self._ln2_vector() else None
        symbol = self.symbols[mono[0]]
        if symbol.kind == "ln":
            return self.laurents.whole(symbol.key)  # type: ignore[arg-type]
        if symbol.kind == "log" and symbol.argument is not None and (2 * c).q == 1 and abs(c) <= 64:
            base = symbol.argument if c.q == 1 else self.sqrt(symbol.argument)
            return self.power(base, int(c.p))
        return None

    def _ln2_vector(self) -> tuple:
        return ((self.laurents.base("ln 2"), fmpq(1)),)

    def _exponential(self, number: int, mono: Monomial, den: Monomial) -> int:
        return self.laurents.base(("e", number, mono, den))

    def tanh(self, x: Value) -> Value:
        """1 - 2 / (e^2x + 1)."""
        under = self.add(self.exp(self.scale(x, fmpq(2))), self.one)
        return self.sub(self.one, self.div(self.rational(2), under))

    def hyperbolic(self, x: Value, sign: int) -> Value:
        up, down = self.exp(x), self.exp(self.neg(x))
        return self.scale(self.add(up, self.scale(down, fmpq(sign))), HALF)

    # -- log -----------------------------------------------------------------------------------------------------

    def log(self, x: Value) -> Value:
        """Of x = c e^h m / d with c > 0: log c + h + log(m / d); a quotient is parted where its denominator is > 0."""
        if not x.num:
            raise Uncertain("the logarithm of zero")
        c, number, mono, den = self.factors(x)
        sure = tuple(s for s in mono if self.symbols[s].positive)
        parts = [self.logarithm_of(int(abs(c).p)), self.neg(self.logarithm_of(int(c.q)))]
        parts += [self._atom("log", self.of(s)) for s in sure]
        outer: dict[int, fmpq] = {}
        for base, exponent in self.laurents.vectors[number]:
            known = self._log_of_base(base)
            parts.append(self.scale(known, exponent)) if known is not None else outer.update({base: exponent})
        rest = (self.laurents.number(outer)[1], without(mono, sure))
        return self.total([*parts, self._log(Value({rest: fmpq(1 if c > 0 else -1)}, den))])

    def factors(self, x: Value) -> tuple[fmpq, int, Monomial, Monomial]:
        """x as coefficient, positive monomial and symbols, over symbols: a sum becomes a name."""
        x = self.named(x)
        if not x.num:
            return fmpq(0), 0, (), ()
        ((number, mono), c) = next(iter(x.num.items()))
        return c, number, mono, x.den

    def _log_of_base(self, base: int) -> Value | None:
        key = self.laurents.bases[base]
        if isinstance(key, tuple) and key[0] == "e":
            return Value({(key[1], key[2]): fmpq(1)}, key[3])
        return self.logarithm_of(key[1]) if isinstance(key, tuple) and key[0] == "whole" else None

    def _log(self, x: Value) -> Value:
        if x.num == {UNIT: fmpq(1)} and not x.den:
            return self.zero
        c = self.constant_of(x)
        if c is not None and c < 0:
            raise Uncertain("the logarithm of a negative number")
        sure = tuple(s for s in x.den if self.symbols[s].positive)
        if x.den and (sure == x.den or (x.num == {UNIT: fmpq(1)} and len(x.den) == 1)):
            below = [self.neg(self._log(self.of(s))) for s in x.den]
            return self.total([self._log(Value(x.num)), *below])
        return self._atom("log", x)

    def _atom(self, fn: str, x: Value) -> Value:
        number = self.number(x)
        return self.of(self.symbol(fn, number, argument=self.values[number]))

    # -- roots ---------------------------------------------------------------------------------------------------

    def sqrt(self, x: Value) -> Value:
        """Of x = c e^h u with c > 0: sqrt(c) e^(h/2) S_u; sqrt(1/d) = 1/S_d, sqrt(u/d) = S_u/S_d for d > 0."""
        if not x.num:
            return self.zero
        c, number, mono, den = self.factors(x)
        if not c:
            return self.zero
        factor, half = self.laurents.power(number, HALF)
        result = self.mul(self.rational_power(abs(c), HALF), Value({(half, ()): factor}))
        sure = tuple(s for s in mono if self.symbols[s].positive)
        for s in dict.fromkeys(sure):
            result = self.mul(result, self._root_of_power(s, sure.count(s)))
        return self.mul(result, self._sqrt(Value({(0, without(mono, sure)): fmpq(1 if c > 0 else -1)}, den)))

    def _root_of_power(self, symbol: int, n: int) -> Value:
        """sqrt(s^n) of a positive symbol."""
        whole = self.power(self.of(symbol), n // 2)
        return self.mul(whole, self.of(self._root(self.of(symbol)))) if n % 2 else whole

    def _sqrt(self, x: Value) -> Value:
        if x.num == {UNIT: fmpq(1)}:
            if not x.den:
                return self.one
            return self.inverse(self.sqrt(Value({(0, x.den): fmpq(1)})))
        c = self.constant_of(x)
        if c is not None and c < 0:
            raise Uncertain("the root of a negative number")
        if x.den and all(self.symbols[s].positive for s in x.den):
            return self.div(self._sqrt(Value(x.num)), self.sqrt(Value({(0, x.den): fmpq(1)})))
        return self.of(self._root(x))

    def _root(self, x: Value) -> int:
        """The symbol of sqrt(x), x a product of symbols over symbols; roots of sums with roots are of free symbols."""
        symbols = {s for _, mono in x.num for s in mono} | {*x.den}
        if not all(self.symbols[s].pure or s in self.roots for s in symbols):
            x = self.freed(x)
        number = self.number(x)
        symbol = self.symbol("sqrt", number, root(self.residue_of(x)), pure=False, square=self.values[number])
        self.roots.add(symbol)
        return symbol

    def abs(self, x: Value) -> Value:
        """The root of the square."""
        if self.is_positive(x, strictly=False):
            return x
        c = self.constant_of(x)
        if c is not None:
            return self.rational(abs(c))
        c, number, mono, den = self.factors(x)
        bare = Value({(0, mono): fmpq(1)}, den)
        return self.mul(Value({(number, ()): abs(c)}), self.sqrt(self.mul(bare, bare)))

    # -- the rest ------------------------------------------------------------------------------------------------

    def pow(self, x: Value, y: Value) -> Value:
        """Whole and half literal exponents are powers and roots, other literal ones e^(y ln x)."""
        n = self.constant_of(y)
        if n is None or (n.q == 1 and abs(n) > 64):
            if self.is_positive(x):
                return self.exp(self.mul(y, self.log(x)))
            raise Uncertain("a power with an exponent that is no short literal")
        if n.q == 1:
            return self.power(x, int(n.p))
        if n.q == 2 and abs(n) == HALF:
            positive = self.sqrt(x)
            return positive if n > 0 else self.inverse(positive)
        return self.exp(self.mul(y, self.log(x)))

    def opaque(self, fn: str, *xs: Value) -> Value:
        """A symbol of the arguments' values; an odd function, or cos, of the one of x and -x that begins positive."""
        if len(xs) == 1 and xs[0].num and (fn in _ODD or fn == "cos"):
            if self.factors(xs[0])[0] < 0:
                turned = self.opaque(fn, self.neg(xs[0]))
                return turned if fn == "cos" else self.neg(turned)
        return self.of(self.symbol(fn, tuple(self.number(x) for x in xs)))
