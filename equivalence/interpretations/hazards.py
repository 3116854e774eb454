"""`hazards`: lanes that rounding or overflow may have led astray, and what a source keeps from falling below zero.

One plane of bits, read beside `error`'s: NONNEG, made by operations whose rounded results cannot be negative (squares,
exponentials, their sums); BELOW, followed a root or a logarithm of something else that rounding may make negative
(E[x^2] - E[x]^2 of equal values); BEYOND, followed an infinity or a NaN that finite operands gave, LARGE where their
size gave it, and no division by 0, root or logarithm.  A select keeps the bits of the lane it takes.  Bounds say
nothing of such lanes; which side has them does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equivalence.evaluator.lanes import Lanes, Planes
from equivalence.interpretations.base import Interpretation, Site
from lowering.errors import Span

NONNEG, BELOW, BEYOND, LARGE = np.uint8(1), np.uint8(2), np.uint8(4), np.uint8(8)
_CARRIED = BELOW | BEYOND | LARGE
PLANE = "hazard"
#: Functions whose results are never negative, and those that keep the sign of their argument.
_NEVER_NEGATIVE = frozenset({"exp", "exp2", "sqrt", "rsqrt", "cosh", "erfc"})
_SIGN_KEPT = frozenset({"tanh", "sinh", "asinh", "atan", "cbrt", "expm1", "log1p", "erf"})
_ROOTS = frozenset({"sqrt", "rsqrt", "log", "log2", "log10"})
#: What gives an infinity only where a result is too large.
_GROWING = frozenset({"add", "sub", "mul", "fma", "cast", "scan", "exp", "exp2", "expm1", "sinh", "cosh"})

Array = np.ndarray


class Hazards(Interpretation):
    """Plane ``hazard``; its operands carry the plane ``bound`` of `error`, which the same run must have."""

    name = "hazards"

    def __init__(self) -> None:
        self.planes = {PLANE: np.dtype(np.uint8)}
        self.below: list[Span] = []  # where roots and logarithms of what may be negative are taken

    def literal(self, data: Array, lanes: Lanes) -> Planes:
        if lanes.dtype.kind in ("bool", "uint"):
            return {PLANE: np.full((1,) * data.ndim, NONNEG)}
        return {PLANE: np.where(data.astype(np.float64) >= 0, NONNEG, np.uint8(0))}

    def atom(self, name: str, index: Array, lanes: Lanes) -> Planes:
        return {PLANE: np.full((1,) * index.ndim, 0, np.uint8)}

    def undefined(self, first: int, lanes: Lanes) -> Planes:
        return {PLANE: np.full((1,) * lanes.data.ndim, 0, np.uint8)}

    def apply(self, site: Site, out: Lanes, args: Sequence[Lanes]) -> Planes:
        bits = [_bits(a) for a in args]
        if site.name in ("reduce", "scan", "dot"):
            found = self._accumulated(site, out, args, bits)
        elif site.name == "select":
            found = np.where(args[0].data, bits[1], bits[2]) | (bits[0] & _CARRIED)
        else:
            found = _any(bits) & _CARRIED | np.where(self._nonneg(site, args, bits), NONNEG, np.uint8(0))
            if site.name == "math" and site.attrs["fn"] in _ROOTS:
                below = _may_be_below(args[0], bits[0])
                found = found | np.where(below, BELOW, np.uint8(0))
                self.below += [site.span] if below.any() else []
        return {PLANE: found | self._beyond(site, out, args)}

    def several(self, site: Site, outs: Sequence[Lanes], args: Sequence[Lanes], extra: Any = None) -> list[Planes]:
        """argmax pairs and sorts: what is true of one lane of the row may be true of every result."""
        axis = site.attrs["axis"] + 1
        merged = _any([_bits(a) for a in args]) & _CARRIED
        row = np.bitwise_or.reduce(merged, axis=axis, keepdims=site.name != "reduce")
        return [{PLANE: row} for _ in outs]

    # -- signs -----------------------------------------------------------------------------------------------------

    @staticmethod
    def _nonneg(site: Site, args: Sequence[Lanes], bits: Sequence[Array]) -> Array | bool:
        every = np.logical_and.reduce(np.broadcast_arrays(*((b & NONNEG) != 0 for b in bits)))
        match site.name:
            case "mul":
                return True if args[0].data is args[1].data else every
            case "fma":
                return (bits[2] & NONNEG) != 0 if args[0].data is args[1].data else every
            case "max":
                return np.logical_or(*((b & NONNEG) != 0 for b in bits))
            case "abs":
                return True
            case "add" | "div" | "min" | "round":
                return every
            case "cast":
                return True if args[0].dtype.kind in ("bool", "uint") else every
            case "math":
                return _function_nonneg(site.attrs["fn"], args, bits)
        return False

    # -- accumulation ----------------------------------------------------------------------------------------------

    @staticmethod
    def _accumulated(site: Site, out: Lanes, args: Sequence[Lanes], bits: Sequence[Array]) -> Array:
        if site.name == "dot":
            rank = len(args[0].shape)
            row, column = (
                (np.bitwise_or.reduce(b & _CARRIED, axis=axis, keepdims=True),
                 np.bitwise_and.reduce(b & NONNEG, axis=axis, keepdims=True))
                for b, axis in zip(bits, (rank, rank - 1), strict=False)
            )  # fmt: skip
            found = (row[0] | column[0]) | (row[1] & column[1])
            for b in bits[2:]:
                found = ((found | b) & _CARRIED) | (found & b & NONNEG)
            return found
        axis, keeps = site.attrs["axis"] + 1, site.attrs["combine"] in ("add", "mul", "max", "min")
        carried, signs = bits[0] & _CARRIED, bits[0] & NONNEG if keeps else bits[0] & np.uint8(0)
        if site.name == "reduce":
            return np.bitwise_or.reduce(carried, axis=axis) | np.bitwise_and.reduce(signs, axis=axis)
        if bits[0].shape[axis] == 1:
            return carried | signs
        turn = (lambda a: np.flip(a, axis)) if site.attrs["reverse"] else (lambda a: a)
        return turn(
            np.bitwise_or.accumulate(turn(carried), axis=axis) | np.bitwise_and.accumulate(turn(signs), axis=axis)
        )

    # -- overflow --------------------------------------------------------------------------------------------------

    @staticmethod
    def _beyond(site: Site, out: Lanes, args: Sequence[Lanes]) -> Array | np.uint8:
        """Results that are not finite though the operands are."""
        if not out.dtype.is_float or np.isfinite(out.data).all():
            return np.uint8(0)
        lost = ~np.isfinite(out.data)
        if site.name == "reduce":
            finite = np.isfinite(args[0].full(args[0].data)).all(axis=site.attrs["axis"] + 1)
            return np.where(lost & finite, BEYOND | LARGE, np.uint8(0))
        if site.name == "dot":
            finite = all(np.isfinite(a.data).all() for a in args)
            return np.where(lost & finite, BEYOND | LARGE, np.uint8(0))
        for a in args:
            if a.dtype.is_float:
                lost = lost & np.isfinite(a.data)
        by_size = site.name in _GROWING or (site.name == "math" and site.attrs["fn"] in _GROWING)
        return np.where(lost, BEYOND | LARGE if by_size else BEYOND, np.uint8(0))


def _bits(x: Lanes) -> Array:
    return x.planes[PLANE]  # type: ignore[index]


def _any(bits: Sequence[Array]) -> Array:
    found = bits[0]
    for other in bits[1:]:
        found = found | other
    return found


def _function_nonneg(fn: str, args: Sequence[Lanes], bits: Sequence[Array]) -> Array | bool:
    if fn in _NEVER_NEGATIVE:
        return True
    if fn == "pow":
        even = args[1].data.astype(np.float64) % 2 == 0
        return even | ((bits[0] & NONNEG) != 0)
    return (bits[0] & NONNEG) != 0 if fn in _SIGN_KEPT else False


def _may_be_below(x: Lanes, bits: Array) -> Array:
    """The argument's interval has negative numbers in it that only rounding brings."""
    bound = x.planes["bound"]  # type: ignore[index]
    with np.errstate(invalid="ignore"):
        near = np.isfinite(bound) & (bound > 0) & (np.abs(x.data.astype(np.float64)) <= bound)
    return near & ((bits & NONNEG) == 0)


__all__ = ["BELOW", "BEYOND", "LARGE", "NONNEG", "PLANE", "Hazards"]
