"""Integers, truth values, casts to integers and bits under `enclosure`.

Integers without float data in their cone are what the run has.  Those made of float data are computed on the
enclosure's own values where these are single numbers; sums and products keep an interval while it fits the dtype.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equivalence.evaluator.lanes import FLOAT_DATA, Lanes, Planes
from equivalence.interpretations import ieee
from equivalence.interpretations import interval as iv
from equivalence.interpretations.base import Site
from equivalence.interpretations.interval import Array, Interval
from lowering.ir.types import DType

_RING = {"add": iv.add, "sub": iv.sub, "mul": iv.mul, "neg": iv.neg, "abs": iv.absolute}
_EXACT = 2.0**53


def interval(lanes: Lanes) -> Interval:
    assert lanes.planes is not None
    return Interval(lanes.planes["lo"], lanes.planes["hi"])


def planes(x: Interval) -> Planes:
    return {"lo": np.asarray(x.lo), "hi": np.asarray(x.hi)}


def whole(data: Array) -> Interval:
    """Integers as they are, beyond 2^53 between two floats."""
    value = data.astype(np.float64)
    if not (np.abs(value) > _EXACT).any():
        return iv.point(value)
    big = np.abs(value) > _EXACT
    return Interval(np.where(big, iv.down(value), value), np.where(big, iv.up(value), value))


def limits(dtype: DType) -> tuple[float, float]:
    if dtype.kind == "bool":
        return 0.0, 1.0
    if dtype.kind == "uint":
        return 0.0, 2.0**dtype.bits - 1
    return -(2.0 ** (dtype.bits - 1)), 2.0 ** (dtype.bits - 1) - 1


def unknown(lanes: Lanes) -> Interval:
    """Any value; of the truth values, either."""
    ones = (1,) * lanes.data.ndim
    if lanes.dtype.kind == "bool":
        return Interval(np.zeros(ones), np.ones(ones))
    return iv.top(len(ones))


def own_values(lanes: Lanes) -> Array:
    """The integers that single-number lanes hold; 0 elsewhere."""
    if lanes.taint != FLOAT_DATA:
        return lanes.data
    x = interval(lanes)
    sure = x.is_point & (np.abs(x.lo) <= _EXACT)
    return np.where(sure, x.lo, 0.0).astype(np.int64).astype(lanes.dtype.numpy)


def known(lanes: Lanes) -> Array:
    """Lanes whose own value is the only one."""
    x = interval(lanes)
    return np.ones((1,) * lanes.data.ndim, bool) if lanes.taint != FLOAT_DATA else x.is_point & (np.abs(x.lo) <= _EXACT)


def fitted(out: Lanes, x: Interval) -> Interval:
    """Whole numbers of an interval, unknown where they may wrap."""
    low, high = limits(out.dtype)
    x = Interval(np.ceil(x.lo), np.floor(x.hi))
    return iv.where((x.lo >= low) & (x.hi <= high), x, unknown(out))


def decided(yes: Array, no: Array) -> Interval:
    """A truth value that is sure to be true, sure to be false, or either."""
    return Interval(yes.astype(np.float64), (~no).astype(np.float64))


class Integers:
    """Primitives whose result is an integer."""

    def integer(self, site: Site, out: Lanes, args: Sequence[Lanes]) -> Interval:
        if out.taint != FLOAT_DATA:
            return whole(out.data)
        own = [a.replace(data=own_values(a)) for a in args]
        exact = whole(ieee.evaluate(site.name, site.attrs, out.dtype, *own))
        sure = np.logical_and.reduce(np.broadcast_arrays(*(known(a) for a in args)))
        return exact if sure.all() else iv.where(sure, exact, self._between(site, out, [interval(a) for a in args]))

    @staticmethod
    def _between(site: Site, out: Lanes, x: Sequence[Interval]) -> Interval:
        """What an operation on intervals of integers can give."""
        name, truth = site.name, out.dtype.kind == "bool"
        if name in ("max", "min") or (truth and name in ("and", "or")):
            return iv.extreme("max" if name in ("max", "or") else "min", *x)
        if truth and name == "not":
            return Interval(1 - x[0].hi, 1 - x[0].lo)
        return fitted(out, _RING[name](*x)) if name in _RING and not truth else unknown(out)

    def op_and(self, site: Site, out: Lanes, *args: Lanes) -> Interval:
        return self.integer(site, out, args)

    op_or = op_xor = op_not = op_shl = op_shr = op_mulhi = op_popcount = op_clz = op_and

    def compare(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Interval:
        """Sure where the intervals do not meet; what may be NaN is never sure."""
        if out.taint != FLOAT_DATA:
            return whole(out.data)
        x, y = interval(a), interval(b)
        answer = _PREDICATES[site.attrs["pred"]](x, y)
        if a.planes is not None and b.planes is not None and x.lo is y.lo and x.hi is y.hi:
            same = np.full((1,) * x.lo.ndim, site.attrs["pred"] in ("eq", "le", "ge"))
            answer = decided(same, ~same)
        either = unknown(out)
        return iv.where(x.is_top | y.is_top, either, answer)

    # -- casts ---------------------------------------------------------------------------------------------------

    def to_integer(self, site: Site, out: Lanes, a: Lanes) -> Interval:
        if out.taint != FLOAT_DATA:
            return whole(out.data)
        x = interval(a)
        if out.dtype.kind == "bool":
            return decided((x.lo > 0) | (x.hi < 0), x.is_point & (x.lo == 0))
        if a.dtype.is_integer:
            low, high = limits(out.dtype)
            return iv.where((x.lo >= low) & (x.hi <= high), x, self.integer(site, out, (a,)))
        return self._truncated(site, out, x.map(np.trunc))

    @staticmethod
    def _truncated(site: Site, out: Lanes, x: Interval) -> Interval:
        if site.attrs["saturate"] or site.attrs["overflow"] == "saturate":
            low, high = limits(out.dtype)
            return iv.where(x.is_top, unknown(out), x.map(lambda end: np.clip(end, low, high)))
        return fitted(out, x)

    def bits(self, site: Site, out: Lanes, a: Lanes) -> Interval:
        """The bits of a float are known where the run holds the real value itself."""
        if out.taint != FLOAT_DATA and out.dtype.is_integer:
            return whole(out.data)
        x = interval(a)
        if a.dtype.is_float:
            sure = x.is_point & (x.lo == a.data.astype(np.float64))
            values = out.data
        else:
            sure = known(a)
            values = ieee.evaluate(site.name, site.attrs, out.dtype, a.replace(data=own_values(a)))
        value = whole(values) if out.dtype.is_integer else iv.point(values.astype(np.float64))
        return iv.where(sure & ~np.isnan(value.lo), value, unknown(out))


def _equal(x: Interval, y: Interval) -> Interval:
    return decided(x.is_point & y.is_point & (x.lo == y.lo), (x.hi < y.lo) | (y.hi < x.lo))


def _less(x: Interval, y: Interval) -> Interval:
    return decided(x.hi < y.lo, x.lo >= y.hi)


def _at_most(x: Interval, y: Interval) -> Interval:
    return decided(x.hi <= y.lo, x.lo > y.hi)


_PREDICATES = {
    "eq": _equal, "ne": lambda x, y: Interval(*(1 - end for end in reversed(_equal(x, y)))),
    "lt": _less, "le": _at_most, "gt": lambda x, y: _less(y, x), "ge": lambda x, y: _at_most(y, x),
}  # fmt: skip
