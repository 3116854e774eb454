"""Outcomes of `real`'s decisions that no input brings to an output, as another decision throws away what they made.

Runs beside a Real.  An outcome holds in a region of inputs: where x > 20, a minimum of x and 20 is 20.  Where the value
goes only into a selection that takes the other one wherever x > 20, nothing depends on it: a guard before a logarithm,
a root or an exponential whose result is selected away.  The region of each watched outcome travels with what was
computed from it, in all lanes and whatever the samples say; a selection by the same value and an equal or weaker bound
ends it; what reaches an output, or steers, is alive.  Must not know the evaluator.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from equivalence.evaluator.lanes import FLOAT_DATA, Lanes, Planes
from equivalence.interpretations.base import Interpretation, Site, tag
from equivalence.interpretations.real_cell import BOTH, CONCRETE, LITERAL, ROOT_V, ROOT_W, Array, Cell, V, W, cell
from equivalence.interpretations.real_decisions import LARGEST

if TYPE_CHECKING:
    from equivalence.interpretations.real import Real

#: Outcomes that are watched in one run.
MOST = 12
#: No region: nothing of the outcome is on the way; regions of several kinds: no selection ends them.
NONE, MIXED = np.uint64(0), np.uint64(2)
_BELOW = np.uint64(1)  # the lowest bit of a key: whether the value is below the bound
_ODD = np.uint64(0x9E3779B97F4A7C15)
KINDS = ("max", "min", "cmp", "select", "abs", "saturation")
#: Kinds of sites by the operation that may have them.
_KINDS_OF = {"max": "max", "min": "min", "cmp": "cmp", "select": "select", "abs": "abs", "cast": "saturation"}
Watched = tuple[str, int]  # the key of a site, the number of an outcome


@dataclass(frozen=True, slots=True)
class Region:
    """By lane: what is above or below (``key``) which ``bound``; arrays of one rank, each extent full or 1."""

    key: Array
    bound: Array

    def opposite(self) -> Region:
        return Region(np.where(self.key == NONE, NONE, self.key ^ _BELOW), self.bound)

    def where(self, mask: Array) -> Region:
        return Region(np.where(mask, self.key, NONE), self.bound)

    def within(self, other: Region) -> Array:
        """Lanes where this region lies in the other one."""
        alike = (self.key == other.key) & (self.key != NONE) & ((self.key | _BELOW) != (MIXED | _BELOW))
        below = (self.key & _BELOW) != 0
        return alike & np.where(below, self.bound <= other.bound, self.bound >= other.bound)

    def along(self, axis: int, keep: bool) -> Region:
        """All lanes along an axis together."""
        key = self.key.max(axis=axis, keepdims=True)
        alike = ((self.key == key) | (self.key == NONE)).all(axis=axis, keepdims=True)
        bound = np.broadcast_to(self.bound, np.broadcast_shapes(self.bound.shape, self.key.shape))
        low = np.where(self.key == key, bound, np.inf).min(axis=axis, keepdims=True)
        high = np.where(self.key == key, bound, -np.inf).max(axis=axis, keepdims=True)
        made = Region(np.where(alike, key, MIXED), np.where((key & _BELOW) != 0, high, low))
        return made if keep else Region(made.key.squeeze(axis), made.bound.squeeze(axis))


def together(parts: Sequence[Region]) -> Region:
    """Where either is on the way: the weaker bound of one kind, else no region that a selection could end."""
    total = parts[0]
    for part in parts[1:]:
        if not total.key.any():
            total, part = part, total
        if part.key.any():
            total = _either(total, part)
    return total


def _either(a: Region, b: Region) -> Region:
    below = (a.key & _BELOW) != 0
    weaker = np.where(below, np.maximum(a.bound, b.bound), np.minimum(a.bound, b.bound))
    key = np.where(a.key == NONE, b.key, np.where((b.key == NONE) | (a.key == b.key), a.key, MIXED))
    return Region(key, np.where(a.key == NONE, b.bound, np.where(b.key == NONE, a.bound, weaker)))


class Regions(Interpretation):
    """Planes of the region in which each truth value holds, and of the regions of ``watched`` outcomes."""

    name = "regions"

    def __init__(self, real: Real, watched: Sequence[Watched]) -> None:
        assert len(watched) <= MOST
        self.real, self.watched = real, list(watched)
        names = ["holds", *(str(k) for k in range(len(watched)))]
        self.planes = {f"region {n}": np.dtype(np.uint64) for n in names}
        self.planes |= {f"bound {n}": np.dtype(np.float64) for n in names}
        self.names, self.number = names, 0
        self.met: set[Watched] = set()
        self.alive: set[Watched] = set()

    def collect(self, outputs: Iterable[Lanes]) -> None:
        """What reaches an output is alive."""
        for lanes in outputs:
            for number, one in enumerate(self.watched):
                if lanes.planes is not None and _region(lanes, str(number)).key.any():
                    self.alive.add(one)

    # -- leaves --------------------------------------------------------------------------------------------------

    def literal(self, data: Array, lanes: Lanes) -> Planes:
        return {name: np.zeros((1,) * data.ndim, dt) for name, dt in self.planes.items()}

    def atom(self, name: str, index: Array, lanes: Lanes) -> Planes:
        return self.literal(index, lanes)

    def undefined(self, first: int, lanes: Lanes) -> Planes:
        return self.literal(lanes.data, lanes)

    def steered(self, value: Lanes) -> bool:
        """Control, a mask or an address: what other data bring to an output is not known."""
        self.alive |= set(self.watched)
        return False

    # -- primitives ----------------------------------------------------------------------------------------------

    def apply(self, site: Site, out: Lanes, args: Sequence[Lanes]) -> Planes:
        found = {"holds": self._holds(site, out, args)}
        own = self._own(site, args, found["holds"])
        ends = _ends(site, args)
        for number, one in enumerate(self.watched):
            passed = self._passed(site, args, ends, str(number))
            found[str(number)] = together([passed, own[one]]) if one in own else passed
        return self._planes(found)

    def several(self, site: Site, outs: Sequence[Lanes], args: Sequence[Lanes], extra: Any = None) -> list[Planes]:
        axis, keep = site.attrs["axis"] + 1, site.name != "reduce"
        found = {name: together([_region(a, name) for a in args]).along(axis, keep) for name in self.names[1:]}
        found["holds"] = _nowhere(len(outs[0].shape) + 1)
        return [self._planes(found) for _ in outs]

    def _planes(self, found: dict[str, Region]) -> Planes:
        planes: Planes = {}
        for name, region in found.items():
            planes[f"region {name}"], planes[f"bound {name}"] = region.key, region.bound
        return planes

    def _passed(self, site: Site, args: Sequence[Lanes], ends: Sequence[Region | None], name: str) -> Region:
        """The operands' regions but for what ends here."""
        parts = [_region(a, name) for a in args]
        if not any(part.key.any() for part in parts):
            return _nowhere(len(args[0].shape) + 1 - (site.name == "reduce"))
        if site.name in ("reduce", "scan"):
            return parts[0].along(site.attrs["axis"] + 1, site.name == "scan")
        if site.name == "dot":
            rank = len(args[0].shape)
            return together([parts[0].along(rank, True), parts[1].along(rank - 1, True), *parts[2:]])
        if site.name == "select" and (known := _known(args[0])) is not None:
            always, take = known
            parts[1], parts[2] = parts[1].where(~always | take), parts[2].where(~always | ~take)
        for number, end in enumerate(ends):
            if end is not None and parts[number].key.any():
                parts[number] = parts[number].where(~parts[number].within(end))
        return together(parts)

    def _own(self, site: Site, args: Sequence[Lanes], holds: Region) -> dict[Watched, Region]:
        """Regions of the outcomes that are watched at this very operation."""
        kind = _KINDS_OF.get(site.name, "")
        key = self.real.sites.key(site, kind) if kind else ""
        here = [(key, k) for at, k in self.watched if kind and at == key]
        if not here:
            return {}
        self.met |= set(here)
        outcomes = self._outcomes(site, kind, args, holds)
        return {one: outcomes[one[1]] for one in here}

    def _outcomes(self, site: Site, kind: str, args: Sequence[Lanes], holds: Region) -> list[Region]:
        """In the order of OUTCOMES[kind]."""
        if kind in ("cmp", "select"):
            true = holds if kind == "cmp" else _region(args[0], "holds")
            return [true, true.opposite()]
        x = cell(args[0])
        if kind in ("max", "min"):
            right = self._less(x, cell(args[1])) if kind == "max" else self._less(x, cell(args[1])).opposite()
            return [right.opposite(), right]
        if kind == "abs":
            return [self._beside(x, 0.0, True), self._beside(x, 0.0, False)]
        limit = LARGEST.get(str(site.attrs.get("to", "")), np.inf)
        inside = Region(np.full((1,) * x.mark.ndim, MIXED), np.zeros((1,) * x.mark.ndim))
        return [inside, self._beside(x, limit, False), self._beside(x, -limit, True)]

    # -- where truth values hold ---------------------------------------------------------------------------------

    def _holds(self, site: Site, out: Lanes, args: Sequence[Lanes]) -> Region:
        rank = len(out.shape) + 1
        if site.name == "cast" and _region(args[0], "holds").key.any():  # a number is 0 where it does not hold
            return _region(args[0], "holds")
        if out.dtype.kind != "bool" or out.taint != FLOAT_DATA:
            return _nowhere(rank)
        if site.name == "not":
            return _region(args[0], "holds").opposite()
        if site.name == "cmp" and args[0].dtype.is_float:
            return self._compared(site.attrs["pred"], cell(args[0]), cell(args[1]))
        batch = max(out.batch, *(plane.shape[0] for a in args for plane in (a.planes or {}).values()))
        return Region(self._fresh((batch, *out.shape)), np.zeros((1,) * rank))

    def _compared(self, pred: str, x: Cell, y: Cell) -> Region:
        if pred in ("eq", "ne"):
            key = _even(_mixed(self._code(x) + self._code(y), tag("equal")))
            equal = Region(key, np.zeros((1,) * key.ndim))
            return equal if pred == "eq" else equal.opposite()
        less = self._less(x, y) if pred in ("lt", "ge") else self._less(y, x)
        return less if pred in ("lt", "gt") else less.opposite()

    def _less(self, x: Cell, y: Cell) -> Region:
        """x < y: x below a literal y, a literal x with y above it, else x - y below 0."""
        x_literal, y_literal = ((z.mark & (LITERAL | BOTH)) > LITERAL for z in (x, y))
        left, right = self._beside(x, y.sample, True), self._beside(y, x.sample, False)
        less = self._difference(x, y)
        key = np.where(y_literal, left.key, np.where(x_literal, right.key, less.key))
        return Region(key, np.where(y_literal, left.bound, np.where(x_literal, right.bound, less.bound)))

    def _difference(self, x: Cell, y: Cell) -> Region:
        """x - y below 0; where a channel is missing, a kind of its own, by the order of both codes."""
        less, known = self.real.sub(x, y), ((x.mark & y.mark) & BOTH) != 0
        a, b = self._code(x), self._code(y)
        pair = _even(_mixed(np.minimum(a, b), tag("pair")) ^ _mixed(np.maximum(a, b), tag("other")))
        beside = self._beside(less, np.zeros((1,) * x.mark.ndim), True)
        return Region(np.where(known, beside.key, pair | np.where(a < b, _BELOW, NONE)), beside.bound)

    def _beside(self, x: Cell, bound: Array | float, below: bool) -> Region:
        """x below the bound, or above it; so is -x above the opposite bound, and both have one key."""
        one, other = self._code(x), self._code(self.real.neg(x))
        turned = other < one
        key = _even(_mixed(np.minimum(one, other), tag("bound"))) | np.where(turned != below, _BELOW, NONE)
        return Region(key, np.where(turned, np.negative(bound), bound))

    def _code(self, x: Cell) -> Array:
        """A number for the function that a lane is: by its residues, where no root made one doubtful; else its own."""
        v_counts = ((x.mark & V) != 0) & ((x.mark & ROOT_V) == 0)
        w_counts = ((x.mark & W) != 0) & ((x.mark & ROOT_W) == 0)
        word = np.where(v_counts, x.v.astype(np.uint64) + np.uint64(1), NONE) << np.uint64(32)
        word = word | np.where(w_counts, x.w.astype(np.uint64) + np.uint64(1), NONE)
        code = _mixed(word, tag("residues"))
        doubtful = ~(v_counts | w_counts)
        if not doubtful.any():
            return code
        return np.where(doubtful, self._fresh(np.broadcast_shapes(*(plane.shape for plane in x))), code)

    def _fresh(self, shape: tuple[int, ...]) -> Array:
        """Numbers that nothing else has: a truth value whose making is not followed is still the same one twice."""
        self.number += 1
        lanes = np.arange(int(np.prod(shape)), dtype=np.uint64).reshape(shape)
        return _even(_mixed(lanes, self.number ^ tag("fresh")))


