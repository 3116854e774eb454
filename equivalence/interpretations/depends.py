"""`depends`: which inputs a lane can depend on (a 64-bit signature, informs only) and what is undefined about it.

Poison bits: UNDEFINED, a lane of no particular value was used; ZERO_BY_TARGET, a masked load relied on the target's
zero; OUT_OF_BOUNDS, an address outside its buffer was read.  Select kills the poison of the lane it does not take.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equivalence.evaluator.lanes import Lanes, Planes
from equivalence.interpretations.base import Interpretation, Site, tag

UNDEFINED, ZERO_BY_TARGET, OUT_OF_BOUNDS = np.uint8(1), np.uint8(2), np.uint8(4)
_NONE = np.zeros(1, np.uint8)


class Depends(Interpretation):
    """Planes ``touch`` (or of one-bit marks of input elements) and ``poison``."""

    name = "depends"

    def __init__(self, marks: bool = True) -> None:
        """``marks``: whether inputs are told apart; what only asks for poison is cheaper without."""
        every = {"touch": np.dtype(np.uint64), "poison": np.dtype(np.uint8)}
        self.planes = every if marks else {"poison": every["poison"]}

    def _uniform(self, ndim: int, poison: np.uint8) -> Planes:
        return {name: np.full((1,) * ndim, poison if name == "poison" else 0, dt) for name, dt in self.planes.items()}

    def literal(self, data: np.ndarray, lanes: Lanes) -> Planes:
        return self._uniform(data.ndim, np.uint8(0))

    def atom(self, name: str, index: np.ndarray, lanes: Lanes) -> Planes:
        planes = self._uniform(index.ndim, np.uint8(0))
        return {**planes, "touch": self._marks(name, index)} if "touch" in planes else planes

    @staticmethod
    def _marks(name: str, index: np.ndarray) -> np.ndarray:
        bit = index.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        bit += np.uint64(tag(name) * 0x85EBCA6B & 0xFFFFFFFFFFFFFFFF)
        bit >>= np.uint64(58)
        return np.left_shift(np.uint64(1), bit, out=bit)

    def undefined(self, first: int, lanes: Lanes) -> Planes:
        return self._uniform(lanes.data.ndim, UNDEFINED)

    def apply(self, site: Site, out: Lanes, args: Sequence[Lanes]) -> Planes:
        if site.name == "reduce":
            return self._along(args[0], site.attrs["axis"] + 1, keep=False)
        if site.name == "scan":
            axis, reverse = site.attrs["axis"] + 1, site.attrs["reverse"]
            return {name: self._prefixes(args[0].planes[name], axis, reverse) for name in self.planes}  # type: ignore[index]
        if site.name == "dot":
            return self._dot(args)
        merged = {name: self._or([a.planes[name] for a in args]) for name in self.planes}  # type: ignore[index]
        if site.name in ("and", "or") and out.dtype.kind == "bool" and merged.get("poison", _NONE).any():
            merged["poison"] = self._settled(args, absorbing=site.name == "or")
        return merged

    @staticmethod
    def _settled(args: Sequence[Lanes], absorbing: bool) -> np.ndarray:
        """Poison of a conjunction: a defined false operand kills it, as a defined true one that of a disjunction."""
        poison = [a.planes["poison"] for a in args]  # type: ignore[index]
        fixed = [(a.data == absorbing) & (p == 0) for a, p in zip(args, poison, strict=True)]
        return np.where(fixed[1], np.uint8(0), poison[0]) | np.where(fixed[0], np.uint8(0), poison[1])

    def several(self, site: Site, outs: Sequence[Lanes], args: Sequence[Lanes], extra: Any = None) -> list[Planes]:
        merged = args[0].replace(planes={n: self._or([a.planes[n] for a in args]) for n in self.planes})  # type: ignore[index]
        planes = self._along(merged, site.attrs["axis"] + 1, keep=site.name != "reduce")
        return [planes for _ in outs]

    @staticmethod
    def _or(parts: Sequence[np.ndarray]) -> np.ndarray:
        total = parts[0]
        for part in parts[1:]:
            if part.size == 1 and not part.any():
                continue
            total = part if total.size == 1 and not total.any() else total | part
        return total

    def _along(self, x: Lanes, axis: int, keep: bool) -> Planes:
        return {name: self._reduced(x.planes[name], axis, keep) for name in self.planes}  # type: ignore[index]

    @staticmethod
    def _prefixes(plane: np.ndarray, axis: int, reverse: bool) -> np.ndarray:
        """The or of every lane and those before it (after it, in reverse)."""
        if plane.shape[axis] == 1:
            return plane
        turned = np.flip(plane, axis) if reverse else plane
        done = np.bitwise_or.accumulate(turned, axis=axis)
        return np.flip(done, axis) if reverse else done

    @staticmethod
    def _reduced(plane: np.ndarray, axis: int, keep: bool) -> np.ndarray:
        """The or along an axis; one lane stands for all after a sort (a coarse answer, on the safe side)."""
        return np.bitwise_or.reduce(plane, axis=axis, keepdims=keep)

    def _dot(self, args: Sequence[Lanes]) -> Planes:
        rank = len(args[0].shape)
        planes = {}
        for name in self.planes:
            row = self._reduced(args[0].planes[name], rank, True)  # type: ignore[index]
            column = self._reduced(args[1].planes[name], rank - 1, True)  # type: ignore[index]
            planes[name] = self._or([row, column, *(a.planes[name] for a in args[2:])])  # type: ignore[index]
        return planes
