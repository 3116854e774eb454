"""Accumulation of `real`: sums and products in the fields, extrema and sorting by the sample, dot as matrix products.

A mixin; takes operands whose axis of accumulation has its full extent in every plane.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equivalence.evaluator.lanes import FLOAT_DATA, Lanes, Planes
from equivalence.interpretations import ieee
from equivalence.interpretations import real_parity as parity
from equivalence.interpretations import real_signs as signs
from equivalence.interpretations import real_twist as twist
from equivalence.interpretations.base import Site
from equivalence.interpretations.real_cell import (
    BOTH,
    CONCRETE,
    DATA,
    LITERAL,
    MAX,
    NEGINF,
    PARITY,
    PURE,
    ROOTS,
    SIGNS,
    TWISTS,
    UNSURE,
    WHOLE,
    Array,
    Cell,
    V,
    W,
    cell,
    flag,
    nothing,
    pointwise,
    where,
)
from equivalence.interpretations.real_decisions import ordinary
from equivalence.interpretations.real_integers import Integers, own_values
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


class Accumulate(Integers):
    """reduce, scan, dot, sort and pairs."""

    # -- reduce --------------------------------------------------------------------------------------------------

    def op_reduce(self, site: Site, out: Lanes, x: Lanes) -> Planes:
        axis, combine = site.attrs["axis"] + 1, site.attrs["combine"]
        if out.dtype.is_integer and out.taint != FLOAT_DATA:
            return self.settled(out, x).planes()
        extent = x.shape[axis - 1]
        a = cell(x).map(lambda plane: full(plane, extent, axis))
        if combine in ("max", "min"):
            return self._reduce_extreme(site, combine, a, axis, (x,)).planes()
        if out.dtype.is_integer and not (combine in ("add", "mul") and out.dtype.kind != "bool"):
            return self._reduce_bits(site, out, x, a, axis).planes()
        result = self.sum_along(a, axis) if combine == "add" else self.product_along(a, axis)
        return self._wrapped(site, out, x, result, axis).planes()

    def _wrapped(self, site: Site, out: Lanes, x: Lanes, result: Cell, axis: int) -> Cell:
        """Concrete integers accumulate modulo 2^bits."""
        if not out.dtype.is_integer or not result.is_all(CONCRETE):
            return result
        own = np.ascontiguousarray(full(own_values(x), x.shape[axis - 1], axis))
        wrapped = self.concrete(ieee.reduce(site.attrs, out.dtype, own, axis), result.is_all(LITERAL))
        unchanged = wrapped.sample == result.sample
        return wrapped.marked(wrapped.mark | np.where(unchanged, result.mark & signs.FACTS, np.uint32(0)))

    def _reduce_bits(self, site: Site, out: Lanes, x: Lanes, a: Cell, axis: int) -> Cell:
        """Bitwise folds: of concrete integers; of opaque ones a random function of their sum."""
        own = np.ascontiguousarray(full(own_values(x), x.shape[axis - 1], axis))
        exact = self.concrete(ieee.reduce(site.attrs, out.dtype, own, axis), a.is_all(LITERAL))
        if a.is_all(CONCRETE):
            return exact
        spread = self.hashed(f"term {site.attrs['combine']}", a)
        return self.sum_along(spread, axis).sampled(exact.sample)

    def _shared_along(self, a: Cell, axis: int) -> tuple[Cell, Array]:
        """(a, filled where its lanes share no channel; what all lanes keep)."""
        common = np.bitwise_and.reduce(a.mark, axis=axis)
        lost = ((common & BOTH) == 0) & np.logical_and.reduce(a.alive, axis=axis)
        if lost.any():
            a = self.channels.filled(a, np.expand_dims(lost, axis))
            common = np.bitwise_and.reduce(a.mark, axis=axis)
        either = np.bitwise_or.reduce(a.mark, axis=axis)
        return a, (common & (BOTH | LITERAL | CONCRETE | WHOLE | PURE)) | (either & (ROOTS | DATA))

    def sum_along(self, a: Cell, axis: int) -> Cell:
        if a.sample.shape[axis] == 1:
            return a.map(lambda plane: plane.squeeze(axis))
        a, mark = self._shared_along(a, axis)
        if a.has(SIGNS):
            mark = mark | parity.added_along(a.mark, axis)
        if a.has(TWISTS):
            mark = mark | twist.added_along(a, axis)
        mark = mark | signs.added_along(a, axis)
        if a.has(NEGINF):
            mark = mark | flag(np.logical_or.reduce(a.minus_infinity, axis=axis), NEGINF)
        field = self.channels.field
        v = field.v.sum_axis(a.v, axis) if (mark & V).any() else nothing(mark.ndim)
        w = field.w.sum_axis(a.w, axis) if (mark & W).any() else nothing(mark.ndim)
        with np.errstate(all="ignore"):
            return self.remembered(Cell(np.add.reduce(a.sample, axis=axis), v, w, mark))

    def product_along(self, a: Cell, axis: int) -> Cell:
        a, mark = self._shared_along(a, axis)
        mark = mark | parity.unsure(np.bitwise_or.reduce(a.mark, axis=axis))
        field = self.channels.field
        v = field.v.prod_axis(a.v, axis) if (mark & V).any() else nothing(mark.ndim)
        w = field.w.prod_axis(a.w, axis) if (mark & W).any() else nothing(mark.ndim)
        with np.errstate(all="ignore"):
            return Cell(np.multiply.reduce(a.sample, axis=axis), v, w, mark)

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
        self._record_winner(site, a, place, axis, lanes)
        literal = np.logical_and.reduce((a.mark & LITERAL) != 0, axis=axis)
        chosen = a.map(lambda plane: along(plane, place, axis).squeeze(axis))
        # A mask is the extremum only where all lanes are masked; any other winner was chosen by the data.
        settled = literal | ((chosen.mark & NEGINF) != 0)
        mark = np.where(settled, chosen.mark, chosen.mark & ~LITERAL) if chosen.has(LITERAL) else chosen.mark
        known = signs.of_max_along(a, axis) if combine == "max" else np.bitwise_and.reduce(signs.facts(a), axis=axis)
        mark = np.where(literal, mark, (mark & ~signs.REGIONAL) | known)
        chosen = self.freed(site, "extremum", chosen.marked(mark | MAX if combine == "max" else mark))
        return self._among_lanes(site, combine, chosen, a, axis)

    def _among_lanes(self, site: Site, combine: str, x: Cell, a: Cell, axis: int) -> Cell:
        """As Decisions.among, of the lanes along ``axis``."""
        if self.sites.key(site, "extremum") not in self.alike:
            return x
        term = self.term(combine, a)
        taking = np.broadcast_to(ordinary(a), np.broadcast_shapes(a.mark.shape, term.shape))
        total = self.channels.field.v.sum_axis(np.where(taking, term, np.uint32(0)), axis)
        roots = np.bitwise_or.reduce(self.channels.essence_roots(a), axis=axis)
        return self.replaced(combine, x, total, roots, taking.sum(axis=axis) > 1)

    def _record_winner(self, site: Site, a: Cell, place: Array, axis: int, lanes: tuple[Lanes, ...]) -> None:
        """Whether the first, the last, an inner one of the lanes that take part, and a literal, have won somewhere."""
        self.sites.choice = ("place", place, axis, ~ordinary(a))
        if self.sites.settled(site, "extremum"):
            return
        counted = self.sites.running(site, ordinary(a) & ((a.mark & LITERAL) == 0), lanes)
        extent = a.sample.shape[axis]
        first = np.expand_dims(np.argmax(counted, axis=axis), axis)
        last = extent - 1 - np.expand_dims(np.argmax(np.flip(counted, axis), axis=axis), axis)
        several = counted.sum(axis=axis, keepdims=True)
        rival = ordinary(a) & ((a.mark & LITERAL) != 0)  # a padding value that is no mask can win too
        rivals = rival.any(axis=axis, keepdims=True) & (several > 0)
        if not ((several > 1) | rivals).any():
            return
        many, several = several > 2, several > 1
        won = [place == first, place == last, (place > first) & (place < last)]
        masks = [(outcome & several).squeeze(axis) for outcome in won]
        masks.append((along(rival, place, axis) & rivals).squeeze(axis))
        possible = FIRST | LAST if several.any() else 0
        possible |= (INNER if many.any() else 0) | (RIVAL if rivals.any() else 0)
        record = self.sites.note(site, "extremum", possible, masks)
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
        extent = args[0].shape[axis - 1]
        values, indices = (cell(a).map(lambda plane: full(plane, extent, axis)) for a in args)
        place = self._winner(site.attrs["combine"], values.sample, axis)
        self._record_winner(site, values, place, axis, (args[0],))
        planes = []
        for x in (values, indices):
            chosen = x.map(lambda plane: along(plane, place, axis).squeeze(axis))
            planes.append(chosen.marked(chosen.mark & ~(LITERAL | signs.REGIONAL)).planes())
        return planes

    # -- scan ----------------------------------------------------------------------------------------------------

    def op_scan(self, site: Site, out: Lanes, x: Lanes) -> Planes:
        axis, combine = site.attrs["axis"] + 1, site.attrs["combine"]
        if out.dtype.is_integer and out.taint != FLOAT_DATA:
            return self.settled(out, x).planes()
        a = cell(x).map(lambda plane: full(plane, x.shape[axis - 1], axis))
        turned = a.map(lambda plane: np.flip(plane, axis)) if site.attrs["reverse"] else a
        result = self._running_sum(turned, axis) if combine == "add" else self._steps(site, out, turned, axis, x)
        return (result.map(lambda plane: np.flip(plane, axis)) if site.attrs["reverse"] else result).planes()

    def _running_sum(self, a: Cell, axis: int) -> Cell:
        field = self.channels.field
        mark = np.bitwise_and.accumulate(a.mark, axis=axis) & (BOTH | LITERAL | CONCRETE | WHOLE | PURE)
        mark = mark | (np.bitwise_or.accumulate(a.mark, axis=axis) & (ROOTS | DATA | UNSURE))
        if a.has(SIGNS):
            mark = mark | (np.bitwise_xor.accumulate(a.mark, axis=axis) & PARITY)
        v = field.v.cumsum_axis(a.v, axis) if (mark & V).any() else nothing(mark.ndim)
        w = field.w.cumsum_axis(a.w, axis) if (mark & W).any() else nothing(mark.ndim)
        with np.errstate(all="ignore"):
            return Cell(np.add.accumulate(a.sample, axis=axis), v, w, mark)

    def _steps(self, site: Site, out: Lanes, a: Cell, axis: int, x: Lanes) -> Cell:
        """One step of the combiner after the other."""
        parts = [a.map(lambda plane, k=k: plane.take([k], axis)) for k in range(a.sample.shape[axis])]
        total, steps = parts[0], [parts[0]]
        for part in parts[1:]:
            total = self._step(site, out, total, part, x)
            steps.append(total)
        planes = []
        for column in zip(*steps, strict=True):
            common = np.broadcast_shapes(*(p.shape for p in column))
            planes.append(np.concatenate([np.broadcast_to(p, common) for p in column], axis))
        return Cell(*planes)

    def _step(self, site: Site, out: Lanes, a: Cell, b: Cell, x: Lanes) -> Cell:
        combine = site.attrs["combine"]
        if combine in ("max", "min"):
            return self.extreme(site, combine, a, b, ())
        if out.dtype.is_float:
            return self.mul(a, b) if combine == "mul" else self.add(a, b)
        step = Site(combine, {"rounding": "rne"}, site.key, site.number, site.active)
        operands = [x.replace(data=c.sample.astype(x.dtype.numpy), planes=c.planes()) for c in (a, b)]
        return self.integer(step, out, operands)

    # -- dot -----------------------------------------------------------------------------------------------------

    def op_dot(self, site: Site, out: Lanes, a: Lanes, b: Lanes, acc: Lanes | None = None) -> Planes:
        if out.dtype.is_integer and out.taint != FLOAT_DATA:
            return self.settled(out, *([a, b] if acc is None else [a, b, acc])).planes()
        rank, depth = len(a.shape), a.shape[-1]
        left = cell(a).map(lambda plane: full(plane, depth, rank))
        right = cell(b).map(lambda plane: full(plane, depth, rank - 1))
        product = self.matmul(left, right, rank)
        return (product if acc is None else self.add(product, cell(acc))).planes()

    def matmul(self, a: Cell, b: Cell, rank: int) -> Cell:
        lost = parity.lost(a.mark, rank, b.mark, rank - 1)
        (a, row), (b, column) = self._shared_along(a, rank), self._shared_along(b, rank - 1)
        row, column = np.expand_dims(row, rank), np.expand_dims(column, rank - 1)
        if ((row & column & BOTH) == 0).any():
            everywhere = np.ones((1,) * a.mark.ndim, bool)
            if a.alive.all() and b.alive.all():
                a, b = self.channels.filled(a, everywhere), self.channels.filled(b, everywhere)
                row, column = (np.full((1,) * a.mark.ndim, BOTH) | x for x in (row, column))
        mark = (row & column & (BOTH | LITERAL | CONCRETE | WHOLE | PURE)) | ((row | column) & (ROOTS | DATA)) | lost
        v = self._product(self.channels.field.v, a.v, b.v) if (mark & V).any() else nothing(mark.ndim)
        w = self._product(self.channels.field.w, a.w, b.w) if (mark & W).any() else nothing(mark.ndim)
        with np.errstate(all="ignore"):
            return Cell(ieee.product(a.sample, b.sample), v, w, mark)

    @staticmethod
    def _product(modulus: Any, a: Array, b: Array) -> Array:
        return modulus.matmul(np.ascontiguousarray(a), np.ascontiguousarray(b))

    # -- sort ----------------------------------------------------------------------------------------------------

    def multi_sort(self, site: Site, outs: Sequence[Lanes], args: Sequence[Lanes], extra: Any = None) -> list[Planes]:
        """All operands permuted as the sample of the first says."""
        axis = site.attrs["axis"] + 1
        extent = args[0].shape[axis - 1]
        cells = [cell(a).map(lambda plane: full(plane, extent, axis)) for a in args]
        place = ieee.sort_permutation(
            [np.ascontiguousarray(cells[0].sample)], axis, site.attrs["order"] == "descending"
        )
        if extent > 1:
            if args[0].taint == FLOAT_DATA:  # integers are sorted as they are given
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


__all__ = ["Accumulate", "along", "full", "pointwise", "where"]