def _mixed(word: Array, key: int) -> Array:
    """A bijection of words (that of splitmix64), keyed."""
    with np.errstate(over="ignore"):
        word = (word ^ np.uint64(key)) * _ODD
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def _even(word: Array) -> Array:
    """Without the bit that says above or below, and apart from NONE and MIXED."""
    return (word & ~_BELOW) | np.uint64(4)


def _nowhere(rank: int) -> Region:
    return Region(np.zeros((1,) * rank, np.uint64), np.zeros((1,) * rank))


def _region(lanes: Lanes, name: str) -> Region:
    assert lanes.planes is not None
    return Region(lanes.planes[f"region {name}"], lanes.planes[f"bound {name}"])


def _known(condition: Lanes) -> tuple[Array, Array] | None:
    """(lanes whose condition no float decides, whether it holds there)."""
    x = cell(condition)
    if condition.taint != FLOAT_DATA:
        return np.ones((1,) * x.mark.ndim, bool), x.sample != 0
    settled = (x.mark & LITERAL) != 0
    return (settled, x.sample != 0) if settled.any() else None


def _ends(site: Site, args: Sequence[Lanes]) -> list[Region | None]:
    """By operand: the region in which this operation does not look at it."""
    nothing: list[Region | None] = [None] * len(args)
    if site.name == "select":
        holds = _region(args[0], "holds")
        return [None, holds.opposite(), holds]
    if site.name not in ("and", "or", "mul") or len(args) != 2:
        return nothing
    if site.name == "mul":  # by a truth value as a number
        sides = [_region(a, "holds").where((cell(a).mark & CONCRETE) != 0) for a in args]
    elif args[0].dtype.kind == "bool":
        sides = [_region(a, "holds") for a in args]
    else:
        return nothing
    zero = [side if site.name == "or" else side.opposite() for side in sides]
    return [zero[1], zero[0]]


def candidates(real: Real, wanted: Collection[str] = KINDS) -> list[Watched]:
    """Outcomes that were not seen, of sites whose region is followed."""
    found = {
        (record.key, k): None
        for record in real.sites.values()
        if record.kind in wanted
        for k in record.missing_numbers()
    }
    return list(found)


__all__ = ["MOST", "Region", "Regions", "candidates", "together"]
