"""Storages that the source places at overlapping addresses share memory: one buffer stands for all of them.

Takes the storages of an NkiTrace; gives Places, which says of a view where it lies in the shared buffer.  A place is
(first partition, byte within the partition), as `nl.ndarray(address=...)` has it (NKI.md §1.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from lowering.capture.nki.dtypes import size_of
from lowering.capture.nki.trace import NkiStorage
from lowering.capture.trace import TensorRef
from lowering.errors import Unsupported

_ALIGNED = 8  # bytes: every dtype's size divides it


@dataclass(frozen=True, slots=True)
class Region:
    """Partitions and bytes of one group of overlapping storages; ``storage`` is the first of them."""

    storage: int
    partition: int
    byte: int
    partitions: int
    row: int  # bytes of a partition

    @property
    def nbytes(self) -> int:
        return self.partitions * self.row


class Places:
    """Regions by storage, for those that share memory with another one."""

    def __init__(self, storages: Mapping[int, NkiStorage]) -> None:
        self._storages = storages
        self.regions: dict[int, Region] = {}
        for group in _groups([s for s in storages.values() if s.pinned is not None]):
            if len(group) > 1:
                region = _around(group)
                self.regions.update(dict.fromkeys((storage.id for storage in group), region))

    def placed(self, ref: TensorRef) -> TensorRef:
        """The view in the region's buffer; itself where its storage shares no memory."""
        region = self.regions.get(ref.storage)
        if region is None:
            return ref
        storage, size = self._storages[ref.storage], size_of(ref.dtype)
        assert storage.pinned is not None
        free, row = _row_bytes(storage) // size, region.row // size
        lanes = [stride // free * row + stride % free for stride in ref.strides]
        reach = sum(s % free * (n - 1) for s, n in zip(ref.strides, ref.shape, strict=True))
        if ref.offset % free + reach >= free:
            said = "a view that runs over the end of a partition, of a tensor that shares its memory with another"
            raise Unsupported(said, storage.span)
        if storage.pinned[1] % size:
            said = f"a tensor at byte {storage.pinned[1]}, no multiple of {ref.dtype}'s, that shares its memory"
            raise Unsupported(said, storage.span)
        first = (storage.pinned[0] - region.partition) * row + (storage.pinned[1] - region.byte) // size
        at = first + ref.offset // free * row + ref.offset % free
        return TensorRef(region.storage, ref.dtype, ref.shape, tuple(lanes), at)


def _row_bytes(storage: NkiStorage) -> int:
    return prod(storage.shape[1:]) * size_of(storage.dtype)


def _overlap(a: NkiStorage, b: NkiStorage) -> bool:
    assert a.pinned is not None and b.pinned is not None
    if (a.space, a.core) != (b.space, b.core):
        return False
    lanes = a.pinned[0] < b.pinned[0] + b.shape[0] and b.pinned[0] < a.pinned[0] + a.shape[0]
    return lanes and a.pinned[1] < b.pinned[1] + _row_bytes(b) and b.pinned[1] < a.pinned[1] + _row_bytes(a)


def _groups(storages: Iterable[NkiStorage]) -> list[list[NkiStorage]]:
    """Storages that overlap, directly or by others."""
    groups: list[list[NkiStorage]] = []
    for storage in storages:
        touched = [group for group in groups if any(_overlap(storage, other) for other in group)]
        groups = [group for group in groups if group not in touched]
        groups.append([*(other for group in touched for other in group), storage])
    return groups


def _around(group: list[NkiStorage]) -> Region:
    places = [(storage, storage.pinned) for storage in group if storage.pinned is not None]
    partition = min(pin[0] for _, pin in places)
    byte = min(pin[1] for _, pin in places) // _ALIGNED * _ALIGNED
    end = max(pin[1] + _row_bytes(storage) for storage, pin in places)
    lanes = max(pin[0] + storage.shape[0] for storage, pin in places) - partition
    row = -(-(end - byte) // _ALIGNED) * _ALIGNED
    return Region(min(storage.id for storage in group), partition, byte, lanes, row)
