"""`enclosure`: for each lane an interval that holds the value of the program's real function on the given inputs.

Planes ``lo`` and ``hi``.  Casts between floats are identities, constants are the exact numbers they stand for (by the
identification that `real` uses), integers are concrete; a decision whose operands' intervals meet gives the union of
both answers.  [-inf, inf] means unknown.  Control and addresses follow `ieee`.  Must not know the evaluator.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from equivalence.evaluator.lanes import Lanes, Planes
from equivalence.fields.constants import Form, Identification, exact, identify, recognise
from equivalence.interpretations import enclosure_math
from equivalence.interpretations import interval as iv
from equivalence.interpretations.base import Interpretation, Site
from equivalence.interpretations.enclosure_accumulate import Accumulate
from equivalence.interpretations.enclosure_integers import interval, planes, unknown, whole
from equivalence.interpretations.error import is_mask
from equivalence.interpretations.interval import Array, Interval
from equivalence.interpretations.real_decisions import LARGEST
from equivalence.interpretations.real_literals import SMALL, constants_of
from lowering.ir.program import Program
from lowering.ir.types import DType


def form_ends(form: Form) -> tuple[float, float]:
    """The floats on both sides of an exact number, or it twice."""
    number = form.value()
    near = float(number)
    if not math.isfinite(near) or near == number:
        return near, near
    other = float(np.nextafter(near, np.inf if near < number else -np.inf))
    return min(near, other), max(near, other)


class Enclosure(Accumulate, Interpretation):
    """``meaning`` of constants is shared by the two programs of a comparison."""

    name = "enclosure"

    def __init__(self, identification: Identification | None = None) -> None:
        self.planes = {"lo": np.dtype(np.float64), "hi": np.dtype(np.float64)}
        self.meaning = dict(identification.meaning) if identification else {}

    def apply(self, site: Site, out: Lanes, args: Sequence[Lanes]) -> Planes:
        with np.errstate(all="ignore"):
            return planes(getattr(self, f"op_{site.name}")(site, out, *args))

    # -- leaves --------------------------------------------------------------------------------------------------

    def literal(self, data: Array, lanes: Lanes) -> Planes:
        if not lanes.dtype.is_float:
            return planes(whole(data))
        with np.errstate(all="ignore"):
            return planes(self._meant(data.astype(np.float64), lanes.dtype))

    def _meant(self, data: Array, dt: DType) -> Interval:
        """NaN is unknown; a recognised constant is the number it stands for, and a mask, which has no error, either."""
        dtype = dt.name
        lo, hi = (np.where(np.isnan(data), end, data) for end in (-np.inf, np.inf))
        for value in np.unique(data[np.isfinite(data)]).tolist() if data.size <= SMALL else self._known(dtype):
            low, high = form_ends(self._form(dtype, value))
            if is_mask(np.asarray(value), dt):
                low, high = min(low, value), max(high, value)
            if (low, high) != (value, value):
                lo, hi = np.where(data == value, low, lo), np.where(data == value, high, hi)
        return Interval(lo, hi)

    def _known(self, dtype: str) -> list[float]:
        return [value for kind, value in self.meaning if kind == dtype]

    def _form(self, dtype: str, value: float) -> Form:
        return self.meaning.get((dtype, value)) or recognise(value, dtype) or exact(value)

    def atom(self, name: str, index: Array, lanes: Lanes) -> Planes:
        if not lanes.dtype.is_float:
            return planes(whole(lanes.data))
        data = lanes.data.astype(np.float64)
        return planes(Interval(*(np.where(np.isnan(data), end, data) for end in (-np.inf, np.inf))))

    def undefined(self, first: int, lanes: Lanes) -> Planes:
        return planes(unknown(lanes))

    # -- arithmetic ----------------------------------------------------------------------------------------------

    def op_add(self, site: Site, out: Lanes, *args: Lanes) -> Interval:
        if out.dtype.is_integer:
            return self.integer(site, out, args)
        return getattr(iv, site.name)(*(interval(a) for a in args))

    op_sub = op_mul = op_div = op_neg = op_add

    def op_fma(self, site: Site, out: Lanes, a: Lanes, b: Lanes, c: Lanes) -> Interval:
        return iv.add(iv.mul(interval(a), interval(b)), interval(c))

    def op_math(self, site: Site, out: Lanes, *args: Lanes) -> Interval:
        return enclosure_math.function(site.attrs["fn"], *(interval(a) for a in args))

    def op_rem(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Interval:
        """fmod is exact, and rises with the dividend until the quotient changes, where it falls by |b|."""
        if out.dtype.is_integer:
            return self.integer(site, out, (a, b))
        x, y = interval(a), interval(b)
        fn = np.fmod if site.attrs["rounding"] == "trunc" else np.mod
        lo, hi = fn(x.lo, y.lo), fn(x.hi, y.lo)
        same = (x.lo >= 0) | (x.hi <= 0) | (site.attrs["rounding"] != "trunc")
        sure = y.is_point & (x.is_point | (same & (x.hi - x.lo < np.abs(y.lo) / 2) & (lo <= hi)))
        if site.attrs["rounding"] != "trunc":
            lo, hi = iv.down(lo), iv.up(hi)  # np.mod adds the divisor, which rounds
        return iv.where(sure & ~np.isnan(lo + hi), Interval(lo, hi), unknown(out))

    def op_opaque(self, site: Site, out: Lanes, *args: Lanes) -> Interval:
        return unknown(out)

    def op_addptr(self, site: Site, out: Lanes, *args: Lanes) -> Interval:
        return whole(out.data)

    # -- decisions -----------------------------------------------------------------------------------------------

    def op_max(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Interval:
        if out.dtype.is_integer:
            return self.integer(site, out, (a, b))
        return iv.extreme(site.name, interval(a), interval(b))

    op_min = op_max

    def op_abs(self, site: Site, out: Lanes, a: Lanes) -> Interval:
        return self.integer(site, out, (a,)) if out.dtype.is_integer else iv.absolute(interval(a))

    def op_cmp(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Interval:
        return self.compare(site, out, a, b)

    def op_select(self, site: Site, out: Lanes, c: Lanes, a: Lanes, b: Lanes) -> Interval:
        """Both answers where the condition is not sure."""
        condition, x, y = interval(c), interval(a), interval(b)
        chosen = iv.where(condition.lo > 0, x, y)
        if condition.is_point.all():
            return chosen
        return iv.where(condition.is_point, chosen, iv.union(x, y))

    # -- casts and rounding --------------------------------------------------------------------------------------

    def op_cast(self, site: Site, out: Lanes, a: Lanes) -> Interval:
        if not out.dtype.is_float:
            return self.to_integer(site, out, a)
        limit = LARGEST.get(out.dtype.name) if site.attrs.get("saturate") and a.dtype.is_float else None
        x = interval(a)
        return x if limit is None else iv.where(x.is_top, x, x.map(lambda end: np.clip(end, -limit, limit)))

    def op_round(self, site: Site, out: Lanes, a: Lanes) -> Interval:
        return interval(a).map(_ROUND[site.attrs["mode"]])

    def op_bitcast(self, site: Site, out: Lanes, a: Lanes) -> Interval:
        return self.bits(site, out, a)


def _away(x: Array) -> Array:
    size = np.floor(np.abs(x))
    return np.copysign(size + (np.abs(x) - size >= 0.5), x)


_ROUND = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "even": np.rint, "away": _away}


def prepare(a: Program, b: Program) -> Enclosure:
    """An Enclosure in which the constants of both programs have one meaning."""
    return Enclosure(identify(constants_of(a), constants_of(b)))


__all__ = ["Enclosure", "Interval", "form_ends", "interval", "prepare"]
