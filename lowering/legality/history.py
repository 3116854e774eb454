"""Who wrote each element last: one number for every element of every storage, as the instructions go by.

Takes a trace; gives History.  Tiles at overlapping addresses share their elements.
"""

from __future__ import annotations

from math import prod

import numpy as np

from lowering.capture.nki.dtypes import size_of
from lowering.capture.nki.trace import NkiTrace
from lowering.capture.trace import TensorRef
from lowering.errors import Unsupported
from lowering.legality.places import within
from lowering.nki_places import Places

UNDEFINED, GIVEN = 0, 1 << 30  # no writer; an input or constant, which has contents from the beginning
CARRIED = -1  # made from what another turn of an affine_range has written


class History:
    """Writers are instruction numbers + 1."""

    def __init__(self, trace: NkiTrace) -> None:
        self._trace, self._places = trace, Places(trace.storages)
        self._writers: dict[int, np.ndarray] = {}
        self._units: dict[int, int] = {}  # bytes that one number stands for

    def shared(self, storage: int) -> bool:
        """Whether another tile has some of the same place."""
        return storage in self._places.sharing

    def reaches(self, ref: TensorRef) -> bool:
        """Whether the view lies in its tensor, and in a shared memory where that can be said."""
        return within(self._trace, ref) and _placeable(self._places, ref)

    def placed(self, ref: TensorRef) -> TensorRef:
        """The view in the memory that it shares, or itself."""
        return self._places.placed(ref)

    def writers(self, ref: TensorRef) -> np.ndarray:
        """Of ref's shape; a view.  With an axis more where elements are made of several units."""
        ref = self.placed(ref)
        unit, size = self._unit(ref), size_of(ref.dtype)
        flat, times = self._writers[ref.storage], size // unit
        shape, strides = [*ref.shape], [stride * times * flat.itemsize for stride in ref.strides]
        if times > 1:
            shape, strides = [*shape, times], [*strides, flat.itemsize]
        return np.ndarray(shape, flat.dtype, flat.data, ref.offset * times * flat.itemsize, strides)

    def undefined(self, ref: TensorRef) -> np.ndarray | None:
        """Which elements were never written, in ref's shape; None where all were."""
        found = self.writers(ref)
        if found.size == 0 or found.min() > UNDEFINED:
            return None
        missing = found == UNDEFINED
        if not missing.any():
            return None
        return missing.any(axis=-1) if found.ndim > len(ref.shape) else missing

    def write(
        self, ref: TensorRef, number: int, where: np.ndarray | None = None, undefined: np.ndarray | None = None,
        carried: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        """Instruction ``number`` writes the view, where ``where`` is True.

        ``undefined``: elements without contents; ``carried``: elements made from those of another turn.
        """
        found = self.writers(ref)
        value: np.ndarray | int = number + 1
        for mark, part in ((CARRIED, carried), (UNDEFINED, undefined)):
            if part is not None:
                value = np.where(part, mark, value).astype(found.dtype)
        if found.ndim > len(ref.shape):
            where = None if where is None else where[..., None]
            value = value[..., None] if isinstance(value, np.ndarray) else value
        if where is None:
            found[...] = value
        else:
            np.copyto(found, value, where=where)

    def fill(self, storage: int, number: int) -> None:
        """Something of the storage is written, and nobody knows what: all of it counts as written."""
        for part in self._places.parts(storage):
            if self.reaches(part):
                self.write(part, number)

    def _unit(self, ref: TensorRef) -> int:
        """The unit of ref's storage, made as fine as ref needs."""
        if ref.storage not in self._writers:
            self._enter(ref.storage)
        unit, size = self._units[ref.storage], size_of(ref.dtype)
        if size % unit:
            self._writers[ref.storage] = np.repeat(self._writers[ref.storage], unit)
            self._units[ref.storage] = 1
        return self._units[ref.storage]

    def _enter(self, storage: int) -> None:
        region = self._places.buffers.get(storage)
        if region is not None:
            self._writers[storage], self._units[storage] = np.zeros(region.nbytes, np.int32), 1
            return
        entry = self._trace.storages[storage]
        empty, size = entry.origin == "empty", prod(entry.shape)
        self._writers[storage] = np.zeros(size, np.int32) if empty else np.full(size, GIVEN, np.int32)
        self._units[storage] = size_of(entry.dtype)


def _placeable(places: Places, ref: TensorRef) -> bool:
    try:
        places.placed(ref)
    except Unsupported:
        return False
    return True


def distinct(writers: np.ndarray) -> np.ndarray:
    """The writers that occur; one look where there is one alone."""
    if writers.size == 0:
        return writers.reshape(-1)
    first = writers.flat[0]
    return np.array([first]) if (writers == first).all() else np.unique(writers)
