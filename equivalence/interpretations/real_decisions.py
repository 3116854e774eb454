"""Decisions of `real`: extrema, comparisons, selections, absolute values and saturation follow the sample.

A mixin; every decision whose operands depend on an input is a site whose outcomes are recorded (SEMANTICS §5).
"""

from __future__ import annotations

import hashlib

import numpy as np

from equivalence.evaluator.lanes import FLOAT_DATA, Lanes, Planes
from equivalence.interpretations import real_signs as signs
from equivalence.interpretations.base import Site
from equivalence.interpretations.real_cell import (
    BOTH,
    CONCRETE,
    LITERAL,
    NEGINF,
    NONNEG,
    NONZERO,
    NOTHING,
    PURE,
    WHOLE,
    Array,
    Cell,
    V,
    W,
    cell,
    flag,
    pick,
    pointwise,
)
from equivalence.interpretations.real_choices import Choices, decided, literal_operand, numbers, ordinary, unliteral
from lowering.ir.types import DType

#: The largest finite value of the formats that saturate.
LARGEST = {
    "f8e4m3": 240.0, "f8e4m3fn": 448.0, "f8e5m2": 57344.0, "f8e4m3fnuz": 240.0, "f8e5m2fnuz": 57344.0,
    "f8e4m3b11fnuz": 30.0, "f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": 3.4028234663852886e38,
}  # fmt: skip
#: Samples that are equal but for their rounding, and zeros that are kept apart (Real.spread).
_SAME, _BOTH_ZERO = 2.0**-36, 2.0**-28


def _equal(a: Array, b: Array) -> Array:
    """Zeros that are kept apart are so from each other too, as in every other comparison; of 0 they are not."""
    larger, smaller = np.maximum(np.abs(a), np.abs(b)), np.minimum(np.abs(a), np.abs(b))
    close = (np.abs(a - b) <= _SAME * larger) & (larger < np.inf)
    return (a == b) | close | ((larger < _BOTH_ZERO) & (smaller == 0))


_PREDICATES = {
    "eq": _equal, "ne": lambda a, b: ~_equal(a, b), "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal,
}  # fmt: skip


#: Whether the first operand is the greater one.
_DIRECTIONS = {"gt": True, "ge": True, "lt": False, "le": False}
#: The outcome, as a bit, that only equality shows.
_EQUALITY = {"eq": 1, "ne": 2}
MOST_TRUTHS = 64


