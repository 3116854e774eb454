"""What follows a value that a trial has put in the place of a choice: a bit that travels with every value.

Runs beside a Real with ``free`` or ``alike`` sites.  The value that replaces a choice keeps its sample, so whatever
decides by that sample goes on as before: Real notes each such decision (``met``), and a trial that meets one shows
nothing about the outputs (SEMANTICS §5).  Must not know fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from equivalence.evaluator.lanes import Lanes, Planes
from equivalence.interpretations.base import Interpretation, Site
from equivalence.interpretations.real_cell import LITERAL, Array, cell
from equivalence.interpretations.real_sites import FOLLOWED as PLANE

if TYPE_CHECKING:
    from equivalence.interpretations.real import Real

CONTROL = "control"


class Followed(Interpretation):
    """Plane ``followed``: 1 where a replaced choice is on the way."""

    name = "followed"

    def __init__(self, real: Real) -> None:
        self.real = real
        self.planes = {PLANE: np.dtype(np.uint8)}

    def literal(self, data: Array, lanes: Lanes) -> Planes:
        return {PLANE: np.zeros((1,) * data.ndim, np.uint8)}

    def atom(self, name: str, index: Array, lanes: Lanes) -> Planes:
        return self.literal(index, lanes)

    def undefined(self, first: int, lanes: Lanes) -> Planes:
        return self.literal(lanes.data, lanes)

    def steered(self, value: Lanes) -> bool:
        """Control, a mask or an address: no trial moves it."""
        if followed(value).any():
            self.real.met.add(CONTROL)
        return False

    def apply(self, site: Site, out: Lanes, args: Sequence[Lanes]) -> Planes:
        bits = [followed(a) for a in args]
        if site.name == "select":
            condition = cell(args[0])  # one that holds whatever stands for the choice is no decision: |x| < inf
            decides = np.where((condition.mark & LITERAL) != 0, np.uint8(0), bits[0])
            found = np.where(condition.sample != 0, bits[1], bits[2]) | decides
        elif site.name == "dot":
            rank = len(args[0].shape)
            row, column = bits[0].max(axis=rank, keepdims=True), bits[1].max(axis=rank - 1, keepdims=True)
            found = _any([row | column, *bits[2:]])
        elif site.name in ("reduce", "scan"):
            axis = site.attrs["axis"] + 1  # of a scan: every prefix, which is coarse
            found = bits[0].max(axis=axis, keepdims=site.name == "scan")
        else:
            found = _any(bits)
        return {PLANE: np.ones((1,) * found.ndim, np.uint8) if self._replaced(site) else found}

    def several(self, site: Site, outs: Sequence[Lanes], args: Sequence[Lanes], extra: Any = None) -> list[Planes]:
        axis = site.attrs["axis"] + 1
        found = _any([followed(a) for a in args]).max(axis=axis, keepdims=site.name != "reduce")
        return [{PLANE: found} for _ in outs]

    def _replaced(self, site: Site) -> bool:
        keys = self.real.free | self.real.alike
        kinds = (site.name,) if site.name in ("max", "min", "abs") else ("extremum",) if site.name == "reduce" else ()
        kinds += ("choice",) if site.name == "select" else (site.attrs["combine"],) if site.name == "scan" else ()
        return any(self.real.sites.key(site, kind) in keys for kind in kinds)


def followed(lanes: Lanes) -> Array:
    """The plane; none where no trial is on."""
    planes = lanes.planes or {}
    return planes[PLANE] if PLANE in planes else np.zeros((1,) * lanes.data.ndim, np.uint8)


def _any(bits: Sequence[Array]) -> Array:
    total = bits[0]
    for part in bits[1:]:
        total = total | part
    return total


__all__ = ["CONTROL", "PLANE", "Followed", "followed"]
