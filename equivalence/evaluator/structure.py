"""Moves lanes: each function takes one lazily broadcast array (batch axis first) and gives the moved array.

``shape`` arguments are logical shapes without the batch axis.  Must not know planes or interpretations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Shape = tuple[int, ...]


def materialise(a: np.ndarray, shape: Shape, axes: Sequence[int] | None = None) -> np.ndarray:
    """``a`` with the named logical axes (all when None) at full extent, contiguous."""
    wanted = list(a.shape)
    for axis in range(len(shape)) if axes is None else axes:
        wanted[axis + 1] = shape[axis]
    return np.ascontiguousarray(np.broadcast_to(a, wanted))


def broadcast(a: np.ndarray, dims: Sequence[int], rank: int) -> np.ndarray:
    extents = [1] * rank
    for source, d in enumerate(dims):
        extents[d] = a.shape[source + 1]
    return a.reshape(a.shape[0], *extents)


def reshape(a: np.ndarray, old: Shape, new: Shape) -> np.ndarray:
    """Lazy extents survive when only unit dimensions come or go."""
    if all(extent == 1 for extent in a.shape[1:]):
        return a.reshape(a.shape[0], *([1] * len(new)))
    if [n for n in old if n != 1] == [n for n in new if n != 1]:
        kept = iter([extent for extent, n in zip(a.shape[1:], old, strict=True) if n != 1])
        return a.reshape(a.shape[0], *(1 if n == 1 else next(kept) for n in new))
    return materialise(a, old).reshape(a.shape[0], *new)


def transpose(a: np.ndarray, perm: Sequence[int]) -> np.ndarray:
    return a.transpose(0, *(p + 1 for p in perm))


def slice_(a: np.ndarray, shape: Shape, start: Sequence[int], limit: Sequence[int], step: Sequence[int]) -> np.ndarray:
    picks = [slice(None)]
    for extent, logical, lo, hi, by in zip(a.shape[1:], shape, start, limit, step, strict=True):
        picks.append(slice(None) if extent == 1 and logical != 1 and hi > lo else slice(lo, hi, by))
    return a[tuple(picks)]


def reverse(a: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    return np.flip(a, tuple(axis + 1 for axis in axes))


def concat(arrays: Sequence[np.ndarray], shapes: Sequence[Shape], axis: int) -> np.ndarray:
    extents = [max(a.shape[d] for a in arrays) for d in range(arrays[0].ndim)]
    full = []
    for a, shape in zip(arrays, shapes, strict=True):
        extents[axis + 1] = shape[axis]
        full.append(np.broadcast_to(a, extents))
    return np.concatenate(full, axis=axis + 1)


def pad(
    a: np.ndarray, value: np.ndarray, shape: Shape, low: Sequence[int], interior: Sequence[int], out: Shape
) -> np.ndarray:
    """``value`` is the padding scalar's array (extent 1 everywhere but perhaps the batch axis)."""
    batch = max(a.shape[0], value.shape[0])
    result = np.empty((batch, *out), a.dtype)
    result[...] = value.reshape(value.shape[0], *([1] * len(out)))
    source, target = [slice(None)], [slice(None)]
    for extent, lo, gap, total in zip(shape, low, interior, out, strict=True):
        step = gap + 1
        first = max(0, -(lo // step))  # lanes that negative padding crops
        count = max(0, min(extent - first, -(-(total - lo - first * step) // step)))
        source.append(slice(first, first + count))
        begin = lo + first * step
        target.append(slice(begin, begin + (count - 1) * step + 1 if count else begin, step))
    result[tuple(target)] = np.broadcast_to(a, (a.shape[0], *shape))[tuple(source)]
    return result


def where(condition: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(condition, a, b)


def flat_index(indices: Sequence[np.ndarray], shape: Shape) -> np.ndarray:
    """Row-major position of each index tuple, int64, lazily broadcast like its parts."""
    total: np.ndarray | int = 0
    for index, extent in zip(indices, shape, strict=True):
        total = total * extent + index.astype(np.int64)
    return np.asarray(total)


def take(a: np.ndarray, shape: Shape, position: np.ndarray) -> np.ndarray:
    """``a``'s lanes at flat ``position`` (shape [batch or 1, ...]); a batch axis of ``a`` is followed."""
    full = materialise(a, shape).reshape(a.shape[0], -1)
    if a.shape[0] == 1:
        return full[0].take(position, mode="clip")
    batch = np.arange(a.shape[0]).reshape(-1, *([1] * (position.ndim - 1)))
    return full[batch, np.clip(position, 0, max(0, full.shape[1] - 1))]