class Decisions(Choices):
    """Primitives that compare.  ``half``: 0 where `free` turns all lanes of a decision, else which half it turns."""

    half: int
    unexcused: set[str]  # comparisons for equality of values that decisions have made
    truths: dict[int, tuple[Array, str]]  # by the identity of their samples: comparisons lately made

    def truth(self, outcome: Array, literal: Array) -> Cell:
        """A concrete truth value."""
        residues = outcome.astype(np.uint32)
        mark = (
            (BOTH | CONCRETE | WHOLE | NONNEG) | flag(literal, LITERAL)
            if literal.any()
            else np.full((1,) * outcome.ndim, BOTH | CONCRETE | WHOLE | NONNEG)
        )
        return Cell(outcome.astype(np.float64), residues, residues, mark)

    def op_abs(self, site: Site, out: Lanes, a: Lanes) -> Planes:
        if out.dtype.is_integer and out.taint != FLOAT_DATA:
            return self.settled(out, a).planes()
        x = cell(a)
        negative = pointwise(np.signbit, x.sample, dtype=bool)
        upright = (self.known_signs.recall(x) & NONNEG) != 0  # for every input: a sum of exponentials
        counted, negative = numbers(x) & ~upright, negative & ~upright
        self.meets(site, "abs", counted, (a,))
        if not self.sites.settled(site, "abs"):
            self.sites.record(site, "abs", counted, [negative, ~negative], (a,))
        flipped = pick(negative, self.neg(x), x)
        flipped = flipped.marked((flipped.mark & ~(NEGINF | PURE)) | flag(flipped.alive, NONNEG) | (x.mark & NONZERO))
        chosen = self.freed(site, "abs", flipped, x.mark & WHOLE)
        if self.sites.key(site, "abs") in self.alike:
            chosen = self.hashed("the abs", self.upright(x)[1]).sampled(flipped.sample)
        return chosen.marked(chosen.mark | flag(chosen.alive, NONNEG)).planes()  # nothing that stands for it is below 0

    def op_cmp(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Planes:
        self.use(a, b)
        if out.taint != FLOAT_DATA:
            return self.concrete(out.data, self.all_literal(a, b)).planes()
        x, y = cell(a), cell(b)
        outcome = pointwise(_PREDICATES[site.attrs["pred"]], x.sample, y.sample, dtype=bool)
        if x.sample is y.sample and x.v is y.v:
            return self.truth(outcome, np.ones((1,) * outcome.ndim, bool)).planes()  # is it NaN: never, in scope
        always, known = self._settled_by_facts(site.attrs["pred"], x, y)
        outcome = np.where(known, always, outcome)
        literal = literal_operand(x, y) if a.dtype.is_float else None
        counted = numbers(x, y) & ~known
        self.meets(site, "cmp", counted, (a, b))
        if literal is not None or not self.sites.settled(site, "cmp"):
            self.sites.record(site, "cmp", counted, [outcome, ~outcome], (a, b), literal)
        if site.attrs["pred"] in _EQUALITY and literal is None and a.dtype.is_float:
            self._excuse_equality(site, counted, x, y)
        outcome = self.turned(site, "cmp", outcome, counted)
        made = self.truth(outcome, self._foregone(x, y) | known)
        if not self.sites.off:
            self._note_side(site, x, y, made)
        return made.planes()

    def _excuse_equality(self, site: Site, counted: Array, x: Cell, y: Cell) -> None:
        """Two different rational functions of inputs are equal on a null set: ties are left to the tests."""
        key, bit = self.sites.key(site, "cmp"), _EQUALITY[site.attrs["pred"]]
        if (counted & ((x.mark & y.mark & PURE) == 0)).any():
            self.unexcused.add(key)
        record = self.sites.get(key)
        if record is not None:
            record.excluded = record.excluded & ~bit if key in self.unexcused else record.excluded | bit

    def _note_side(self, site: Site, x: Cell, y: Cell, made: Cell) -> None:
        """Which value a comparison takes to be above or below which literal."""
        direction = _DIRECTIONS.get(site.attrs["pred"])
        if direction is None or x.is_all(LITERAL) == y.is_all(LITERAL):
            return
        if x.is_all(LITERAL):
            x, y, direction = y, x, not direction
        digest = hashlib.blake2b(digest_size=16)
        for plane in (x.v, x.w, y.sample):
            digest.update(np.ascontiguousarray(plane).tobytes())
        key = self.sites.key(site, "cmp")
        self.sites.sides_of[key] = digest.digest(), "above" if direction else "below"
        self.truths = {**dict(list(self.truths.items())[-MOST_TRUTHS:]), id(made.sample): (made.sample, key)}

    def turned(self, site: Site, kind: str, outcome: Array, counted: Array) -> Array:
        """At sites in ``free`` the other outcome: on all lanes that count, or on an arbitrary half of them."""
        key = self.sites.key(site, kind)
        if key not in self.free:
            return outcome
        self.consulted.add(key)
        if not self.half:
            return outcome ^ counted
        shape = np.broadcast_shapes(outcome.shape, counted.shape)
        number = np.arange(int(np.prod(shape)), dtype=np.uint64).reshape(shape) + np.uint64(
            self.half * 0x9E3779B1 + self.sites.turns_of(key)
        )
        coin = (number * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(63)
        return outcome ^ (counted & (coin == 1))

    def _settled_by_facts(self, pred: str, x: Cell, y: Cell) -> tuple[Array, Array]:
        """(outcome, where it is so for every input): by what is known of signs, or a difference that is a number."""
        above, below, apart = self._order(x, y)
        never, unequal = np.zeros_like(above), above | below | apart
        always = {"ne": (unequal, never), "eq": (never, unequal)}
        always |= dict.fromkeys(("gt", "ge"), (above, below)) | dict.fromkeys(("lt", "le"), (below, above))
        yes, no = always[pred]
        if pred in ("ge", "le"):
            first, second = (x, y) if pred == "ge" else (y, x)
            if second.has(LITERAL) and not first.is_all(LITERAL):
                yes = yes | signs.never_below(first, self.known_signs.recall(first), second)
        if pred in ("lt", "gt"):
            first, second = (x, y) if pred == "lt" else (y, x)
            if second.has(LITERAL) and not first.is_all(LITERAL):
                no = no | signs.never_below(first, self.known_signs.recall(first), second)
        return yes, yes | no

    def _order(self, x: Cell, y: Cell) -> tuple[Array, Array, Array]:
        """Lanes where x > y, x < y, x != y for every input."""
        above, below, apart = (np.zeros((1,) * x.mark.ndim, bool) for _ in range(3))
        for first, second, flipped in ((x, y, False), (y, x, True)):
            if second.has(LITERAL) and not first.is_all(LITERAL):
                bits = self.known_signs.recall(first)
                more = signs.above(bits, second)
                above, below = (above, below | more) if flipped else (above | more, below)
                apart = apart | (((second.mark & LITERAL) != 0) & (second.sample == 0) & ((bits & NONZERO) != 0))
        if x.has(BOTH) and y.has(BOTH) and not (x.is_all(LITERAL) or y.is_all(LITERAL)):
            one = self._differs_by_one(x, y), self._differs_by_one(y, x)
            above, below = above | one[0], below | one[1]
        return above, below, apart

    def _differs_by_one(self, x: Cell, y: Cell) -> Array:
        """Lanes where x - y is 1 in both channels."""
        both = (x.mark & y.mark & BOTH) == BOTH
        if not both.any():
            return np.zeros((1,) * x.mark.ndim, bool)
        v, w = self.channels.field.v.sub(x.v, y.v), self.channels.field.w.sub(x.w, y.w)
        return both & (v == 1) & (w == 1)

    @staticmethod
    def _foregone(x: Cell, y: Cell) -> Array:
        """Comparisons of literals, and of finite numbers with literal infinities."""
        both = (x.mark & y.mark & LITERAL) != 0
        infinite = [((z.mark & (LITERAL | BOTH)) == LITERAL) for z in (x, y)]
        return both | infinite[0] | infinite[1]

    def op_select(self, site: Site, out: Lanes, c: Lanes, a: Lanes, b: Lanes) -> Planes:
        condition, x, y = cell(c), cell(a), cell(b)
        take = condition.sample != 0
        settled = (condition.mark & LITERAL) != 0
        kind = "select" if c.taint == FLOAT_DATA else "choice"
        origin = self.truths.get(id(condition.sample))
        if origin is not None:
            self.sites.origins[self.sites.key(site, "select")] = origin[1]
        given = kind == "choice" and out.dtype.is_integer  # an index that given integers choose is a given integer
        if not given and not settled.all() and not self.sites.settled(site, kind):
            self.sites.record(site, kind, condition.alive & ~settled, [take, ~take], (c,))
        if kind == "select":
            take = self.turned(site, kind, take, condition.alive & ~settled)
        common, common_whole = signs.facts(x) & signs.facts(y), x.mark & y.mark & WHOLE
        x, y = (z.marked(unliteral(z.mark, settled)) for z in (x, y))
        chosen = pick(take, x, y)
        chosen = chosen.marked(np.where(settled, chosen.mark, (chosen.mark & ~signs.REGIONAL) | common))
        self.sites.choice = ("pick", take)
        return (self.freed(site, kind, chosen, common_whole) if kind == "choice" else chosen).planes()

    def saturated(self, site: Site, x: Cell, dtype: DType, lanes: Lanes) -> Cell:
        """Clamped to the largest finite values of ``dtype``: a decision like any other."""
        limit = LARGEST.get(dtype.name)
        if limit is None:
            return x
        above, below = x.sample > limit, x.sample < -limit
        self.meets(site, "saturation", decided(x), (lanes,))
        if not self.sites.settled(site, "saturation"):
            self.sites.record(site, "saturation", decided(x), [~(above | below), above, below], (lanes,))
        for clipped, value in ((above, limit), (below, -limit)):
            if clipped.any():
                bound = self.literals.floats(np.full((1,) * x.mark.ndim, value), dtype.name)
                x = pick(clipped, bound.marked(bound.mark & ~(LITERAL | NEGINF)), x)
                x = x.marked(x.mark & ~PURE)
        return x


__all__ = ["NOTHING", "Decisions", "V", "W", "decided", "ordinary", "unliteral"]
