"""One flat buffer, an access to it, and who of a launch's instances visited its elements, so that races are seen.

Gives Buffer, Access, Visits.  Must not know what is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from equivalence.evaluator.lanes import Lanes

if TYPE_CHECKING:
    from equivalence.evaluator.any_order import Known

GAP = 40  # buffers start at multiples of 2^40: an address names its buffer


@dataclass(eq=False, slots=True)
class Buffer:
    """``cells`` is None until the first write; then Lanes of shape [elements], batch 1, all arrays full and owned."""

    name: str
    nbytes: int
    number: int
    cells: Lanes | None = None
    stamp: np.ndarray | None = None  # int32[elements]: 1 + the instance that wrote it in this launch, -1 for several
    readers: np.ndarray | None = None  # int32[elements]: 1 + the instance that read it in this launch, -1 for several
    read_epoch: int = -1
    epoch: int = -1
    owner: np.ndarray | None = None  # int32[elements]: 1 + the instance that changed it in this launch, -1 for several
    ways: np.ndarray | None = None  # uint32[elements]: in which ways it was changed: a bit each (Visits.mixed)
    ways_epoch: int = -1
    written: bool = False
    sums: Known | None = None  # of elements that float additions in an open order have made
    borrowed: bool = False  # the cells' arrays are also a value's: copied before the next write

    @property
    def base(self) -> int:
        return self.number << GAP


@dataclass(slots=True)
class Access:
    """Active lanes of a load or store resolved to one buffer: element positions and which lanes are in bounds."""

    buffer: Buffer
    position: np.ndarray
    inside: np.ndarray
    whole: bool = False  # every lane is inside
    wanted: np.ndarray | None = None  # the active lanes that point to this buffer; None: those inside

    @property
    def strays(self) -> bool:
        """Whether a lane that points to the buffer lies outside of it."""
        return self.wanted is not None and bool((self.wanted & ~self.inside).any())

    def picked(self, a: np.ndarray) -> np.ndarray:
        """The lanes of ``a`` that are inside, one after the other."""
        full = np.broadcast_to(a, self.inside.shape)
        return full.reshape(-1) if self.whole else full[self.inside]


@dataclass(slots=True)
class Visits:
    """Stamps of the running launch."""

    epoch: int = 0  # counts launches
    watched: frozenset[int] = frozenset()  # buffers that this launch both reads and writes
    atomic: bool = False  # whether this launch updates memory atomically
    known_ways: dict[str, int] = field(default_factory=dict)

    def stamped(self, access: Access, instance: np.ndarray | None) -> np.ndarray | None:
        """Stamps the elements with their writers; mask of lanes that another instance had written, or None."""
        if instance is None:
            return None
        buffer, position = access.buffer, access.picked(access.position)
        assert buffer.cells is not None
        if buffer.epoch != self.epoch or buffer.stamp is None or buffer.stamp.size != buffer.cells.data.size:
            buffer.stamp, buffer.epoch = np.zeros(buffer.cells.data.size, np.int32), self.epoch
        mine = self._who(access, instance)
        before = buffer.stamp[position]
        buffer.stamp[position] = mine
        clash = (before != 0) & (before != mine)
        several = clash | (buffer.stamp[position] != mine)
        if several.any():
            buffer.stamp[position[several]] = -1
        return clash if clash.any() else None

    def mixed(self, access: Access, instance: np.ndarray | None, way: str, commutes: bool = True) -> bool:
        """Notes that elements are changed by a plain store or by one atomic combiner (``way``).

        Whether several instances have changed one of them, and not all in this way (or at all, where it does not
        commute with itself): then the order shows.
        """
        buffer = access.buffer
        if instance is None or not self.atomic or buffer.cells is None:
            return False
        size, bit = buffer.cells.data.size, np.uint32(1 << self.known_ways.setdefault(way, len(self.known_ways)))
        if buffer.ways_epoch != self.epoch or buffer.owner is None or buffer.ways is None or buffer.owner.size != size:
            buffer.owner, buffer.ways = np.zeros(size, np.int32), np.zeros(size, np.uint32)
            buffer.ways_epoch = self.epoch
        position, mine = access.picked(access.position), self._who(access, instance)
        before = buffer.owner[position]
        buffer.owner[position] = mine
        several = ((before != 0) & (before != mine)) | (buffer.owner[position] != mine)
        buffer.owner[position[several]] = -1
        buffer.ways[position] |= bit
        return bool(((buffer.owner[position] == -1) & ((buffer.ways[position] != bit) | (not commutes))).any())

    @staticmethod
    def _who(access: Access, instance: np.ndarray) -> np.ndarray:
        """1 + the instance of each lane inside."""
        who = np.broadcast_to(instance.reshape(-1, *([1] * (access.inside.ndim - 1))), access.inside.shape)
        return (access.picked(who) + 1).astype(np.int32)

    def note_read(self, access: Access, instance: np.ndarray | None) -> None:
        """Remembers who reads elements of a buffer that the launch also writes."""
        buffer = access.buffer
        if instance is None or buffer.number not in self.watched or buffer.cells is None:
            return
        size = buffer.cells.data.size
        if buffer.read_epoch != self.epoch or buffer.readers is None or buffer.readers.size != size:
            buffer.readers, buffer.read_epoch = np.zeros(size, np.int32), self.epoch
        position = access.picked(access.position)
        if access.inside.shape[0] < len(instance):  # a uniform address: every instance reads it
            buffer.readers[position] = -1
            return
        mine = self._who(access, instance)
        before = buffer.readers[position]
        buffer.readers[position] = mine
        several = ((before != 0) & (before != mine)) | (buffer.readers[position] != mine)
        buffer.readers[position[several]] = -1

    def read_by_others(self, access: Access, instance: np.ndarray | None) -> np.ndarray | None:
        buffer = access.buffer
        if instance is None or buffer.readers is None or buffer.read_epoch != self.epoch:
            return None
        seen = buffer.readers[access.picked(access.position)]
        return (seen != 0) & (seen != self._who(access, instance))

    def foreign(self, access: Access, instance: np.ndarray | None) -> bool:
        """Whether a lane reads what another instance of this launch has written."""
        buffer = access.buffer
        if instance is None or buffer.stamp is None or buffer.epoch != self.epoch:
            return False
        seen = buffer.stamp[access.picked(access.position)]
        if access.inside.shape[0] < len(instance):  # a uniform address: every instance reads it
            return bool((seen != 0).any())
        return bool(((seen != 0) & (seen != self._who(access, instance))).any())


__all__ = ["GAP", "Access", "Buffer", "Visits"]
