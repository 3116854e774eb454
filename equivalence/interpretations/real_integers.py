"""Integers, casts and rounding of `real`.

Integers without float data in their cone are what the run has; those decided by the sample are concrete per sample;
those made by rounding field values are opaque: sums and products stay homomorphic, all else is a random function.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equivalence.evaluator.lanes import FLOAT_DATA, Lanes, Planes
from equivalence.interpretations import ieee
from equivalence.interpretations.base import Site
from equivalence.interpretations.real_cell import (
    BOTH,
    CONCRETE,
    DATA,
    LITERAL,
    NONNEG,
    NONZERO,
    NOTHING,
    PURE,
    ROOTS,
    WHOLE,
    Array,
    Cell,
    cell,
    flag,
    pick,
    pointwise,
)
from equivalence.interpretations.real_symbols import Symbols
from lowering.ir.types import DType

_RING = frozenset(["add", "sub", "mul", "neg"])
_KEEPS_SIGN = frozenset(["add", "mul", "cast", "and", "or", "max", "min"])
_ROUND = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "even": np.rint,
          "away": lambda s: np.trunc(s + np.copysign(0.5, s))}  # fmt: skip
#: floor(-x) = -ceil(x); the other modes are odd.
_MIRROR = {"floor": "ceil", "ceil": "floor"}


def own_values(lanes: Lanes) -> Array:
    """The integers that this interpretation's own sample has."""
    if lanes.taint != FLOAT_DATA:
        return lanes.data
    sample = np.nan_to_num(cell(lanes).sample, nan=0.0, posinf=0.0, neginf=0.0)
    if lanes.dtype.kind == "bool":
        return sample != 0
    with np.errstate(all="ignore"):
        return sample.astype(np.int64).astype(lanes.dtype.numpy)


