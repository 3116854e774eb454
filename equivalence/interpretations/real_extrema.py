"""Extrema and sorts of `real` along an axis: places follow the sample, and each lane must have its turn.

A mixin; takes operands whose axis has its full extent in every plane.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equivalence.evaluator.lanes import FLOAT_DATA, Lanes, Planes
from equivalence.interpretations import ieee
from equivalence.interpretations import real_signs as signs
from equivalence.interpretations.base import Site
from equivalence.interpretations.real_cell import (
    CONCRETE,
    LITERAL,
    MAX,
    NEGINF,
    WHOLE,
    Array,
    Cell,
    cell,
)
from equivalence.interpretations.real_choices import ends_format, ordinary
from equivalence.interpretations.real_integers import Integers
from equivalence.interpretations.real_sites import EVERY, SiteRecord

FIRST, LAST, INNER, RIVAL, EACH = 1, 2, 4, 8, 16


def full(plane: Array, extent: int, axis: int) -> Array:
    """``plane`` with ``axis`` at its full extent."""
    if plane.shape[axis] == extent:
        return plane
    return np.broadcast_to(plane, (*plane.shape[:axis], extent, *plane.shape[axis + 1 :]))


def along(plane: Array, place: Array, axis: int) -> Array:
    """The lanes at ``place`` along ``axis`` (kept with the extent of ``place``)."""
    if plane.shape[axis] == 1 or (plane.size <= 1 << 16 and (plane == plane.take([0], axis)).all()):
        first = plane.take([0], axis)
        return (
            first
            if place.shape[axis] == 1
            else np.broadcast_to(first, (*first.shape[:axis], place.shape[axis], *first.shape[axis + 1 :]))
        )
    shape = [max(p, q) for p, q in zip(plane.shape, place.shape, strict=True)]
    at, source = list(shape), list(shape)
    at[axis], source[axis] = place.shape[axis], plane.shape[axis]
    return np.take_along_axis(np.broadcast_to(plane, source), np.broadcast_to(place, at), axis)


def _filling(combine: str, a: Cell, axis: int, lanes: tuple[Lanes, ...]) -> Array:
    """Lanes of integers that a decision has put at the far end, beyond all others: no candidates, as -inf is none."""
    if not (lanes and lanes[0].dtype.is_integer and a.is_all(CONCRETE)):
        return np.zeros((1,) * a.mark.ndim, bool)
    first, last = (np.min, np.max) if "max" in combine else (np.max, np.min)
    end = first(a.sample, axis=axis, keepdims=True)
    return (a.sample == end) & (end != last(a.sample, axis=axis, keepdims=True))


class Extrema(Integers):
    """Reductions by maximum and minimum, argmax pairs, sorts."""

    def _winner(self, combine: str, sample: Array, axis: int) -> Array:
        """The place of the extremum along ``axis``, kept with extent 1; the first among equals, numbers before NaN."""
        clean = (
            np.where(np.isnan(sample), -np.inf if "max" in combine else np.inf, sample)
            if np.isnan(sample).any()
            else sample
        )
        return np.expand_dims((np.argmax if "max" in combine else np.argmin)(clean, axis=axis), axis)

    def _reduce_extreme(self, site: Site, combine: str, a: Cell, axis: int, lanes: tuple[Lanes, ...]) -> Cell:
        place = self._winner(combine, a.sample, axis)
        if a.has(NEGINF) and (masks := a.sentinel).any() and not masks.all():
            highest = float(np.max(np.where(masks, a.sample, -np.inf)))
            self.assume(f"finite masks never win a maximum: each has an operand above {highest:g} beside it")
        self._record_winner(site, combine, a, place, axis, lanes)
        literal = np.logical_and.reduce((a.mark & LITERAL) != 0, axis=axis)
        chosen = a.map(lambda plane: along(plane, place, axis).squeeze(axis))
        # A mask is the extremum only where all lanes are masked; any other winner was chosen by the data.
        settled = literal | ((chosen.mark & NEGINF) != 0)
        mark = np.where(settled, chosen.mark, chosen.mark & ~LITERAL) if chosen.has(LITERAL) else chosen.mark
        known = signs.of_max_along(a, axis) if combine == "max" else np.bitwise_and.reduce(signs.facts(a), axis=axis)
        mark = np.where(literal, mark, (mark & ~signs.REGIONAL) | known)
        whole = np.bitwise_and.reduce(a.mark & WHOLE, axis=axis)
        chosen = self.freed(site, "extremum", chosen.marked(mark | MAX if combine == "max" else mark), whole)
        return self._among_lanes(site, combine, chosen, a, axis)

    def _among_lanes(self, site: Site, combine: str, x: Cell, a: Cell, axis: int) -> Cell:
        """As Decisions.among, of the lanes along ``axis``."""
        if self.sites.key(site, "extremum") not in self.alike:
            return x
        term = self.term(combine, a)
        taking = np.broadcast_to(ordinary(a), np.broadcast_shapes(a.mark.shape, term.shape))
        total = self.channels.field.v.sum_axis(np.where(taking, term, np.uint32(0)), axis)
        roots = np.bitwise_or.reduce(self.channels.essence_roots(a), axis=axis)
        roots = roots | np.bitwise_and.reduce(a.mark & WHOLE, axis=axis)
        return self.replaced(combine, x, total, roots, taking.sum(axis=axis) > 1)

    def _record_winner(
        self,
        site: Site,
        combine: str,
        a: Cell,
        place: Array,
        axis: int,
        lanes: tuple[Lanes, ...],
        kind: str = "extremum",
    ) -> None:
        """Whether the first, the last, an inner one of the lanes that take part, and a literal, have won somewhere.

        A literal at most 0 is no rival in a maximum beside a lane that is never negative (an absolute value), nor is
        the least number of a format.
        """
        filling = _filling(combine, a, axis, lanes)
        self.sites.choice = ("place", place, axis, ~ordinary(a) | filling)
        self.meets(site, kind, ordinary(a), lanes)
        if self.sites.settled(site, kind):
            return
        counted = self.sites.running(site, ordinary(a) & ((a.mark & LITERAL) == 0), lanes)
        extent = a.sample.shape[axis]
        first = np.expand_dims(np.argmax(counted, axis=axis), axis)
        last = extent - 1 - np.expand_dims(np.argmax(np.flip(counted, axis), axis=axis), axis)
        several = counted.sum(axis=axis, keepdims=True)
        rival = ordinary(a) & ((a.mark & LITERAL) != 0)  # a padding value that is no mask can win too
        rival = rival & ~ends_format(combine, a, lanes)
        if filling.any():  # where a decision gives others the same value
            rival = rival & ~(filling & (filling & ~rival).any(axis=axis, keepdims=True))
        if combine == "max":  # an argmax would tell which of several zeros it is
            above = (counted & ((signs.facts(a) & signs.NONNEG) != 0)).any(axis=axis, keepdims=True)
            rival = rival & ~(above & (a.sample <= 0))
        rivals = rival.any(axis=axis, keepdims=True) & (several > 0)
        if not ((several > 1) | rivals).any():
            return
        many, several = several > 2, several > 1
        won = [place == first, place == last, (place > first) & (place < last)]
        masks = [(outcome & several).squeeze(axis) for outcome in won]
        masks.append((along(rival, place, axis) & rivals).squeeze(axis))
        possible = FIRST | LAST if several.any() else 0
        possible |= (INNER if many.any() else 0) | (RIVAL if rivals.any() else 0)
        record = self.sites.note(site, kind, possible, masks)
        if several.any() and extent > 2:
            self._turn(site, record, EACH, counted & several, place, axis)

    def _turn(self, site: Site, record: SiteRecord, outcome: int, counted: Array, place: Array, axis: int) -> None:
        """Which lanes along the axis take part in this visit, and which of them are at ``place`` in some row."""
        others = tuple(k for k in range(counted.ndim) if k != axis)
        extent = counted.shape[axis]
        here = np.expand_dims(np.arange(extent), others) == place
        takes, had = (np.logical_or.reduce(x, axis=others) for x in (counted, here & counted))
        record.turn(outcome, self.sites.visit(site, record.kind), np.asarray(takes), np.asarray(had))

    def multi_reduce(self, site: Site, outs: Sequence[Lanes], args: Sequence[Lanes], extra: Any = None) -> list[Planes]:
        """argmax and argmin: the pair at the place that the sample says; the index is concrete."""
        axis = site.attrs["axis"] + 1
        self.use(*args)
        extent = args[0].shape[axis - 1]
        values, indices = (cell(a).map(lambda plane: full(plane, extent, axis)) for a in args)
        place = self._winner(site.attrs["combine"], values.sample, axis)
        self._record_winner(site, site.attrs["combine"], values, place, axis, (args[0],), "place")
        planes = []
        for x in (values, indices):
            chosen = x.map(lambda plane: along(plane, place, axis).squeeze(axis))
            known = np.bitwise_and.reduce(signs.facts(x), axis=axis)  # a place is never below 0, whichever it is
            planes.append(chosen.marked((chosen.mark & ~(LITERAL | signs.REGIONAL)) | known).planes())
        return planes

    # -- sort ----------------------------------------------------------------------------------------------------

    def multi_sort(self, site: Site, outs: Sequence[Lanes], args: Sequence[Lanes], extra: Any = None) -> list[Planes]:
        """All operands permuted as the sample of the first says."""
        axis = site.attrs["axis"] + 1
        self.use(args[0])
        extent = args[0].shape[axis - 1]
        cells = [cell(a).map(lambda plane: full(plane, extent, axis)) for a in args]
        place = ieee.sort_permutation(
            [np.ascontiguousarray(cells[0].sample)], axis, site.attrs["order"] == "descending"
        )
        if extent > 1:
            if args[0].taint == FLOAT_DATA:  # integers are sorted as they are given
                self.meets(site, "sort", ordinary(cells[0]), (args[0],))
                self._record_order(site, cells[0], place, axis)
        self.sites.choice = ("order", place, axis)
        moved_cells = [x.map(lambda plane: along(plane, place, axis)) for x in cells]
        return [x.marked(x.mark & ~(LITERAL | signs.REGIONAL)).planes() for x in moved_cells]

    def _record_order(self, site: Site, a: Cell, place: Array, axis: int) -> None:
        """Whether the first and the last lane have moved, and each lane was first and last, some time."""
        if self.sites.off:
            return
        ends = [0, a.sample.shape[axis] - 1]
        masks = [np.broadcast_to(np.expand_dims(place.take(k, axis) != k, axis), place.shape) for k in ends]
        record = self.sites.note(site, "sort", 3, masks)
        counted = self.sites.running(site, np.broadcast_to(ordinary(a), place.shape), ())
        if counted.any():
            for outcome, k in zip(EVERY["sort"], ends, strict=True):
                self._turn(site, record, outcome, counted, np.expand_dims(place.take(k, axis), axis), axis)
