"""What float literals mean: their exact values, or what `real` identifies them with, and which of that was used.

Takes both programs' constants; gives Values.  Must not know operations.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import fmpq

from equivalence.certificate.choices import Choices
from equivalence.certificate.symbols import MINUS, PLUS, Number, Uncertain
from equivalence.fields.constants import Constant, Identification, exact, identify
from equivalence.interpretations.real_literals import SENTINEL, constants_of
from lowering.ir.program import Program


class Meanings:
    """Values of literals under one identification."""

    def __init__(self, choices: Choices, a: Program, b: Program) -> None:
        self.choices = choices
        self.identification: Identification = identify(constants_of(a), constants_of(b))
        self.used: dict[Constant, None] = {}
        self._known: dict[Constant, Number] = {}

    def literal(self, value: float, dtype: str) -> Number:
        key = (dtype, value)
        if key not in self._known:
            self._known[key] = self._made(value, dtype)
        return self._known[key]

    def _made(self, value: float, dtype: str) -> Number:
        if math.isnan(value):
            raise Uncertain("a literal that is no number")
        if math.isinf(value):
            return MINUS if value < 0 else PLUS
        form = self.identification.meaning.get((dtype, value))
        if form is not None and form != exact(value):
            self.used[(dtype, value)] = None
            if value > SENTINEL:
                return self.choices.form(form)
        r = form.rational if form is not None and form.is_rational else Fraction(value)
        c = fmpq(r.numerator, r.denominator)
        return self.choices.mask(c) if value <= SENTINEL else self.choices.rational(c)

    def words(self) -> list[str]:
        """The identifications that were used."""
        said = [f"{dtype} {value!r} " for dtype, value in self.used]
        return [text for text in self.identification.assumptions if any(one in f"{text} " for one in said)]
