"""Storages that the source places at overlapping addresses share memory: one buffer stands for all of them.

Takes the storages of an NkiTrace; gives Places, which says of a view where it lies in the shared buffer.  A place is
(first partition, byte within the partition), as `nl.ndarray(address=...)` has it (NKI.md §1.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

from lowering.capture.nki.dtypes import size_of
from lowering.capture.nki.trace import NkiStorage
from lowering.capture.trace import TensorRef
from lowering.errors import Unsupported

_ALIGNED = 8  # bytes: every dtype's size divides it


@dataclass(frozen=True, slots=True)
class Region:
    """Partitions and bytes of one group of overlapping tiles; ``buffer``: the number of the memory that they share."""

    buffer: int
    partition: int
    byte: int
    partitions: int
    row: int  # bytes of a partition

    @property
    def nbytes(self) -> int:
        return self.partitions * self.row


@dataclass(frozen=True, slots=True)
class _Tile:
    """One tile of a storage at its place; ``number``: which, of a storage with block dimensions."""

    storage: NkiStorage
    number: int
    partition: int
    byte: int

    @property
    def lanes(self) -> int:
        return self.storage.shape[self.storage.blocks]

    @property
    def row(self) -> int:
        """Bytes of a partition."""
        return prod(self.storage.shape[self.storage.blocks + 1 :]) * size_of(self.storage.dtype)


class Places:
    """Memories that tiles share.  ``buffers``: by number, which is that of a storage, or below 0; ``sharing``: storages
    some tile of which shares its memory."""

    def __init__(self, storages: Mapping[int, NkiStorage]) -> None:
        self._storages = storages
        self.buffers: dict[int, Region] = {}
        self.sharing: set[int] = set()
        self._regions: dict[tuple[int, int], tuple[Region, _Tile]] = {}
        for group in _groups(_tiles(storages.values())):
            if len(group) > 1:
                region = _around(group, -1 - len(self.buffers))
                self.buffers[region.buffer] = region
                self.sharing |= {tile.storage.id for tile in group}
                self._regions.update({(tile.storage.id, tile.number): (region, tile) for tile in group})

    def parts(self, storage: int) -> list[TensorRef]:
        """All of a storage, as one view or as one for each of its tiles, which may lie in different memories."""
        entry = self._storages[storage]
        shape = entry.shape[entry.blocks :] if entry.pins else entry.shape
        count = prod(entry.shape) // prod(shape)
        return [TensorRef(storage, entry.dtype, shape, _dense(shape), prod(shape) * n) for n in range(count)]

    def buffers_of(self, storage: int) -> set[int]:
        """The memories that views of a storage lie in."""
        return {self.placed(part).storage for part in self.parts(storage)}

    def placed(self, ref: TensorRef) -> TensorRef:
        """The view in the memory that its tile shares; itself where that shares none."""
        if ref.storage not in self.sharing:
            return ref
        storage, size = self._storages[ref.storage], size_of(ref.dtype)
        number, offset = 0, ref.offset
        if storage.pins:
            each = prod(storage.shape[storage.blocks :]) * size_of(storage.dtype) // size
            number, offset = divmod(ref.offset, each)
            if offset + sum(s * (n - 1) for s, n in zip(ref.strides, ref.shape, strict=True)) >= each:
                raise Unsupported("a view of several tiles that share their memories with others", storage.span)
        if (ref.storage, number) not in self._regions:
            return ref
        region, tile = self._regions[ref.storage, number]
        free, row = tile.row // size, region.row // size
        lanes = [stride // free * row + stride % free for stride in ref.strides]
        reach = sum(s % free * (n - 1) for s, n in zip(ref.strides, ref.shape, strict=True))
        if offset % free + reach >= free:
            said = "a view that runs over the end of a partition, of a tensor that shares its memory with another"
            raise Unsupported(said, storage.span)
        if tile.byte % size:
            said = f"a tensor at byte {tile.byte}, no multiple of {ref.dtype}'s, that shares its memory"
            raise Unsupported(said, storage.span)
        first = (tile.partition - region.partition) * row + (tile.byte - region.byte) // size
        at = first + offset // free * row + offset % free
        return TensorRef(region.buffer, ref.dtype, ref.shape, tuple(lanes), at)


def _dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


def _tiles(storages: Iterable[NkiStorage]) -> Iterator[_Tile]:
    """Every tile that the source places."""
    for storage in storages:
        pins = storage.pins or (() if storage.pinned is None else (storage.pinned,))
        yield from (_Tile(storage, number, *pin) for number, pin in enumerate(pins))


def _overlap(a: _Tile, b: _Tile) -> bool:
    if (a.storage.space, a.storage.core) != (b.storage.space, b.storage.core):
        return False
    lanes = a.partition < b.partition + b.lanes and b.partition < a.partition + a.lanes
    return lanes and a.byte < b.byte + b.row and b.byte < a.byte + a.row


def _groups(tiles: Iterable[_Tile]) -> list[list[_Tile]]:
    """Tiles that overlap, directly or by others."""
    groups: list[list[_Tile]] = []
    for tile in tiles:
        touched = [group for group in groups if any(_overlap(tile, other) for other in group)]
        groups = [group for group in groups if group not in touched]
        groups.append([*(other for group in touched for other in group), tile])
    return groups


def _around(group: list[_Tile], number: int) -> Region:
    partition = min(tile.partition for tile in group)
    byte = min(tile.byte for tile in group) // _ALIGNED * _ALIGNED
    end = max(tile.byte + tile.row for tile in group)
    lanes = max(tile.partition + tile.lanes for tile in group) - partition
    row = -(-(end - byte) // _ALIGNED) * _ALIGNED
    whole = all(not tile.storage.pins for tile in group)
    return Region(min(tile.storage.id for tile in group) if whole else number, partition, byte, lanes, row)
