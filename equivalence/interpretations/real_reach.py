"""Which outcomes of `real`'s decisions reach an output: a set of outcomes, as bits, travels with every value.

Runs right after Real in the same run and reads what Real's operation decided.  A choice passes on the outcomes of the
operand that it takes and of those that a decision has masked out, a factor 0 those of itself alone, everything else
those of all operands.  Lanes that no output uses (padding) so show nothing (SEMANTICS §5).  Must not know fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from equivalence.evaluator.lanes import Lanes, Planes
from equivalence.interpretations.base import Interpretation, Site
from equivalence.interpretations.real_agreement import no_number
from equivalence.interpretations.real_cell import CONCRETE, Array, Cell, cell, where
from equivalence.interpretations.real_extrema import along, full
from equivalence.interpretations.real_sites import Sites

_SPARE = 32  # outcomes of sites that the first run did not come to


class Reached(Interpretation):
    """Planes of 64 outcomes each.  ``sites`` are those of the Real that it follows."""

    name = "reached"

    def __init__(self, sites: Sites) -> None:
        self.sites = sites
        words = (max(sites.before, sites.outcomes()) + _SPARE + 63) // 64
        self.planes = {f"reached {k}": np.dtype(np.uint64) for k in range(words)}
        self.steering = [0] * words
        sites.take()

    def literal(self, data: Array, lanes: Lanes) -> Planes:
        return {name: np.zeros((1,) * data.ndim, np.uint64) for name in self.planes}

    def atom(self, name: str, index: Array, lanes: Lanes) -> Planes:
        return self.literal(index, lanes)

    def undefined(self, first: int, lanes: Lanes) -> Planes:
        return self.literal(lanes.data, lanes)

    def steered(self, value: Lanes) -> bool:
        """Control, a mask or an address followed ``value``."""
        for k, word in enumerate(self._words(value)):
            self.steering[k] |= word
        return False

    def collect(self, outputs: Iterable[Lanes]) -> None:
        """What reached the outputs or steered control is seen."""
        self.sites.steer(self.steering)
        total = list(self.steering)
        for lanes in outputs:
            for k, word in enumerate(self._words(lanes, numbers=True)):
                total[k] |= word
        self.steering = [0] * len(total)
        self.sites.reach(total)

    def _words(self, lanes: Lanes, numbers: bool = False) -> list[int]:
        """``numbers``: of lanes that are some number; in 0/0 there is nothing to see."""
        planes = lanes.planes or {}
        void = no_number(planes) if numbers and "sample" in planes else np.zeros((), bool)
        found = [planes.get(name, np.zeros((), np.uint64)) for name in self.planes]
        found = [np.where(void, np.uint64(0), plane) for plane in found] if void.any() else found
        return [int(np.bitwise_or.reduce(plane, axis=None)) for plane in found]

    # -- primitives ----------------------------------------------------------------------------------------------

    def apply(self, site: Site, out: Lanes, args: Sequence[Lanes]) -> Planes:
        fresh, choice = self.sites.take()
        combine = self._combination(site, args, choice)
        planes = {name: combine([_plane(a, name) for a in args]) for name in self.planes}
        return self._with(planes, fresh)

    def several(self, site: Site, outs: Sequence[Lanes], args: Sequence[Lanes], extra: Any = None) -> list[Planes]:
        fresh, choice = self.sites.take()
        axis = site.attrs["axis"] + 1
        planes = {}
        for name in self.planes:
            merged = full(_union([_plane(a, name) for a in args]), args[0].shape[axis - 1], axis)
            if choice is None:
                planes[name] = np.bitwise_or.reduce(merged, axis=axis, keepdims=site.name != "reduce")
            elif site.name == "reduce":
                planes[name] = _winning(merged, *choice[1:])
            else:
                planes[name] = along(merged, choice[1], axis)
        planes = self._with(planes, fresh)
        return [planes for _ in outs]

    def _with(self, planes: Planes, fresh: Sequence[tuple[int, Array]]) -> Planes:
        for bit, mask in fresh:
            name = f"reached {bit // 64}"
            if name in planes:
                planes[name] = planes[name] | np.where(mask, np.uint64(1 << bit % 64), np.uint64(0))
        return planes

    def _combination(
        self, site: Site, args: Sequence[Lanes], choice: tuple[Any, ...] | None
    ) -> Callable[[list[Array]], Array]:
        """How the operands' outcomes become the result's."""
        if choice is not None and site.name in ("max", "min", "select"):
            return lambda parts: _picked(parts, *choice[1:])
        axis = site.attrs.get("axis", 0) + 1
        if site.name == "reduce":
            extent, combine = args[0].shape[axis - 1], site.attrs["combine"]
            if choice is not None and combine in ("max", "min"):
                return lambda parts: _winning(full(parts[0], extent, axis), *choice[1:])
            deciding = _deciding_lanes(combine, args[0], axis)
            return lambda parts: np.bitwise_or.reduce(
                parts[0] if deciding is None else np.where(deciding, parts[0], np.uint64(0)), axis=axis
            )
        if site.name == "scan":
            return lambda parts: _running(full(parts[0], args[0].shape[axis - 1], axis), axis, site.attrs["reverse"])
        if site.name == "dot":
            return _of_dot(args)
        absorbing = _ABSORBING.get(site.name)
        if absorbing is not None and len(args) == 2 and _concrete(args):
            return _absorbed(absorbing, cell(args[0]), cell(args[1]))
        return _union


#: The operand that alone fixes the result.
_ABSORBING = {"mul": 0.0, "and": 0.0, "or": 1.0}


def _plane(lanes: Lanes, name: str) -> Array:
    assert lanes.planes is not None
    return lanes.planes[name]


def _union(parts: Sequence[Array]) -> Array:
    total = parts[0]
    for part in parts[1:]:
        if part.size == 1 and not part.any():
            continue
        total = part if total.size == 1 and not total.any() else total | part
    return total


def _picked(parts: Sequence[Array], take: Array, *masked: Array) -> Array:
    """Of (a, b), where ``masked`` says which are no candidates, or of (condition, a, b)."""
    chosen = where(take, parts[-2], parts[-1])
    if len(parts) == 3:
        return _union([chosen, parts[0]])
    return _union([chosen, *(_only(x, mask) for x, mask in zip(parts, masked, strict=True))])


def _only(plane: Array, mask: Array) -> Array:
    return np.where(mask, plane, np.uint64(0)) if plane.any() and mask.any() else np.zeros((1,) * plane.ndim, np.uint64)


def _winning(plane: Array, place: Array, axis: int, masked: Array) -> Array:
    """The winner's, and those of lanes that a decision has masked out."""
    out = np.bitwise_or.reduce(_only(plane, masked), axis=axis)
    return _union([along(plane, place, axis).squeeze(axis), out])