class Integers(Symbols):
    """Primitives on integers, casts between the sorts, rounding."""

    used_integer_values: bool

    def concrete(self, data: Array, literal: bool) -> Cell:
        """Lanes that are exactly these integers."""
        x = self.literals.integers(data)
        return x if literal else x.marked(x.mark & ~(LITERAL | PURE))

    def settled(self, out: Lanes, *args: Lanes) -> Cell:
        """An integer that no float decides; DATA where it is computed from values of integer inputs, masks apart."""
        self.use(*args)
        made = self._traced(self.concrete(out.data, self.all_literal(*args)), out, args)
        return made.marked(made.mark | DATA) if out.dtype.kind != "bool" and self.symbolic(*args) else made

    @staticmethod
    def _traced(x: Cell, out: Lanes, args: Sequence[Lanes]) -> Cell:
        data = out.dtype.kind != "bool" and any(cell(a).has(DATA) for a in args)
        return x.marked(x.mark | DATA) if data else x

    def integer(self, site: Site, out: Lanes, args: Sequence[Lanes]) -> Cell:
        """Any primitive whose result is an integer and that is no comparison."""
        if out.taint != FLOAT_DATA:
            made = self.in_bits(site, out, args)
            return self.settled(out, *args) if made is None else made
        self.use(*args, numbers=True)  # beside floats, or undefined lanes: the values that the run has
        return self._traced(self._from_floats(site, out, args), out, args)

    def _from_floats(self, site: Site, out: Lanes, args: Sequence[Lanes]) -> Cell:
        own = [a.replace(data=own_values(a)) for a in args]
        cells = [cell(a) for a in args]
        exact = self.concrete(ieee.evaluate(site.name, site.attrs, out.dtype, *own), False)
        exact = exact.marked(exact.mark | self._kept(site, out, cells))
        known = (cells[0].mark & CONCRETE) != 0
        for x in cells[1:]:
            known = known & ((x.mark & CONCRETE) != 0)
        if known.all():
            return exact
        return pick(known, exact, self._opaque_integer(site, out, cells).sampled(exact.sample))

    @staticmethod
    def _kept(site: Site, out: Lanes, cells: Sequence[Cell]) -> Array:
        """Lanes of literals give literals; truth values are not negative, nor is what is made of such."""
        common = cells[0].mark
        for x in cells[1:]:
            common = common & x.mark
        nonneg = flag((common & BOTH) != 0, NONNEG) if out.dtype.kind in ("bool", "uint") else common & NONNEG
        return (common & LITERAL) | (nonneg if site.name in _KEEPS_SIGN or out.dtype.kind == "bool" else NOTHING)

    def _opaque_integer(self, site: Site, out: Lanes, cells: Sequence[Cell]) -> Cell:
        """Modulo 2^bits is not seen: opaque integers are taken to be in range."""
        if site.name in _RING and out.dtype.kind != "bool":
            result = getattr(self, site.name)(*cells)
            return result.marked((result.mark & ~(CONCRETE | NONNEG | NONZERO)) | WHOLE)  # it may have wrapped
        attrs = sorted((k, v) for k, v in site.attrs.items() if k in ("rounding",))
        result = self.hashed(f"{site.name} {out.dtype.bits} {attrs}", *cells)
        return result.marked(result.mark | WHOLE)

    def op_and(self, site: Site, out: Lanes, *args: Lanes) -> Planes:
        return self.integer(site, out, args).planes()

    op_or = op_xor = op_not = op_shl = op_shr = op_mulhi = op_popcount = op_clz = op_and

    # -- casts ---------------------------------------------------------------------------------------------------

    def op_cast(self, site: Site, out: Lanes, a: Lanes) -> Planes:
        x = cell(a)
        if out.dtype.is_float:
            return self._to_float(site, out, a, x).planes()
        if a.dtype.is_integer:
            return self._between_integers(site, out, a, x).planes()
        if out.dtype.kind == "bool":
            outcome, known = x.sample != 0, (x.mark & NONZERO) != 0
            counted = x.alive & ((x.mark & LITERAL) == 0) & ~known
            self.meets(site, "cmp", counted, (a,))
            self.sites.record(site, "cmp", counted, [outcome, ~outcome], (a,))
            outcome = self.turned(site, "cmp", outcome | known, counted)
            return self.truth(outcome, ((x.mark & LITERAL) != 0) | known).planes()
        return self._truncated(out.dtype, x).planes()

    def _to_float(self, site: Site, out: Lanes, a: Lanes, x: Cell) -> Cell:
        """The identity; values of integer inputs used as numbers are remembered, masks and counts are not."""
        if a.dtype.is_integer:
            self.used_integer_values |= x.has(DATA)
            self.numbers = self.numbers | self.bits.inputs_of(a)
            return x
        return self.saturated(site, x, out.dtype, a) if site.attrs.get("saturate") else x

    def _between_integers(self, site: Site, out: Lanes, a: Lanes, x: Cell) -> Cell:
        if out.taint != FLOAT_DATA or out.dtype.kind == "bool" or x.is_all(CONCRETE):
            return self.integer(site, out, (a,))
        return x if out.dtype == a.dtype else self.unwrapped(out, (a,), x)

    def _truncated(self, to: DType, x: Cell) -> Cell:
        """Float to integer: truncation, an odd opaque function; integers in float form are themselves."""
        result = self.narrowed(to, x, self.rounded("trunc", x))
        low, high = (0, 2.0**to.bits) if to.kind == "uint" else (-(2.0 ** (to.bits - 1)), 2.0 ** (to.bits - 1))
        return result.sampled(np.clip(result.sample, low, high - 1)) if x.is_all(LITERAL) else result

    def op_round(self, site: Site, out: Lanes, a: Lanes) -> Planes:
        return self.rounded(site.attrs["mode"], cell(a)).planes()

    def rounded(self, mode: str, x: Cell) -> Cell:
        whole = pointwise(_ROUND[mode], x.sample)
        literal = ((x.mark & LITERAL) != 0) & np.isfinite(whole) & (np.abs(whole) < 2.0**62)
        known = ((x.mark & WHOLE) != 0) | literal
        if not known.any():
            return self._opaque_rounding(mode, x).sampled(whole)
        exact = self.concrete(np.where(literal, np.nan_to_num(whole), 0).astype(np.int64), False)
        exact = exact.marked(exact.mark | (x.mark & LITERAL))
        same = pick((x.mark & WHOLE) != 0, x, exact)
        if known.all():
            return same
        return pick(known, same, self._opaque_rounding(mode, x).sampled(whole))

    def _opaque_rounding(self, mode: str, x: Cell) -> Cell:
        negative, bare = self.upright(x)
        upright = self.hashed(f"round {mode}", bare)
        mirrored = self.hashed(f"round {_MIRROR.get(mode, mode)}", bare)
        result = pick(negative, self.neg(mirrored), upright)
        return result.marked(result.mark | WHOLE)

    def op_bitcast(self, site: Site, out: Lanes, a: Lanes) -> Planes:
        """Integer bits are integers again; the bits of a float are a random function of it."""
        if a.dtype.is_integer and out.dtype.is_integer:
            return self.integer(site, out, (a,)).planes()
        if self.all_literal(a):
            made = (
                self.literals.floats(out.data, out.dtype.name) if out.dtype.is_float else self.concrete(out.data, True)
            )
            return made.planes()
        self.used_integer_values |= cell(a).has(DATA)
        self.use(a, numbers=True)
        hashed = self.hashed(f"bitcast {a.dtype} {out.dtype}", cell(a))
        if out.dtype.is_integer:
            hashed = hashed.marked(hashed.mark | WHOLE)
        return hashed.sampled(out.data.astype(np.float64)).planes()


__all__ = ["NOTHING", "ROOTS", "Integers", "flag", "own_values"]
