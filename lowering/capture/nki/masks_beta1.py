"""From a mask to what instructions record: boxes, which become narrower views, or a bool array.

A box is a tuple of (start, stop) for each dimension of the tile that is masked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowering.capture.nki.indices_beta1 import Mask
from lowering.capture.nki.tracer import here, unmodelled
from lowering.errors import UsageError

Box = tuple[tuple[int, int], ...]
MOST_BOXES = 256


def whole(shape: tuple[int, ...]) -> Box:
    return tuple((0, extent) for extent in shape)


def array_of(mask: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """The mask over ``shape``; None where it lets everything through."""
    if mask is None or mask is True:
        return None
    if isinstance(mask, bool | np.bool_):
        return None if mask else np.zeros(shape, bool)
    if not isinstance(mask, Mask):
        raise UsageError(f"{here()}: mask= takes comparisons of index tiles, not a {type(mask).__name__}")
    made = mask.over(shape)
    return None if made.all() else made


def box_of(mask: np.ndarray) -> Box | None:
    """The box that a non-empty mask is; None where it is another shape."""
    box = []
    for dim in range(mask.ndim):
        places = np.flatnonzero(mask.any(axis=tuple(d for d in range(mask.ndim) if d != dim)))
        box.append((int(places[0]), int(places[-1]) + 1))
    inside = mask[tuple(slice(*bounds) for bounds in box)]
    return tuple(box) if inside.all() else None


def regions(mask: Any, shape: tuple[int, ...], split: bool = False) -> list[tuple[Box, np.ndarray | None]]:
    """What a mask over ``shape`` lets through: one box, the whole with a bool array, or (``split``) several boxes."""
    made = array_of(mask, shape)
    if made is None:
        return [(whole(shape), None)]
    if not made.any():
        return []
    box = box_of(made)
    if box is not None:
        return [(box, None)]
    if not split:
        return [(whole(shape), made)]
    return [(one, None) for one in _boxes(made)]


def _boxes(mask: np.ndarray) -> list[Box]:
    """Disjoint boxes that cover a mask: runs of equal slices along the first dimension, each split further."""
    if mask.ndim == 0:
        return [()] if mask else []
    made: list[Box] = []
    start = 0
    for at in range(1, mask.shape[0] + 1):
        if at < mask.shape[0] and np.array_equal(mask[at], mask[start]):
            continue
        if mask[start].any():
            made += [((start, at), *rest) for rest in _boxes(mask[start])]
        if len(made) > MOST_BOXES:
            raise unmodelled(f"a mask of more than {MOST_BOXES} boxes over an access that goes out of bounds")
        start = at
    return made