def _concrete(args: Sequence[Lanes]) -> bool:
    return any(cell(a).has(CONCRETE) for a in args)


def _absorbed(value: float, x: Cell, y: Cell) -> Callable[[list[Array]], Array]:
    """Where exactly one operand is the absorbing one, the other does not matter."""
    by_x, by_y = (((z.mark & CONCRETE) != 0) & (z.sample == value) for z in (x, y))
    only_x, only_y = by_x & ~by_y, by_y & ~by_x
    if not (only_x.any() or only_y.any()):
        return _union
    nothing = np.uint64(0)
    return lambda parts: np.where(only_y, nothing, parts[0]) | np.where(only_x, nothing, parts[1])


def _deciding_lanes(combine: str, x: Lanes, axis: int) -> Array | None:
    """Lanes along ``axis`` that fix a product, a conjunction or a disjunction alone; None: all count."""
    value = {"mul": 0.0, "and": 0.0, "or": 1.0}.get(combine)
    if value is None or x.planes is None or "sample" not in x.planes or (combine != "mul" and x.dtype.kind != "bool"):
        return None
    a = cell(x)
    fixing = full(((a.mark & CONCRETE) != 0) & (a.sample == value), x.shape[axis - 1], axis)
    return fixing | ~fixing.any(axis=axis, keepdims=True)


def _running(plane: Array, axis: int, reverse: bool) -> Array:
    turned = np.flip(plane, axis) if reverse else plane
    total = np.bitwise_or.accumulate(turned, axis=axis)
    return np.flip(total, axis) if reverse else total


def _of_dot(args: Sequence[Lanes]) -> Callable[[list[Array]], Array]:
    """Rows and columns (coarse: products with a zero count too)."""
    rank = len(args[0].shape)

    def combine(parts: list[Array]) -> Array:
        row = np.bitwise_or.reduce(parts[0], axis=rank, keepdims=True)
        column = np.bitwise_or.reduce(parts[1], axis=rank - 1, keepdims=True)
        return _union([row, column, *parts[2:]])

    return combine
