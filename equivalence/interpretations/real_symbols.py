"""Primitives of `real` on integers that are symbols: what bits and bounds say of each (real_bits), or nothing.

A mixin.  ``given`` gathers the inputs whose values the run has used (in comparisons, addresses, operations that have no
such meaning), ``numbers`` those that became numbers: of an input that is in both, only its given values are known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equivalence.evaluator.lanes import Lanes
from equivalence.interpretations.base import Site
from equivalence.interpretations.real_bits import (
    EVERY,
    ONE,
    ZERO,
    Bits,
    Known,
    both,
    bounds,
    extended,
    fits,
    hull,
    wrapped,
)
from equivalence.interpretations.real_cell import (
    CONCRETE,
    DATA,
    FLOATS,
    LITERAL,
    NONNEG,
    NONZERO,
    WHOLE,
    Array,
    Cell,
    cell,
    flag,
)
from equivalence.interpretations.real_decisions import Decisions
from lowering.ir.types import DType

_BITWISE = frozenset(["and", "or", "xor"])
_RING = frozenset(["add", "sub", "mul", "neg"])
_SHIFTS = frozenset(["shl", "shr"])


class Symbols(Decisions):
    """Integers computed from the values of integer inputs."""

    bits: Bits
    given: np.uint64
    numbers: np.uint64
    alone: bool  # some decision goes by numbers that only integer inputs have made

    def symbolic(self, *args: Lanes) -> bool:
        """Whether some lane stands for a value of an integer input, whatever it is."""
        return any(bool((cell(a).alive & ((cell(a).mark & CONCRETE) == 0)).any()) for a in args)

    def use(self, *args: Lanes, numbers: bool = False) -> None:
        """What follows rests on the values that the run has; ``numbers``: and they become numbers."""
        for a in args:
            if a.planes is not None and a.dtype.is_integer and self.bits.batches:
                inputs = self.bits.inputs_of(a)
                self.given = self.given | inputs
                self.numbers = self.numbers | (inputs if numbers else ZERO)

    @property
    def rests_on_values(self) -> bool:
        """Whether some input has become numbers and was used as what it is, too."""
        return bool(self.numbers & (EVERY if self.alone else self.given))

    def in_bits(self, site: Site, out: Lanes, args: Sequence[Lanes]) -> Cell | None:
        """The result as a function of all bits; None where no lane is a symbol, or no such function is known."""
        if out.dtype.kind == "bool" or any(a.dtype.kind == "bool" for a in args) or not self.symbolic(*args):
            return None
        known = [self.bits.known(a) for a in args]
        if any(k is None for k in known):
            return None
        parts = [k for k in known if k is not None]
        made = self._moved(site, out, args, parts) if all(k.rows is not None for k in parts) else None
        if made is None and site.name in _RING:
            made = self._in_ring(site, out, args, parts)
        if made is None and site.name in ("cast", "bitcast") and fits(parts[0].low, parts[0].high, out.dtype):
            made = cell(args[0])
        return made

    def _moved(self, site: Site, out: Lanes, args: Sequence[Lanes], parts: list[Known]) -> Cell | None:
        """Operations that move bits, or name new ones."""
        rows = self._bits_of(site, out, args, [k.rows for k in parts if k.rows is not None])
        if rows is None:
            return None
        origins = np.bitwise_or.reduce(np.broadcast_arrays(*(k.origins for k in parts)))
        shape = np.broadcast_shapes(rows.shape[:-1], out.data.shape, origins.shape)
        rows = np.broadcast_to(rows, (*shape, rows.shape[-1]))
        return self.bits.made(rows, out.data, origins, any(cell(a).has(DATA) for a in args))

    def _bits_of(self, site: Site, out: Lanes, args: Sequence[Lanes], rows: list[Array]) -> Array | None:
        bits, name = out.dtype.bits, site.name
        if name in ("cast", "bitcast"):
            return wrapped(rows[0], out.dtype)
        full = [extended(r, bits) for r in rows]
        if name == "not":
            return wrapped(full[0] ^ ONE, out.dtype)
        if name in _BITWISE:
            return wrapped(both(name, full[0], full[1]), out.dtype)
        amount = _constant(args[1]) if len(args) == 2 else None
        if amount is None or (amount < 0).any():
            return self._disjoint(site, out, rows)
        if name in _SHIFTS:
            return None if (amount >= bits).any() else wrapped(self._shifted(site, out, full[0], amount), out.dtype)
        power = _log2(amount)
        if power is None:
            return self._disjoint(site, out, rows)
        if name == "mul" and power.max(initial=0) < bits:
            shifted = _take(extended(rows[0], 64), power, -1, ZERO)
            return shifted if fits(*bounds(shifted), out.dtype) else None
        if name in ("div", "rem") and (site.attrs["rounding"] == "floor" or not rows[0][..., -1].any()):
            if name == "div":
                return _take(rows[0], power, 1, None)
            wide = extended(rows[0], max(rows[0].shape[-1], int(power.max(initial=0)) + 1))  # the sign bit is 0
            return np.where(np.arange(wide.shape[-1]) < power[..., None], wide, ZERO)
        return self._disjoint(site, out, rows)

    def _shifted(self, site: Site, out: Lanes, full: Array, amount: Array) -> Array:
        if site.name == "shl":
            return _take(full, amount, -1, ZERO)
        return _take(full, amount, 1, ZERO if out.dtype.kind == "uint" else None)

    @staticmethod
    def _disjoint(site: Site, out: Lanes, rows: list[Array]) -> Array | None:
        """A sum of numbers that are not negative and share no bit."""
        if site.name != "add" or any(r[..., -1].any() for r in rows):
            return None
        width = max(r.shape[-1] for r in rows)
        x, y = (extended(r, width) for r in rows)
        return None if ((x != ZERO) & (y != ZERO)).any() or width > out.dtype.bits + 1 else both("or", x, y)

    def _in_ring(self, site: Site, out: Lanes, args: Sequence[Lanes], parts: Sequence[Known]) -> Cell | None:
        """Sums and products that do not wrap, whatever the bits."""
        low, high = hull(site.name, parts)
        if not fits(low, high, out.dtype):
            return None
        result = getattr(self, site.name)(*(cell(a) for a in args))
        origins = np.bitwise_or.reduce(np.broadcast_arrays(*(k.origins for k in parts)))
        return self.bounded(out, result, Known(low, high, origins, None), args)

    def narrowed(self, to: DType, x: Cell, result: Cell) -> Cell:
        """Numbers that integer inputs alone have made, as ``to``: where some may lie outside, the given ones hold."""
        shape = np.broadcast_shapes(*(plane.shape for plane in x))
        alone = np.broadcast_to(x.alive & ((x.mark & (CONCRETE | LITERAL | FLOATS)) == 0), shape)
        if not alone.any():
            return result
        found = self.bits.find(x, alone, shape)
        if found is not None and fits(found.low, found.high, to):
            return result
        return result.marked(result.mark | flag(alone, DATA))

    def unwrapped(self, out: Lanes, args: Sequence[Lanes], result: Cell, terms: int = 1) -> Cell:
        """``result``, a sum of ``terms`` products of what floats have chosen, which no field wraps: where symbols are
        among them and it may not be what it is in the type of ``out``, the given values hold."""
        origins = [self.bits.inputs_of(a) for a in args]
        if not any(origins):
            return result
        if any(not own and self.symbolic(a) for own, a in zip(origins, args, strict=True)):
            low, high = _range(out.dtype)  # beside integers that are made of floats: those are taken to be in range
        else:
            low, high = self._reach(args[0])
            for a in args[1:]:
                ends = [x * y for x in (low, high) for y in self._reach(a)]
                low, high = min(ends), max(ends)
            low, high = terms * min(low, 0.0), terms * max(high, 0.0)
        low, high = (np.full((1,) * len(out.data.shape), x) for x in (low, high))
        shape = np.broadcast_shapes(out.data.shape, *(plane.shape for plane in result))
        known = Known(low, high, np.full((1,) * low.ndim, np.bitwise_or.reduce(origins)), None)
        if not fits(low, high, out.dtype) or not self.bits.remember(result, shape, known):
            self.use(*args, numbers=True)
        return result

    def _reach(self, lanes: Lanes) -> tuple[float, float]:
        """(least, largest) of all lanes: of symbols by their bounds, or those of the type."""
        x = cell(lanes)
        shape = np.broadcast_shapes(lanes.data.shape, *(plane.shape for plane in x))
        exact = np.broadcast_to(x.alive & ((x.mark & CONCRETE) != 0), shape)
        found = self.bits.find(x, np.broadcast_to(x.alive, shape) & ~exact, shape)
        if found is None:
            return _range(lanes.dtype)
        own = np.broadcast_to(x.sample, shape)[exact]
        ends = np.concatenate([found.low, found.high, own])
        return float(ends.min(initial=0.0)), float(ends.max(initial=0.0))

    def bounded(self, out: Lanes, result: Cell, known: Known, args: Sequence[Lanes]) -> Cell | None:
        """A result of the fields, remembered with its bounds."""
        shape = np.broadcast_shapes(out.data.shape, *(plane.shape for plane in result), known.low.shape)
        mark = (result.mark & ~(NONNEG | NONZERO)) | flag(known.low >= 0, NONNEG) | WHOLE
        mark = mark | (DATA if any(cell(a).has(DATA) for a in args) else np.uint32(0))
        made = result.marked(mark).sampled(out.data.astype(np.float64))
        return made if self.bits.remember(made, shape, known) else None

    def summed(
        self, out: Lanes, args: Sequence[Lanes], result: Cell, terms: int, start: Lanes | None = None
    ) -> Cell | None:
        """A sum of ``terms`` products of one element of each operand, and of ``start``, where it cannot wrap."""
        if out.dtype.kind == "bool" or not self.symbolic(*args):
            return None
        known = [self.bits.known(a) for a in args]
        if any(k is None for k in known):
            return None
        most, origins = float(terms), ZERO
        for k in known:
            assert k is not None
            most *= max(float(np.abs(k.low).max(initial=0.0)), float(np.abs(k.high).max(initial=0.0)))
            origins = origins | np.bitwise_or.reduce(k.origins, axis=None, initial=ZERO)
        if start is not None:
            first = self.bits.known(start)
            if first is None:
                return None
            most += max(float(np.abs(first.low).max(initial=0.0)), float(np.abs(first.high).max(initial=0.0)))
            origins = origins | np.bitwise_or.reduce(first.origins, axis=None, initial=ZERO)
            args, result = (*args, start), self.add(result, cell(start))
        bound = np.full(out.data.shape, most)
        if not fits(-bound, bound, out.dtype):
            return None
        return self.bounded(out, result, Known(-bound, bound, np.full(out.data.shape, origins), None), args)


def _range(dtype: DType) -> tuple[float, float]:
    return (
        (0.0, 2.0**dtype.bits - 1)
        if dtype.kind == "uint"
        else (-(2.0 ** (dtype.bits - 1)), 2.0 ** (dtype.bits - 1) - 1)
    )


def _constant(lanes: Lanes) -> Array | None:
    return lanes.data.astype(np.int64) if cell(lanes).is_all(CONCRETE) else None


def _log2(data: Array) -> Array | None:
    if not ((data > 0) & ((data & (data - 1)) == 0)).all():
        return None
    return np.round(np.log2(data.astype(np.float64))).astype(np.int64)


def _take(rows: Array, amount: Array, direction: int, beyond: np.uint64 | None) -> Array:
    """Column k of the result is column k + direction * amount; ``beyond`` is past the ends, None the sign."""
    shape = np.broadcast_shapes(rows.shape[:-1], amount.shape)
    width = rows.shape[-1]
    place = np.arange(width) + direction * np.broadcast_to(amount, shape)[..., None]
    taken = np.take_along_axis(np.broadcast_to(rows, (*shape, width)), np.clip(place, 0, width - 1), -1)
    taken = np.where(place < 0, ZERO, taken)
    return taken if beyond is None else np.where(place >= width, beyond, taken)
