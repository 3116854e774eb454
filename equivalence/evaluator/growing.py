"""One value assembled from slabs as they are made, so that no slab is held twice.

Gives Growing.  A plane that is uniform in every slab stays uniform; planes that share an array in every slab still do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from equivalence.evaluator.lanes import SOME, Lanes

DATA = ""  # the name under which the data stands among the planes


@dataclass(slots=True)
class Growing:
    """Lanes of logical ``shape``, whose ``axis`` (of ``extent``) is cut into slabs; at least one slab is added."""

    shape: tuple[int, ...]
    axis: int | None
    extent: int
    lift: Callable[[Lanes], Lanes]  # gives lanes without planes their planes
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    first: Lanes | None = None
    filled: int = 0  # positions along the axis so far

    @property
    def has_planes(self) -> bool:
        return self.first is not None and self.first.planes is not None

    def add(self, part: Lanes, s: slice) -> None:
        """The next slab; once one has planes, all have."""
        if self.has_planes:
            part = self.lift(part)
        elif self.first is not None and part.planes is not None:
            self.first = self.lift(self.lanes())
            self.arrays = {DATA: self.first.data, **(self.first.planes or {})}
        given = {DATA: part.data, **(part.planes or {})}
        done: dict[tuple[int, int | None], np.ndarray] = {}
        for name, array in given.items():
            old = self.arrays.get(name)
            key = id(array), None if old is None else id(old)
            if key not in done:
                shared = old is not None and any(a is old and id(given[n]) != id(array) for n, a in self.arrays.items())
                done[key] = self._with(old.copy() if shared and old is not None else old, array, s)
        self.arrays = {n: done[id(a), None if n not in self.arrays else id(self.arrays[n])] for n, a in given.items()}
        self.first = part if self.first is None else self._joined(self.first, part)
        self.filled = s.stop

    def _with(self, old: np.ndarray | None, array: np.ndarray, s: slice) -> np.ndarray:
        """``old`` (slabs so far) with one slab more."""
        assert self.axis is not None
        whole_slab = s.stop - s.start == self.extent
        if old is None and (array.size == 1 or whole_slab):
            return array
        if old is not None and old.size == array.size == 1 and old.tobytes() == array.tobytes():
            return old
        at = self.axis + 1  # after the batch axis
        extents = [max(pair) for pair in zip(array.shape, array.shape if old is None else old.shape, strict=True)]
        extents[at] = self.extent
        if old is None or old.shape != tuple(extents):
            whole = np.empty(extents, array.dtype)
            if old is not None:
                done = (*(slice(None),) * at, slice(0, self.filled))
                whole[done] = old if old.shape[at] == 1 else old[done]
            old = whole
        old[(*(slice(None),) * at, s)] = array
        return old

    @staticmethod
    def _joined(a: Lanes, b: Lanes) -> Lanes:
        """Static facts of both."""
        return a.replace(
            taint=max(a.taint, b.taint),
            freedoms=a.freedoms | b.freedoms,
            literal=a.literal if a.literal == b.literal else SOME,
            product=a.product or b.product,
            fits=a.fits if a.fits == b.fits else None,
            weight=max(a.weight, b.weight),
        )

    def lanes(self) -> Lanes:
        assert self.first is not None
        planes = {name: array for name, array in self.arrays.items() if name != DATA}
        return self.first.replace(
            data=self.arrays[DATA], planes=planes if self.has_planes else None, shape=tuple(self.shape)
        )


__all__ = ["Growing"]
