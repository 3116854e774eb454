"""Arithmetic of `real` on Cells: + - x / and powers by whole numbers, with validity, minus infinity and literals.

A mixin; takes and gives Cells.  Must not know records, sites or dtypes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equivalence.fields.constants import Form, exact
from equivalence.interpretations import real_parity as parity
from equivalence.interpretations import real_signs as signs
from equivalence.interpretations import real_twist as twist
from equivalence.interpretations.real_cell import (
    BOTH,
    CONCRETE,
    FLOATS,
    LITERAL,
    MAX,
    NEGINF,
    NONNEG,
    NONZERO,
    NOTHING,
    PURE,
    ROOT_V,
    ROOT_W,
    ROOTS,
    SIGNS,
    TWISTS,
    WHOLE,
    Array,
    Cell,
    V,
    W,
    flag,
    nothing,
    pointwise,
    where,
)
from equivalence.interpretations.real_channels import Channels
from equivalence.interpretations.real_literals import SENTINEL, Literals

_KEPT = BOTH | LITERAL | CONCRETE | WHOLE | PURE


class Arithmetic:
    """The field operations."""

    channels: Channels
    known_signs: signs.KnownSigns
    literals: Literals

    def shared(self, a: Cell, b: Cell) -> Array:
        """What every operation keeps: validity and literalness of both, root bits of either."""
        return (a.mark & b.mark & _KEPT) | ((a.mark | b.mark) & (ROOTS | FLOATS))

    def learn(self, op: str, a: Cell, b: Cell) -> None:
        if a.is_all(LITERAL) and b.is_all(LITERAL):
            self.literals.combined(op, a, b)

    # -- sums ----------------------------------------------------------------------------------------------------

    def add(self, a: Cell, b: Cell) -> Cell:
        return self._linear("add", np.add, a, b)

    def sub(self, a: Cell, b: Cell) -> Cell:
        return self._linear("sub", np.subtract, a, b)

    def _linear(self, op: str, fn: Any, a: Cell, b: Cell) -> Cell:
        whole = ((a.mark | b.mark) & MAX) != 0
        a, b = self.channels.completed(a, b, whole)
        mark = self.shared(a, b) | parity.added(a.mark, b.mark)
        if a.has(TWISTS) and b.has(TWISTS | LITERAL):
            mark = mark | twist.added(a, b)
        if a.has(NEGINF) or b.has(NEGINF):
            mark = mark | self._low_sum(op, a, b)
        v, w = self.channels.apply(op, mark, a, b)
        self.learn(op, a, b)
        if op == "add":
            mark = mark | signs.added(a, b)
        return Cell(pointwise(fn, a.sample, b.sample), v, w, mark)

    @staticmethod
    def _low_sum(op: str, a: Cell, b: Cell) -> Array:
        """-inf + x = -inf; a sentinel stays one beside an ordinary number, and cancels against another sentinel."""
        if op == "add":
            low = a.minus_infinity | b.minus_infinity | a.sentinel | b.sentinel
        else:
            low = a.minus_infinity | (a.sentinel & ~b.sentinel)
        if op == "sub":
            low = low & ~b.minus_infinity
        return flag(low, NEGINF)

    def neg(self, a: Cell) -> Cell:
        v = self.channels.field.v.neg(a.v) if a.has(V) else a.v
        w = self.channels.field.w.neg(a.w) if a.has(W) else a.w
        sample = pointwise(np.negative, a.sample)
        mark = a.mark & ~(NEGINF | NONNEG)
        if a.has(LITERAL):
            mark = mark | flag(((a.mark & LITERAL) != 0) & (sample <= SENTINEL), NEGINF)
            self.learn("sub", self.literals.form(exact(0), a.mark.ndim), a)
        return Cell(sample, v, w, mark)

    # -- products ------------------------------------------------------------------------------------------------

    def mul(self, a: Cell, b: Cell) -> Cell:
        known = signs.product(a, b)
        a, b = self.channels.completed(a, b)
        mark = known | self.shared(a, b) | self._kept_max(a, b) | self._kept_max(b, a)
        if a.has(SIGNS) or b.has(SIGNS):
            mark = mark | parity.product(self.literals, a, b)
        if not (a.is_all(LITERAL) and b.is_all(LITERAL)):
            mark = mark | twist.product(self.literals, a, b)
        if a.has(NEGINF) or b.has(NEGINF):
            mark = mark | self._low_product(a, b) | self._low_product(b, a)
        sample = pointwise(np.multiply, a.sample, b.sample)
        for x, other in ((a, b), (b, a)):
            mark, sample = self._absorbed(x, other, mark, sample)
        v, w = self.channels.apply("mul", mark, a, b)
        self.learn("mul", a, b)
        return self.remembered(Cell(sample, v, w, mark))

    def remembered(self, x: Cell) -> Cell:
        """x; what is known of its sign holds for the other side's value of the same residues."""
        if x.has(NONNEG | NONZERO):
            self.known_signs.learn(x)
        return x

    @staticmethod
    def _kept_max(x: Cell, by: Cell) -> Array:
        """A maximum times a literal is still one."""
        return flag(((x.mark & MAX) != 0) & ((by.mark & LITERAL) != 0), MAX)

    @staticmethod
    def _low_product(x: Cell, by: Cell) -> Array:
        """-inf times a positive number; a sentinel only times a positive literal."""
        positive = by.sample > 0
        literal = (by.mark & LITERAL) != 0
        return flag(positive & by.alive & (x.minus_infinity | (x.sentinel & literal)), NEGINF)

    @staticmethod
    def _absorbed(x: Cell, other: Cell, mark: Array, sample: Array) -> tuple[Array, Array]:
        """0 * y is the literal 0, but for 0 * infinity."""
        zero = x.zero_literal
        if zero is None:
            return mark, sample
        zero = zero & ~other.minus_infinity & ~np.isposinf(other.sample)
        if not zero.any():
            return mark, sample
        return np.where(zero, BOTH | LITERAL | CONCRETE | WHOLE | PURE, mark), where(
            zero, np.zeros((1,) * mark.ndim), sample
        )

    def inverse(self, x: Cell) -> Cell:
        return self.div(self.literals.form(exact(1), x.mark.ndim), x)

    def div(self, a: Cell, b: Cell) -> Cell:
        a, b = self.channels.completed(a, b)
        turned = self.channels.inverse(b)
        mark = (self.shared(a, turned) & ~(CONCRETE | WHOLE)) | self._kept_max(a, turned) | signs.product(a, b)
        if a.has(SIGNS) or b.has(SIGNS):
            mark = mark | parity.quotient(self.literals, a, b)
        if not (a.is_all(LITERAL) and b.is_all(LITERAL)):
            mark = mark | twist.product(self.literals, a, b)
        if a.has(NEGINF):
            mark = mark | self._low_product(a, b)
        sample = pointwise(np.divide, a.sample, b.sample)
        mark, sample = self._absorbed(a, b, mark, sample)
        v, w = self.channels.apply("mul", mark, a, turned)
        self.learn("div", a, b)
        return self.remembered(Cell(sample, v, w, mark))

    def scaled(self, x: Cell, factor: Form) -> Cell:
        return self.mul(x, self.literals.form(factor, x.mark.ndim))

    def over(self, x: Cell, divisor: Form) -> Cell:
        return self.div(x, self.literals.form(divisor, x.mark.ndim))

    def plus(self, x: Cell, term: int) -> Cell:
        return self.add(x, self.literals.form(exact(term), x.mark.ndim))

    def power(self, x: Cell, n: int) -> Cell:
        """x^n by a whole number; negative n divides."""
        if n < 0:
            return self.inverse(self.power(x, -n))
        if n == 0:
            return self.literals.form(exact(1), x.mark.ndim)
        v = self.channels.field.v.power(x.v, n) if x.has(V) else x.v
        w = self.channels.field.w.power(x.w, n) if x.has(W) else x.w
        kept = x.mark & (_KEPT | ROOTS | FLOATS) | (x.mark & SIGNS if n == 1 else parity.unsure(x.mark))
        known = signs.facts(x) | (flag((x.mark & BOTH) != 0, NONNEG) if n % 2 == 0 else NOTHING)
        return Cell(pointwise(lambda s: np.power(s, n), x.sample), v, w, kept | known)

    # -- roots ---------------------------------------------------------------------------------------------------

    def sqrt(self, x: Cell) -> Cell:
        """sigma(v), multiplicative; the root of a non-residue marks its channel (SEMANTICS §5)."""
        known = self.literals.mapped(x, lambda form: form.sqrt())
        if known is not None:
            return known
        mark, field = x.mark & (BOTH | ROOTS | LITERAL | NONZERO | FLOATS) | parity.unsure(x.mark), self.channels.field
        mark = mark | flag((x.mark & BOTH) != 0, NONNEG)
        v, w = nothing(mark.ndim), nothing(mark.ndim)
        if x.has(V):
            v, bad = field.v.sqrt(x.v)
            v = twist.root("v", x, v, field.v.neg(v))
            mark = mark | flag(bad & ((mark & V) != 0), ROOT_V) if bad.any() else mark
        if x.has(W):
            w, bad = field.w.sqrt(x.w)
            w = twist.root("w", x, w, field.w.neg(w))
            mark = mark | flag(bad & ((mark & W) != 0), ROOT_W) if bad.any() else mark
        return Cell(pointwise(np.sqrt, x.sample), v, w, mark)

    def cbrt(self, x: Cell) -> Cell:
        """3 divides neither p-1 nor q-1 (p = 2q+1, all three prime): cube roots are unique powers."""
        field = self.channels.field
        v = field.v.power(x.v, pow(3, -1, field.v.m - 1)) if x.has(V) else x.v
        w = field.w.power(x.w, pow(3, -1, field.w.m - 1)) if x.has(W) else x.w
        return Cell(pointwise(np.cbrt, x.sample), v, w, x.mark & (BOTH | ROOTS | LITERAL) | parity.unsure(x.mark))
