"""Masks that are boxes: a product of one range per dimension, so that what is under them is a view.

Takes bool arrays and TensorRefs; gives slices and TensorRefs.
"""

from __future__ import annotations

import numpy as np

from lowering.capture.trace import TensorRef

Box = tuple[slice, ...]


def box_of(mask: np.ndarray) -> Box | None:
    """The box where ``mask`` is True, with a step per dimension; None where it is none, or empty."""
    axes = range(mask.ndim)
    places = [np.flatnonzero(mask.any(axis=tuple(a for a in axes if a != axis))) for axis in axes]
    if not all(len(p) for p in places) or mask.sum() != np.prod([len(p) for p in places], dtype=np.int64):
        return None
    ranges = [_range(p) for p in places]
    return None if any(r is None for r in ranges) else tuple(r for r in ranges if r is not None)


def _range(places: np.ndarray) -> slice | None:
    steps = np.diff(places)
    if len(steps) and (steps != steps[0]).any():
        return None
    return slice(int(places[0]), int(places[-1]) + 1, int(steps[0]) if len(steps) else 1)


def cut(ref: TensorRef, box: Box) -> TensorRef:
    """The part of a view that lies in a box."""
    offset = ref.offset + sum(s.start * stride for s, stride in zip(box, ref.strides, strict=True))
    strides = tuple(s.step * stride for s, stride in zip(box, ref.strides, strict=True))
    shape = tuple(len(range(s.start, s.stop, s.step)) for s in box)
    return TensorRef(ref.storage, ref.dtype, shape, strides, offset)
