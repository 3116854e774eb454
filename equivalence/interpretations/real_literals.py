"""Literals of `real`: exact meanings of constants, algebra on them, and the constants of a program.

Takes a program's constants and their identification; gives Cells.  A literal lane is found again by its two residues,
so that cones of literals keep an exact form (SEMANTICS §5).  Must not know sites or operations of KIR.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from fractions import Fraction
from math import gcd

import numpy as np

from equivalence.fields.constants import Constant, Form, Identification, exact, field_value, recognise
from equivalence.fields.formats import FORMATS
from equivalence.fields.forms import prime_factors
from equivalence.interpretations.real_cell import (
    BOTH,
    CONCRETE,
    LITERAL,
    NEGINF,
    NOTHING,
    PURE,
    WHOLE,
    Array,
    Cell,
    V,
    W,
    flag,
    nothing,
    ones,
)
from equivalence.interpretations.real_channels import Channels
from lowering.ir.program import Program

#: Finite literals this low may be meant as minus infinity; whether they are is seen where exp meets them.
SENTINEL = -9.0e3
#: Literal arrays up to this size keep exact meanings through arithmetic.
SMALL = 256
#: Different values of one constant array that are worth identifying.
_DISTINCT = 16


def constants_of(program: Program) -> set[Constant]:
    """(dtype name, value) of every finite float literal of the program and its kernels."""
    found: set[Constant] = set()
    for op in program.walk():
        if op.name == "constant" and op.attrs["to"] in FORMATS:
            with np.errstate(all="ignore"):
                stored = np.asarray(op.attrs["value"]).astype(op.results[0].type.dtype.numpy).astype(np.float64)
            values = np.unique(stored)
            if values.size <= _DISTINCT:
                found.update((op.attrs["to"], float(v)) for v in values if math.isfinite(v))
    return found


def log_form(form: Form) -> Form | None:
    """ln of a rational form where it is a form: of n and 1/n for whole n."""
    if not form.is_rational or form.rational <= 0:
        return None
    r = form.rational
    if r == 1:
        return exact(0)
    if r.numerator != 1 and r.denominator != 1:
        return None
    sign, n = (1, r.numerator) if r.denominator == 1 else (-1, r.denominator)
    if n > 1 << 40:
        return None
    powers = Counter(prime_factors(n))
    k = gcd(*powers.values())
    base = math.prod(f ** (e // k) for f, e in powers.items())
    return Form(Fraction(sign * k), ln2=1) if base == 2 else Form(Fraction(sign * k), log=base)


def sum_form(a: Form, b: Form, sign: int = 1) -> Form | None:
    """a + sign * b where their irrational parts are the same (or one of them is 0)."""
    if b.rational == 0:
        return a
    if a.rational == 0:
        return b.times(exact(sign))
    if replace(a, rational=b.rational) != b:
        return None
    total = a.rational + sign * b.rational
    return exact(0) if total == 0 else replace(a, rational=total)


def quotient_form(a: Form, b: Form) -> Form | None:
    """a / b, also where b's logarithm is a's."""
    if a.log > 1 and a.log == b.log:
        a, b = replace(a, log=1), replace(b, log=1)
    inverse = b.inverse()
    return None if inverse is None else a.times(inverse)


FORM_OF: dict[str, Callable[[Form, Form], Form | None]] = {
    "add": sum_form,
    "sub": lambda a, b: sum_form(a, b, -1),
    "mul": lambda a, b: a.times(b),
    "div": quotient_form,
}


class Literals:
    """Cells of literal values, and which exact numbers their residues stand for."""

    def __init__(self, channels: Channels, seed: int, identification: Identification | None) -> None:
        self.channels = channels
        self.seed = seed
        self.identification = identification
        self._forms: dict[tuple[int, int], Form] = {}
        self._by_dtype: dict[str, list[tuple[float, Form]]] = {}
        for (dtype, value), form in (identification.meaning if identification else {}).items():
            self._by_dtype.setdefault(dtype, []).append((value, form))

    def twin(self) -> Literals:
        """The same meanings; what either learns from now on is its own."""
        other = copy(self)
        other._forms = dict(self._forms)
        return other

    # -- from values ---------------------------------------------------------------------------------------------

    def floats(self, data: Array, dtype: str) -> Cell:
        """Literals with the values ``data`` of a float dtype."""
        sample = data.astype(np.float64)
        finite = np.isfinite(sample)
        v, w = self.channels.dyadic(np.where(finite, sample, 0.0))
        mark = np.where(finite, BOTH | LITERAL | PURE, LITERAL)
        mark = mark | flag(sample <= SENTINEL, NEGINF) | flag(finite & (sample == np.rint(sample)), CONCRETE | WHOLE)
        return self._meant(Cell(sample, v, w, mark), dtype)

    def integers(self, data: Array) -> Cell:
        v, w = self.channels.integers(data)
        mark = np.full(ones(data.ndim), BOTH | LITERAL | CONCRETE | WHOLE | PURE)
        return Cell(data.astype(np.float64), v, w, mark)

    def _meant(self, x: Cell, dtype: str) -> Cell:
        """The channels of what each value stands for, where that is not the value itself."""
        sample, v, w, mark = x
        for value, form in self._meanings(x.sample, dtype):
            here = x.sample == value
            place = field_value(form, self.channels.prime, self.seed)
            self.learn(form)
            if form != exact(value) and here.any():
                valid = (V if place.v_valid else NOTHING) | (W if place.w_valid else NOTHING)
                v, w = np.where(here, np.uint32(place.v), v), np.where(here, np.uint32(place.w), w)
                mark = np.where(here, (mark & ~BOTH) | valid, mark)
                sample = np.where(here, float(form.value()), sample)
        return Cell(sample, v, w, mark)

    def _meanings(self, sample: Array, dtype: str) -> Iterable[tuple[float, Form]]:
        if self.identification is not None and dtype in self._by_dtype:
            known = self._by_dtype[dtype]
            if sample.size > 1:
                return known
            hits = [pair for pair in known if pair[0] == sample.item()]
            if hits:
                return hits
        if sample.size > SMALL:
            return []
        values = [float(v) for v in np.unique(sample) if math.isfinite(v)][:_DISTINCT]
        return [(v, recognise(v, dtype) or exact(v)) for v in values]

    # -- from forms ----------------------------------------------------------------------------------------------

    def form(self, form: Form, rank: int) -> Cell:
        """A uniform literal with an exact meaning."""
        place = field_value(form, self.channels.prime, self.seed)
        self.learn(form)
        valid = (V if place.v_valid else NOTHING) | (W if place.w_valid else NOTHING)
        value = float(form.value())
        whole = CONCRETE | WHOLE if form.is_rational and form.rational.denominator == 1 else NOTHING
        v, w = (np.full(ones(rank), r, np.uint32) for r in (place.v, place.w))
        return Cell(np.full(ones(rank), value), v, w, np.full(ones(rank), valid | LITERAL | PURE | whole))

    def learn(self, form: Form) -> None:
        place = field_value(form, self.channels.prime, self.seed)
        self._forms[(place.v, place.w)] = form

    def forms(self, x: Cell) -> list[Form] | None:
        """The exact meaning of each lane in row-major order; None unless all lanes are literals of forms, and few."""
        shape = np.broadcast_shapes(x.v.shape, x.w.shape, x.sample.shape)
        if int(np.prod(shape)) > SMALL or not x.is_all(LITERAL | V):
            return None
        lanes = (np.broadcast_to(plane, shape).ravel().tolist() for plane in x)
        found: list[Form] = []
        for sample, v, w, mark in zip(*lanes, strict=True):
            form = self._forms.get((v, w))
            if form is None and mark & CONCRETE and abs(sample) < 2**53:
                form = exact(int(sample))
            if form is None or not math.isclose(float(form.value()), sample, rel_tol=1e-3, abs_tol=1e-300):
                return None
            found.append(form)
        return found

    def of_forms(self, forms: list[Form], shape: tuple[int, ...]) -> Cell:
        """Literals of exact forms, laid out in ``shape``."""
        cells = [self.form(form, 1) for form in forms]
        planes = [np.concatenate([c[k] for c in cells]).reshape(shape) for k in range(4)]
        return Cell(*planes)

    def mapped(self, x: Cell, fn: Callable[[Form], Form | None]) -> Cell | None:
        """``fn`` of each literal's exact meaning, None where that is no form."""
        forms = self.forms(x)
        if forms is None:
            return None
        results = [fn(form) for form in forms]
        if any(r is None for r in results):
            return None
        shape = np.broadcast_shapes(x.v.shape, x.w.shape, x.sample.shape)
        return self.of_forms([r for r in results if r is not None], shape)

    def combined(self, op: str, a: Cell, b: Cell) -> None:
        """Learns the meanings of a op b, whose residues follow from the operands' (the field is homomorphic)."""
        shape = np.broadcast_shapes(a.v.shape, b.v.shape, a.sample.shape, b.sample.shape)
        if int(np.prod(shape)) > SMALL:
            return
        full = [self.forms(x.map(lambda p: np.broadcast_to(p, shape))) for x in (a, b)]
        if full[0] is None or full[1] is None:
            return
        for x, y in zip(*full, strict=True):
            result = None if op == "div" and y.rational == 0 else FORM_OF[op](x, y)
            if result is not None:
                self.learn(result)


__all__ = ["FORM_OF", "SENTINEL", "SMALL", "Literals", "constants_of", "log_form", "nothing"]
