"""Maxima, comparisons and selections on Values: a maximum is a symbol of the set of its operands, a comparison a truth
value of the sign of a difference, a selection c a + (1 - c) b.

Holds for every input, ties included: max(a, b) of equals is either.  Must not know operations of KIR.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from equivalence.certificate.functions import Functions
from equivalence.certificate.polynomials import without
from equivalence.certificate.symbols import MINUS, PLUS, Infinite, Number, Poly, Uncertain, Value


class Choices(Functions):
    """Decisions as symbols."""

    # -- extrema -------------------------------------------------------------------------------------------------

    def maximum(self, xs: Sequence[Number]) -> Number:
        """Of all operands at once, in any order, a maximum among them by its own operands."""
        if any(x is PLUS for x in xs):
            return PLUS
        finite = [x for x in xs if not isinstance(x, Infinite)]
        if not finite:
            return MINUS
        masks = {self.masked(x) for x in finite}
        common = masks.pop() if len(masks) == 1 else None
        if common is None or len(finite) == 1:
            return self._largest(finite)
        bare = [self.unmasked(x) for x in finite]
        return self.add(self._largest(bare), self.sub(finite[0], bare[0]))

    def minimum(self, xs: Sequence[Number]) -> Number:
        return self.negative(self.maximum([self.negative(x) for x in xs]))

    def negative(self, x: Number) -> Number:
        if isinstance(x, Infinite):
            return PLUS if x is MINUS else MINUS
        return self.neg(x)

    def _largest(self, xs: Sequence[Value]) -> Value:
        members: dict[int, None] = {}
        literal: fmpq | None = None
        for x in xs:
            c = self.constant_of(x)
            if c is not None:
                literal = c if literal is None else max(literal, c)
            else:
                members.update(dict.fromkeys(self._members(x)))
        if literal is not None and not (literal <= 0 and any(self._never_negative(n) for n in members)):
            members[self.number(self.rational(literal))] = None
        if len(members) == 1:
            return self.values[next(iter(members))]
        return self._extremum(tuple(sorted(members)))

    def _never_negative(self, number: int) -> bool:
        return self.is_positive(self.values[number], strictly=False)

    def _members(self, x: Value) -> tuple[int, ...]:
        if not x.den and len(x.num) == 1:
            ((number, mono), c) = next(iter(x.num.items()))
            if c == 1 and not number and len(mono) == 1 and self.symbols[mono[0]].kind == "max":
                return self.symbols[mono[0]].members
        return (self.number(x),)

    def _extremum(self, members: tuple[int, ...]) -> Value:
        of = [self.values[n] for n in members]
        positive = any(self.is_positive(x) for x in of)
        return self.of(self.symbol("max", members, positive=positive, members=members))

    # -- masks ---------------------------------------------------------------------------------------------------

    def mask(self, c: fmpq) -> Value:
        """A literal so low that it may be meant as minus infinity: itself, under a symbol of its own."""
        return self.of(self.symbol("mask", c))

    def masked(self, x: Value) -> fmpq | None:
        """What literal masks add to x: None without any."""
        total: fmpq | None = None
        for (number, mono), c in x.num.items():
            masks = [s for s in mono if self.symbols[s].kind == "mask"]
            if masks:
                if x.den or number or len(mono) > 1 or c < 0:
                    return None
                total = (total or fmpq(0)) + c * self.symbols[mono[0]].key  # type: ignore[operator]
        return total

    def unmasked(self, x: Value) -> Value:
        """x without its literal masks."""
        return Value({t: c for t, c in x.num.items() if not any(self.symbols[s].kind == "mask" for s in t[1])}, x.den)

    # -- truth values --------------------------------------------------------------------------------------------

    def positive_truth(self, x: Value, *, strictly: bool = True) -> Value:
        """1 where x > 0 (not strictly: x >= 0), else 0."""
        if not strictly:
            return self.sub(self.one, self.positive_truth(self.neg(x)))
        c = self.constant_of(x)
        if c is not None:
            return self.one if c > 0 else self.zero
        if self.is_positive(x):
            return self.one
        if self.is_positive(self.neg(x), strictly=False):
            return self.zero
        return self._truth("above", self._scaleless(x))

    def _scaleless(self, x: Value) -> Value:
        """x without positive factors."""
        c, number, mono, den = self.factors(x)
        known = tuple(s for s in mono if self.symbols[s].positive)
        del number
        return Value({(0, without(mono, known)): fmpq((c > 0) - (c < 0))} if c else {}, den)

    def equal_truth(self, x: Value) -> Value:
        """1 where x = 0."""
        c = self.constant_of(x)
        if c is not None:
            return self.zero if c else self.one
        if self.is_positive(x) or self.is_positive(self.neg(x)):
            return self.zero
        _, _, mono, den = self.factors(x)
        return self._truth("equal", Value({(0, mono): fmpq(1)}, den)) if mono else self.zero

    def _truth(self, kind: str, x: Value) -> Value:
        number = self.number(x)
        truth = self.symbol(kind, number, self._draws.randrange(2), pure=False, members=(number,))
        self.truths.add(truth)
        return self.of(truth)

    def compare(self, predicate: str, x: Value, y: Value) -> Value:
        difference = self.sub(x, y)
        if predicate in ("eq", "ne"):
            same = self.equal_truth(difference)
            return same if predicate == "eq" else self.sub(self.one, same)
        if predicate in ("lt", "le"):
            difference = self.neg(difference)
        return self.positive_truth(difference, strictly=predicate in ("gt", "lt"))

    def select(self, c: Value, x: Number, y: Number) -> Number:
        """x where c is 1, y where it is 0; the larger or the smaller one where c compares the two."""
        known = self.constant_of(c)
        if known is not None:
            return x if known else y
        if isinstance(x, Infinite) or isinstance(y, Infinite):
            if x is y:
                return x
            raise Uncertain("a choice between a number and an infinity")
        turned = self._bare_truth(self.sub(self.one, c).num)
        if turned is not None:
            return self._chosen(turned, y, x)
        bare = self._bare_truth(c.num)
        if bare is not None:
            return self._chosen(bare, x, y)
        return self.add(self.mul(c, x), self.mul(self.sub(self.one, c), y))

    def _bare_truth(self, p: Poly) -> int | None:
        """The symbol of a comparison, if p is one."""
        if len(p) != 1:
            return None
        (number, mono), c = next(iter(p.items()))
        return mono[0] if c == 1 and not number and len(mono) == 1 and mono[0] in self.truths else None

    def _chosen(self, truth: int, x: Value, y: Value) -> Value:
        symbol, difference = self.symbols[truth], self.sub(x, y)
        if not difference.num:
            return x
        if symbol.kind == "above":
            if self.number(self._scaleless(difference)) == symbol.members[0]:
                return self._largest([x, y])
            if self.number(self._scaleless(self.neg(difference))) == symbol.members[0]:
                return self.neg(self._largest([self.neg(x), self.neg(y)]))
        c = self.of(truth)
        return self.add(self.mul(c, difference), y)
