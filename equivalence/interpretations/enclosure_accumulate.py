"""Accumulation under `enclosure`: sums, products, extrema, prefix folds, dots, argmax pairs and sorts of intervals.

A mixin; an index or a payload is sure where the intervals of its keys leave one answer, else all that may win.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equivalence.evaluator.lanes import FLOAT_DATA, Lanes, Planes
from equivalence.interpretations import ieee
from equivalence.interpretations import interval as iv
from equivalence.interpretations.base import Site
from equivalence.interpretations.enclosure_integers import (
    Integers,
    fitted,
    interval,
    known,
    own_values,
    planes,
    unknown,
    whole,
)
from equivalence.interpretations.interval import Array, Interval


def full(plane: Array, extent: int, axis: int) -> Array:
    """``plane`` with ``axis`` at its full extent."""
    return np.broadcast_to(plane, (*plane.shape[:axis], extent, *plane.shape[axis + 1 :]))


def along(x: Lanes, axis: int) -> Interval:
    return interval(x).map(lambda plane: full(plane, x.shape[axis - 1], axis))


class Accumulate(Integers):
    """reduce, scan, dot, sort and pairs."""

    def op_reduce(self, site: Site, out: Lanes, x: Lanes) -> Interval:
        axis, combine = site.attrs["axis"] + 1, site.attrs["combine"]
        if out.dtype.is_integer and out.taint != FLOAT_DATA:
            return whole(out.data)
        folded = self._fold(combine, out, along(x, axis), axis)
        if not out.dtype.is_integer:
            return folded
        sure = np.broadcast_to(known(x), along(x, axis).lo.shape).all(axis)
        own = np.ascontiguousarray(full(own_values(x), x.shape[axis - 1], axis))
        return iv.where(sure, whole(ieee.reduce(site.attrs, out.dtype, own, axis)), folded)

    @staticmethod
    def _fold(combine: str, out: Lanes, x: Interval, axis: int) -> Interval:
        truth = out.dtype.kind == "bool"
        if combine in ("max", "min") or (truth and combine in ("and", "or")):
            return _extreme("max" if combine in ("max", "or") else "min", x, axis)
        if combine not in ("add", "mul") or truth:
            return unknown(out)
        result = iv.total(x, axis) if combine == "add" else _product(x, axis)
        return result if out.dtype.is_float else fitted(out, result)

    # -- scan ----------------------------------------------------------------------------------------------------

    def op_scan(self, site: Site, out: Lanes, x: Lanes) -> Interval:
        axis = site.attrs["axis"] + 1
        if out.dtype.is_integer and out.taint != FLOAT_DATA:
            return whole(out.data)
        turn = (lambda plane: np.flip(plane, axis)) if site.attrs["reverse"] else (lambda plane: plane)
        result = self._prefixes(site.attrs["combine"], out, along(x, axis).map(turn), axis).map(turn)
        if out.dtype.is_float:
            return result
        own = np.ascontiguousarray(full(own_values(x), x.shape[axis - 1], axis))
        exact = whole(ieee.scan(site.attrs, out.dtype, own, axis))
        return iv.where(np.asarray(known(x).all()).reshape((1,) * out.data.ndim), exact, fitted(out, result))

    @staticmethod
    def _prefixes(combine: str, out: Lanes, x: Interval, axis: int) -> Interval:
        if combine in ("max", "min"):
            fn = np.maximum if combine == "max" else np.minimum
            unsure = np.logical_or.accumulate(np.broadcast_to(x.is_top, x.lo.shape), axis=axis)
            return iv.where(unsure, iv.top(x.lo.ndim), x.map(lambda plane: fn.accumulate(plane, axis=axis)))
        if combine == "add" and out.dtype.kind != "bool":
            return iv.running_total(x, axis)
        if combine != "mul" or out.dtype.kind == "bool":
            return unknown(out)
        steps = [x.map(lambda plane: plane.take([0], axis))]
        for k in range(1, x.lo.shape[axis]):
            steps.append(iv.mul(steps[-1], x.map(lambda plane, k=k: plane.take([k], axis))))
        return Interval(*(np.concatenate(ends, axis) for ends in zip(*steps, strict=True)))

    # -- dot -----------------------------------------------------------------------------------------------------

    def op_dot(self, site: Site, out: Lanes, a: Lanes, b: Lanes, acc: Lanes | None = None) -> Interval:
        if out.dtype.is_integer and out.taint != FLOAT_DATA:
            return whole(out.data)
        product = iv.matmul(interval(a).map(a.full), interval(b).map(b.full))
        result = product if acc is None else iv.add(product, interval(acc))
        return result if out.dtype.is_float else fitted(out, result)

    # -- pairs and sorts -----------------------------------------------------------------------------------------

    def several(self, site: Site, outs: Sequence[Lanes], args: Sequence[Lanes], extra: Any = None) -> list[Planes]:
        axis = site.attrs["axis"] + 1
        x = [along(a, axis) for a in args]
        with np.errstate(all="ignore"):
            made = _sorted(site, x, axis) if site.name == "sort" else _winner(site, x[0], x[1], axis)
        return [planes(result) for result in made]


def _extreme(kind: str, x: Interval, axis: int) -> Interval:
    fn = np.maximum if kind == "max" else np.minimum
    unsure = x.is_top.any(axis)  # of both ends' extents: either may be uniform
    return iv.where(unsure, iv.top(x.lo.ndim - 1), x.map(lambda plane: fn.reduce(plane, axis=axis)))


def _product(x: Interval, axis: int) -> Interval:
    result = x.map(lambda plane: plane.take(0, axis))
    for k in range(1, x.lo.shape[axis]):
        result = iv.mul(result, x.map(lambda plane, k=k: plane.take(k, axis)))
    return result


def _winner(site: Site, values: Interval, indices: Interval, axis: int) -> list[Interval]:
    """The extremum, and the least to the largest index of those that may hold it; equal numbers go by the tie."""
    kind = "max" if site.attrs["combine"] == "argmax" else "min"
    upright = values if kind == "max" else iv.neg(values)
    bar = upright.lo.max(axis=axis, keepdims=True)
    may = (upright.hi >= bar) | upright.is_top
    low = np.where(may, indices.lo, np.inf).min(axis=axis)
    high = np.where(may, indices.hi, -np.inf).max(axis=axis)
    tied = (~may | (upright.is_point & (upright.lo == bar))).all(axis=axis)
    first = np.where(may, indices.hi, np.inf).min(axis=axis)
    lowest = tied & (site.attrs["tie"] == "lowest")
    return [_extreme(kind, values, axis), Interval(low, np.where(lowest, first, high))]


def _sorted(site: Site, x: Sequence[Interval], axis: int) -> list[Interval]:
    """Order statistics of both ends; payloads where no other lane can take the place."""
    keys = x[0] if site.attrs["order"] == "ascending" else iv.neg(x[0])
    ordered = keys.map(lambda plane: np.sort(plane, axis=axis))
    unsure = np.broadcast_to(keys.is_top, keys.lo.shape).any(axis=axis, keepdims=True)
    ordered = iv.where(unsure, iv.top(keys.lo.ndim), ordered)
    place = np.argsort(keys.lo, axis=axis, kind="stable")
    sure = _sure_places(keys.map(lambda plane: _taken(plane, place, axis)), axis, site.attrs["stable"]) & ~unsure
    results = [ordered if site.attrs["order"] == "ascending" else iv.neg(ordered)]
    for payload in x[1:]:
        anyone = Interval(payload.lo.min(axis=axis, keepdims=True), payload.hi.max(axis=axis, keepdims=True))
        results.append(iv.where(sure, payload.map(lambda plane: _taken(plane, place, axis)), anyone))
    return results


def _taken(plane: Array, place: Array, axis: int) -> Array:
    shape = [max(p, q) for p, q in zip(plane.shape, place.shape, strict=True)]
    return np.take_along_axis(np.broadcast_to(plane, shape), np.broadcast_to(place, shape), axis)


def _sure_places(keys: Interval, axis: int, stable: bool) -> Array:
    """Places (of keys in the order of their lower ends) that only the lane there can take: apart from all lanes
    before and after it, or an equal number where all are numbers and the order is stable."""
    wide, ends = ~keys.is_point, keys.lo.shape[axis]
    sure = np.ones(keys.lo.shape, bool)
    for group in (wide, ~wide):
        ahead = np.maximum.accumulate(np.where(group, keys.hi, -np.inf), axis=axis)
        behind = np.flip(np.minimum.accumulate(np.flip(np.where(group, keys.lo, np.inf), axis), axis=axis), axis)
        ahead = np.delete(np.insert(ahead, 0, -np.inf, axis), ends, axis)
        behind = np.delete(np.insert(behind, ends, np.inf, axis), 0, axis)
        apart = (ahead < keys.lo) & (keys.hi < behind)
        if stable and group is not wide:
            apart = np.where(wide, apart, (ahead <= keys.lo) & (keys.hi <= behind))
        sure &= apart
    return sure
