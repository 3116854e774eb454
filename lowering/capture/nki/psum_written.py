"""Which elements of PSUM a matmul has written: by tensor, or by place where the source gives it an address.

Takes TensorRefs and NkiStorages; gives bool arrays that are views, so that writing to them is noting.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided

from lowering.capture.nki.trace import NkiStorage
from lowering.capture.trace import TensorRef

LANES, LANE_BYTES = 128, 16384  # of PSUM


class Written:
    """``window`` gives the elements of a view; None where the view leaves its tile (or PSUM)."""

    def __init__(self) -> None:
        self._tensors: dict[int, np.ndarray] = {}
        self._placed: dict[int, np.ndarray] = {}  # by core: (partitions, bytes)

    def window(self, storage: NkiStorage, ref: TensorRef, by_place: bool = True) -> np.ndarray | None:
        """In ref's shape; ``by_place``, with an axis of the element's bytes at the end where the source places it."""
        size = prod(storage.shape)
        reaches = [stride * (extent - 1) for stride, extent in zip(ref.strides, ref.shape, strict=True)]
        low, high = (ref.offset + sum(bound(reach, 0) for reach in reaches) for bound in (min, max))
        if low < 0 or high >= size:
            return None
        if storage.pinned is not None and by_place:
            return self._at_address(storage, ref)
        if ref.storage not in self._tensors:
            self._tensors[ref.storage] = np.zeros(size, bool)
        return as_strided(self._tensors[ref.storage][ref.offset :], ref.shape, ref.strides)

    def _at_address(self, storage: NkiStorage, ref: TensorRef) -> np.ndarray | None:
        from lowering.capture.nki.dtypes import size_of  # which needs the tracer, and the tracer this

        assert storage.pinned is not None
        (lane, byte), size = storage.pinned, size_of(ref.dtype)
        row = prod(storage.shape[1:])
        steps = [stride // row * LANE_BYTES + stride % row * size for stride in ref.strides]
        start = (lane + ref.offset // row) * LANE_BYTES + byte + ref.offset % row * size
        columns = ref.offset % row + sum(s % row * (n - 1) for s, n in zip(ref.strides, ref.shape, strict=True))
        lanes = lane + ref.offset // row + sum(s // row * (n - 1) for s, n in zip(ref.strides, ref.shape, strict=True))
        if columns >= row or lanes >= LANES or byte + row * size > LANE_BYTES:
            return None
        memory = self._placed.setdefault(storage.core, np.zeros(LANES * LANE_BYTES, bool))
        return as_strided(memory[start:], (*ref.shape, size), (*steps, 1))


def elements(window: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Of ``shape``: elements all of whose bytes are True; a copy."""
    return np.asarray(window.all(axis=-1)) if window.ndim > len(shape) else window.copy()
