"""What stands in the brackets of a Beta-1 tensor: basic or advanced indexing, as affine steps of each dimension.

``resolved`` takes a key and the extents of a tensor; gives an Access: the shape of the view and, for each dimension of
the tensor, where the view starts and how it moves.  NKI.md §1.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowering.capture.nki.indices_beta1 import Index, broadcast
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.tracer import here, unmodelled
from lowering.errors import UsageError


@dataclass(frozen=True, slots=True)
class Reach:
    """Along one dimension of a tensor: the place is base + the sum of steps[d] * coordinate d of the view."""

    dim: int
    extent: int
    base: int
    steps: tuple[int, ...]

    def bounds(self, shape: tuple[int, ...]) -> tuple[int, int]:
        """The least and the greatest place."""
        moves = [step * (extent - 1) for step, extent in zip(self.steps, shape, strict=True)]
        return self.base + sum(min(m, 0) for m in moves), self.base + sum(max(m, 0) for m in moves)

    def outside(self, shape: tuple[int, ...]) -> bool:
        least, greatest = self.bounds(shape)
        return least < 0 or greatest >= self.extent

    def cut(self, starts: tuple[int, ...]) -> Reach:
        base = self.base + sum(step * start for step, start in zip(self.steps, starts, strict=True))
        return Reach(self.dim, self.extent, base, self.steps)


@dataclass(frozen=True, slots=True)
class Shifted:
    """An index that a tile holds, plus an index tile or a number: ``t[i_p, start[0, 0] + i_f]``."""

    tile: Tile
    by: Index | int


@dataclass(frozen=True, slots=True)
class Access:
    """``reaches``: one for each dimension; that of an indirect dimension starts at 0 and does not move.

    ``kept``: for each dimension of the view the dimension of the tensor it comes from, None for others (advanced).
    ``origins``: for each dimension of the view the numbers of the index tiles that move along it (advanced).
    """

    shape: tuple[int, ...]
    reaches: tuple[Reach, ...]
    kept: tuple[int | None, ...]
    indirect: tuple[int, Tile] | None = None
    origins: tuple[frozenset[int], ...] = ()


_CHOOSING = (Index, Tile, Shifted)
_BASIC = (slice, type(None), type(Ellipsis))
_KNOWN = (int, np.integer, *_CHOOSING)


def resolved(key: Any, extents: tuple[int, ...], keep: int | None = None) -> Access:
    """``keep``: a dimension that an int does not drop (the partitions of a tile on chip)."""
    keys = key if isinstance(key, tuple) else (key,)
    if any(isinstance(one, _CHOOSING) for one in keys):
        return _advanced(keys, extents)
    return _basic(keys, extents, keep)


def _advanced(keys: tuple[Any, ...], extents: tuple[int, ...]) -> Access:
    mixed = [one for one in keys if isinstance(one, _BASIC)]
    if mixed:
        raise UsageError(f"{here()}: index tiles and {_name(mixed[0])} in one subscript: indexing is basic or advanced")
    if len(keys) != len(extents):
        raise UsageError(
            f"{here()}: {len(keys)} indices of a tensor of {len(extents)} dimensions: index tiles need one each"
        )
    for one in keys:
        if not isinstance(one, _KNOWN):
            raise UsageError(f"{here()}: {type(one).__name__} is no index")
    shapes = [shape for one in keys for shape in _shapes(one)]
    shape = broadcast(*shapes)
    if shape is None:
        told = " and ".join(str(s) for s in shapes)
        raise UsageError(f"{here()}: index tiles of shapes {told} do not broadcast")
    if len(shape) == 1:
        raise UsageError(
            f"{here()}: an index tile of one dimension: nl.arange(n)[:, None] or [None, :] has the two of a tile"
        )
    reaches, indirect = [], None
    for dim, (one, extent) in enumerate(zip(keys, extents, strict=True)):
        if isinstance(one, Tile | Shifted):
            if indirect is not None:
                raise unmodelled("an access with two tiles as indices")
            indirect = dim, one if isinstance(one, Tile) else one.tile
            one = 0 if isinstance(one, Tile) else one.by
        if isinstance(one, Index):
            base, steps = one.affine()
        else:
            base, steps = int(one) if indirect and indirect[0] == dim else _place(int(one), dim, extent), ()
        reaches.append(Reach(dim, extent, base, (0,) * (len(shape) - len(steps)) + tuple(steps)))
    origins = [frozenset[int]()] * len(shape)
    for one, reach in zip(keys, reaches, strict=True):
        if isinstance(one, Index):
            origins = [o | one.origins if step else o for o, step in zip(origins, reach.steps)]
    return Access(tuple(shape), tuple(reaches), (None,) * len(shape), indirect, tuple(origins))


def _shapes(one: Any) -> list[tuple[int, ...]]:
    """The shapes that an index takes part in the broadcast with."""
    if isinstance(one, Shifted):
        return [one.tile.shape, *_shapes(one.by)]
    return [one.shape] if isinstance(one, Index | Tile) else []


def _basic(keys: tuple[Any, ...], extents: tuple[int, ...], keep: int | None) -> Access:
    filled = _filled(keys, len(extents))
    parts: list[tuple[int, int, int | None]] = []  # for each tensor dimension: base, step, dimension of the view
    shape: list[int] = []
    kept: list[int | None] = []
    dim = 0
    for one in filled:
        if one is None:
            shape.append(1)
            kept.append(None)
            continue
        extent = extents[dim]
        if isinstance(one, slice):
            start, count, step = _slice(one, dim, extent)
            parts.append((start, step, len(shape)))
        elif isinstance(one, int | np.integer) and not isinstance(one, bool):
            start, count = _place(int(one), dim, extent), 1
            parts.append((start, 1, len(shape) if dim == keep else None))
        else:
            raise UsageError(f"{here()}: {type(one).__name__} is no index")
        if parts[-1][2] is not None:
            shape.append(count)
            kept.append(dim)
        dim += 1
    reaches = [
        Reach(d, extents[d], base, tuple(step if v == view else 0 for v in range(len(shape))))
        for d, (base, step, view) in enumerate(parts)
    ]
    return Access(tuple(shape), tuple(reaches), tuple(kept))


def _slice(one: slice, dim: int, extent: int) -> tuple[int, int, int]:
    """Start, number of places, step.  It may go beyond the extent, as only a mask allows."""
    step = 1 if one.step is None else int(one.step)
    start = 0 if one.start is None else int(one.start)
    stop = extent if one.stop is None else int(one.stop)
    start, stop = start + extent * (start < 0), stop + extent * (stop < 0)
    if step <= 0 or stop <= start:
        raise UsageError(f"{here()}: {start}:{stop}:{step} takes nothing of dimension {dim}, of {extent}")
    return start, -(-(stop - start) // step), step


def _place(place: int, dim: int, extent: int) -> int:
    if not -extent <= place < extent:
        raise UsageError(f"{here()}: index {place} is out of bounds of dimension {dim}, of {extent}")
    return place % extent


def _filled(keys: tuple[Any, ...], rank: int) -> list[Any]:
    """Ellipsis and missing dimensions as whole slices."""
    dots = [at for at, key in enumerate(keys) if key is Ellipsis]
    given = sum(key is not None and key is not Ellipsis for key in keys)
    if len(dots) > 1 or given > rank:
        raise UsageError(f"{here()}: {given} indices of a tensor of {rank} dimensions")
    at = dots[0] if dots else len(keys)
    return [*keys[:at], *[slice(None)] * (rank - given), *keys[at + 1 :]]


def _name(one: Any) -> str:
    return {slice: "a slice", type(None): "None"}.get(type(one), "...")


def strides_of(access: Access, strides: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """Strides of the view and its offset, both in elements of the tensor's storage."""
    moves = [
        sum(reach.steps[d] * stride for reach, stride in zip(access.reaches, strides, strict=True))
        for d in range(len(access.shape))
    ]
    offset = sum(reach.base * stride for reach, stride in zip(access.reaches, strides, strict=True))
    return tuple(moves), offset
