"""Accumulation of `real`: sums and products in the fields, extrema and sorting by the sample, dot as matrix products.

A mixin; takes operands whose axis of accumulation has its full extent in every plane.
"""

from __future__ import annotations

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
    FLOATS,
    LITERAL,
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
from equivalence.interpretations.real_extrema import Extrema, along, full
from equivalence.interpretations.real_integers import own_values

FIRST, LAST, INNER, RIVAL, EACH = 1, 2, 4, 8, 16


class Accumulate(Extrema):
    """reduce, scan, dot, sort and pairs."""

    # -- reduce --------------------------------------------------------------------------------------------------

    def op_reduce(self, site: Site, out: Lanes, x: Lanes) -> Planes:
        axis, combine = site.attrs["axis"] + 1, site.attrs["combine"]
        extent = x.shape[axis - 1]
        a = cell(x).map(lambda plane: full(plane, extent, axis))
        if out.dtype.is_integer and out.taint != FLOAT_DATA:
            made = self.summed(out, (x,), self.sum_along(a, axis), extent) if combine == "add" else None
            return (self.settled(out, x) if made is None else made).planes()
        if combine in ("max", "min"):
            return self._reduce_extreme(site, combine, a, axis, (x,)).planes()
        if out.dtype.is_integer and not (combine in ("add", "mul") and out.dtype.kind != "bool"):
            return self._reduce_bits(site, out, x, a, axis).planes()
        result = self.sum_along(a, axis) if combine == "add" else self.product_along(a, axis)
        if out.dtype.is_integer:
            result = self.unwrapped(out, (x,) if combine == "add" else (x,) * extent, result, extent)
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
        return a, (common & (BOTH | LITERAL | CONCRETE | WHOLE | PURE)) | (either & (ROOTS | DATA | FLOATS))

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

    # -- scan ----------------------------------------------------------------------------------------------------

    def op_scan(self, site: Site, out: Lanes, x: Lanes) -> Planes:
        axis, combine = site.attrs["axis"] + 1, site.attrs["combine"]
        if out.dtype.is_integer and out.taint != FLOAT_DATA:
            return self.settled(out, x).planes()
        if combine in ("max", "min"):
            self.meets(site, combine, np.ones((1,) * x.data.ndim, bool), (x,))
        a = cell(x).map(lambda plane: full(plane, x.shape[axis - 1], axis))
        turned = a.map(lambda plane: np.flip(plane, axis)) if site.attrs["reverse"] else a
        result = self._running_sum(turned, axis) if combine == "add" else self._steps(site, out, turned, axis, x)
        if out.dtype.is_integer and combine == "add":
            result = self.unwrapped(out, (x,), result, x.shape[axis - 1])
        return (result.map(lambda plane: np.flip(plane, axis)) if site.attrs["reverse"] else result).planes()

    def _running_sum(self, a: Cell, axis: int) -> Cell:
        field = self.channels.field
        mark = np.bitwise_and.accumulate(a.mark, axis=axis) & (BOTH | LITERAL | CONCRETE | WHOLE | PURE)
        mark = mark | (np.bitwise_or.accumulate(a.mark, axis=axis) & (ROOTS | DATA | FLOATS | UNSURE))
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
        rank, depth = len(a.shape), a.shape[-1]
        left = cell(a).map(lambda plane: full(plane, depth, rank))
        right = cell(b).map(lambda plane: full(plane, depth, rank - 1))
        if out.dtype.is_integer and out.taint != FLOAT_DATA:
            operands = [a, b] if acc is None else [a, b, acc]
            free = self.symbolic(a, b)
            made = self.summed(out, (a, b), self.matmul(left, right, rank), depth, acc) if free else None
            return (self.settled(out, *operands) if made is None else made).planes()
        product = self.matmul(left, right, rank)
        if out.dtype.is_integer:
            product = self.unwrapped(out, (a, b), product, depth)
            self.use(*(() if acc is None else (acc,)), numbers=True)
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
        mark = (
            (row & column & (BOTH | LITERAL | CONCRETE | WHOLE | PURE))
            | ((row | column) & (ROOTS | DATA | FLOATS))
            | lost
        )
        v = self._product(self.channels.field.v, a.v, b.v) if (mark & V).any() else nothing(mark.ndim)
        w = self._product(self.channels.field.w, a.w, b.w) if (mark & W).any() else nothing(mark.ndim)
        with np.errstate(all="ignore"):
            return Cell(ieee.product(a.sample, b.sample), v, w, mark)

    @staticmethod
    def _product(modulus: Any, a: Array, b: Array) -> Array:
        return modulus.matmul(np.ascontiguousarray(a), np.ascontiguousarray(b))


__all__ = ["Accumulate", "along", "full", "pointwise", "where"]
