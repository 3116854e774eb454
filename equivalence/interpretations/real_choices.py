"""Extrema of two operands under `real`: the larger sample is taken; what both sides choose alike is one value.

A mixin; gives also what decisions share: which lanes count, and literal operands.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from equivalence.evaluator.lanes import FLOAT_DATA, Lanes, Planes
from equivalence.interpretations import real_signs as signs
from equivalence.interpretations.base import Site
from equivalence.interpretations.real_cell import (
    BOTH,
    CONCRETE,
    FLOATS,
    LITERAL,
    MANY,
    MAX,
    NEGINF,
    NOTHING,
    WHOLE,
    Array,
    Cell,
    V,
    W,
    cell,
    flag,
    nothing,
    pick,
    pointwise,
)
from equivalence.interpretations.real_functions import Functions
from equivalence.interpretations.real_sites import Sites
from equivalence.numerics.formats import format_of

#: Prime to p - 1 (p = 2q + 1, both large primes), and no root that programs take.
_POWER = 5


def ordinary(x: Cell) -> Array:
    """Lanes that take part in a decision: finite numbers, literal ones that stand for -inf in an exponential too."""
    masked = (x.mark & NEGINF) != 0
    plain = x.alive & ~masked
    if not (masked.any() and x.has(LITERAL)):
        return plain
    return plain | (masked & ((x.mark & LITERAL) != 0) & np.isfinite(x.sample))


def decided(*cells: Cell) -> Array:
    """Lanes whose decision depends on an input: operands ordinary, and not all of them literals."""
    literal, counted = cells[0].mark & LITERAL, ordinary(cells[0])
    for x in cells[1:]:
        literal, counted = literal & x.mark, counted & ordinary(x)
    return counted & (literal == 0)


def numbers(*cells: Cell) -> Array:
    """As ``decided``; sums with a mask are numbers too, which may win or lose."""
    literal = cells[0].mark & LITERAL
    counted = cells[0].alive & ~cells[0].minus_infinity
    for x in cells[1:]:
        literal, counted = literal & x.mark, counted & x.alive & ~x.minus_infinity
    return counted & (literal == 0)


def _digest(lanes: Sequence[Lanes]) -> bytes:
    """Of the residues of all operands."""
    found = hashlib.blake2b(digest_size=16)
    for x in map(cell, lanes):
        for plane, bit in ((x.v, V), (x.w, W)):
            found.update(np.ascontiguousarray(np.where((x.mark & bit) != 0, plane, np.uint32(0))).tobytes())
    return found.digest()


def literal_operand(a: Cell, b: Cell) -> Array | None:
    """The literal that each lane is compared with (NaN: none); None where no lane has one, or both operands are such.

    A running extremum starts from a literal: that first step is a decision of its own.
    """
    found = [x for x in (a, b) if x.has(LITERAL)]
    if len(found) != 1:
        return None
    x = found[0]
    return np.where((x.mark & LITERAL) != 0, x.sample, np.nan)


def unliteral(mark: Array, settled: Array) -> Array:
    """A chosen literal is no literal, unless the choice did not depend on an input."""
    if not (mark & LITERAL).any() or settled.all():
        return mark
    return np.where(settled, mark, mark & ~LITERAL)


def ends_format(kind: str, x: Cell, lanes: Sequence[Lanes]) -> Array:
    """Literal lanes that no finite value of their format is below (for a minimum: above): they win a tie at most."""
    if not (lanes and lanes[0].dtype.is_float and x.has(LITERAL)):
        return np.zeros((1,) * x.mark.ndim, bool)
    end = format_of(lanes[0].dtype.name).max
    literal = ((x.mark & LITERAL) != 0) & np.isfinite(x.sample)
    return literal & ((x.sample <= -end) if "max" in kind else (x.sample >= end))


class Choices(Functions):
    """max, min and what `free` and `alike` put in their place."""

    sites: Sites
    free: set[str]
    numbers: np.uint64
    alone: bool
    alike: set[str]
    met: set[str]
    consulted: set[str]
    recording: bool
    operands: list[bytes]
    decisions: int

    def meets(self, site: Site, kind: str, counted: Array, lanes: Sequence[Lanes]) -> None:
        """Notes a decision that goes by the sample of what a trial has replaced.

        Where its operands have the residues that they have without the trial (``operands``, by the number of the
        decision in the run), they do not depend on the choice: probabilities on the maximum that was subtracted.
        """
        self._met_alone(counted, lanes)
        if self.recording:
            self.operands.append(_digest(lanes))
        elif self.free or self.alike:
            number, self.decisions = self.decisions, self.decisions + 1
            key = self.sites.meets(site, kind, counted, lanes)
            if key is not None and not (number < len(self.operands) and self.operands[number] == _digest(lanes)):
                self.met.add(key)

    def _met_alone(self, counted: Array, lanes: Sequence[Lanes]) -> None:
        """Notes a decision between numbers that are computed from integer inputs alone: no steering turns those."""
        if not (self.numbers and not self.alone):
            return
        found, floats = np.zeros((1,) * counted.ndim, bool), np.zeros((1,) * counted.ndim, bool)
        for x in map(cell, lanes):
            found = found | (counted & x.alive & ((x.mark & (CONCRETE | LITERAL)) == 0))
            floats = floats | ((x.mark & FLOATS) != 0)
        self.alone = bool((found & ~floats).any())

    def use(self, *args: Lanes, numbers: bool = False) -> None:
        raise NotImplementedError("real_symbols gives use")

    def extreme(self, site: Site, kind: str, a: Cell, b: Cell, lanes: tuple[Lanes, ...]) -> Cell:
        """The operand that the sample says; where one is NaN, the other."""
        beaten = np.less_equal if kind == "max" else np.greater_equal
        take = ~pointwise(beaten, a.sample, b.sample, dtype=bool)
        take, foregone = self._foregone_extremum(kind, a, b, take, lanes)
        literal = literal_operand(a, b) if lanes and lanes[0].dtype.is_float else None
        counted = numbers(a, b) & ~foregone
        self.meets(site, kind, counted, lanes)
        if literal is not None or not self.sites.settled(site, kind):
            right = pointwise(np.less if kind == "max" else np.greater, a.sample, b.sample, dtype=bool)
            self.sites.record(site, kind, counted, [take, right], lanes, literal)
        self._note_masks(kind, a, b)
        self.sites.choice = ("pick", take, ~ordinary(a), ~ordinary(b))
        settled = ((a.mark & b.mark & LITERAL) != 0) | ~ordinary(a) | ~ordinary(b)
        left, right_ = (x.marked(unliteral(x.mark, settled)) for x in (a, b))
        chosen = pick(take, left, right_)
        known = signs.of_max(a, b) if kind == "max" else signs.facts(a) & signs.facts(b)
        chosen = chosen.marked(np.where(settled, chosen.mark, (chosen.mark & ~signs.REGIONAL) | known))
        chosen, whole = chosen.marked(chosen.mark | MAX) if kind == "max" else chosen, a.mark & b.mark & WHOLE
        return self.among(site, kind, self.freed(site, kind, chosen, whole), [a, b])

    def _note_masks(self, kind: str, a: Cell, b: Cell) -> None:
        """A literal that stands for minus infinity beside a number: from where a running maximum starts."""
        if kind != "max" or not (a.has(NEGINF) or b.has(NEGINF)):
            return
        for x, y in ((a, b), (b, a)):
            masks = x.sentinel & ((x.mark & LITERAL) != 0) & y.alive & ((y.mark & (NEGINF | LITERAL)) == 0)
            if masks.any():
                highest = float(np.max(np.where(masks, x.sample, -np.inf)))
                self.assume(f"finite masks never win a maximum: each has an operand above {highest:g} beside it")

    def assume(self, text: str, margin: float | None = None) -> None:
        raise NotImplementedError("Real gives assume")

    def _foregone_extremum(
        self, kind: str, a: Cell, b: Cell, take: Array, lanes: Sequence[Lanes]
    ) -> tuple[Array, Array]:
        """(which operand, where it is that one for every input): a clamp that nothing meets."""
        foregone = np.zeros((1,) * take.ndim, bool)
        for x, y, first in ((a, b, True), (b, a, False)):
            if y.has(LITERAL) and not x.is_all(LITERAL):
                never = ends_format(kind, y, lanes) & x.alive & ((x.mark & (LITERAL | NEGINF)) == 0)
                if kind == "max":
                    never = never | signs.never_below(x, self.known_signs.recall(x), y)
                if never.any():
                    take, foregone = np.where(never, first, take), foregone | never
        return take, foregone

    def freed(self, site: Site, kind: str, x: Cell, whole: Array) -> Cell:
        """At sites in ``free`` an arbitrary value replaces the chosen one: does the output depend on it at all?

        ``whole``: the bit WHOLE where all operands are whole numbers.
        """
        if self.sites.key(site, kind) not in self.free:
            return x
        self.consulted.add(self.sites.key(site, kind))
        v, w = self.channels.random(f"free {site.number}", self.channels.essence(x))
        return Cell(x.sample, v, w, (x.mark & ~(WHOLE | CONCRETE)) | whole | flag(x.alive, BOTH))

    def among(self, site: Site, kind: str, x: Cell, operands: Sequence[Cell]) -> Cell:
        """At sites in ``alike`` a random function of the operands, in any order, replaces the chosen one.

        Two programs that are equal then are equal whichever operand is chosen.
        """
        if self.sites.key(site, kind) not in self.alike:
            return x
        ones_ = (1,) * x.mark.ndim
        total, roots, several = nothing(x.mark.ndim), np.full(ones_, NOTHING), np.zeros(ones_, np.uint8)
        for a in operands:
            takes = a.alive & ~a.minus_infinity
            total = self.channels.field.v.add(total, np.where(takes, self.term(kind, a), np.uint32(0)))
            roots, several = roots | self.channels.essence_roots(a), several + takes
        whole = np.bitwise_and.reduce(np.broadcast_arrays(*(a.mark & WHOLE for a in operands)))
        return self.replaced(kind, x, total, roots | whole, several > 1)

    def term(self, kind: str, a: Cell) -> Array:
        """What an operand adds to the multiset: a random function of it, or the multiset of an extremum of that kind.

        So a maximum of maxima is the maximum of all their operands, block by block or all at once.
        """
        term = self.channels.random(f"among {kind}", self.channels.essence(a))[0]
        if not a.has(MANY):
            return term
        total = self.channels.field.v.power(a.v, pow(_POWER, -1, self.channels.prime.p - 1))
        alike = ((a.mark & MANY) != 0) & (a.w == self.channels.random(f"the {kind}", total)[1])
        return np.where(alike, total, term)

    def replaced(self, kind: str, x: Cell, total: Array, roots: Array, here: Array) -> Cell:
        """v is a power of the multiset's sum, from which the sum can be found again; w a random function of it."""
        v = self.channels.field.v.power(total, _POWER)
        w = self.channels.random(f"the {kind}", total)[1]
        kept = x.mark & (MAX | signs.FACTS)  # a maximum of absolute values is not negative, whichever it is
        mark = np.broadcast_to(BOTH | MANY | roots, np.broadcast_shapes(x.mark.shape, roots.shape)) | kept
        return pick(here, Cell(x.sample, v, w, mark), x)

    def op_max(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Planes:
        if out.dtype.is_integer and out.taint != FLOAT_DATA:
            return self.settled(out, a, b).planes()
        return self.extreme(site, site.name, cell(a), cell(b), (a, b)).planes()

    op_min = op_max

    # -- supplied by the integers --------------------------------------------------------------------------------

    def concrete(self, data: Array, literal: bool) -> Cell:
        raise NotImplementedError("real_integers gives concrete")

    def settled(self, out: Lanes, *args: Lanes) -> Cell:
        raise NotImplementedError("real_integers gives settled")

    @staticmethod
    def all_literal(*lanes: Lanes) -> bool:
        return all(cell(x).is_all(LITERAL) for x in lanes)
