"""Which lane of a program instance wrote or read an element since the instance's last barrier.

Lanes of one instance are threads: only a barrier orders what one writes before what another reads.  A lane is known by
its number in tensors of one shape; lanes of other shapes are other threads.  Gives Fences, one per launch.  Must not
know what is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from equivalence.evaluator.buffers import Access, Buffer

_BITS = 40  # of a lane's number, below that of its tensor's shape
_MANY = (1 << _BITS) - 1  # several lanes, one atomic after the other


@dataclass(slots=True)
class Written:
    """By element: the lane that wrote it last (0: none in this launch), its instance plus 1, and when; scratch."""

    lane: np.ndarray
    instance: np.ndarray
    time: np.ndarray
    scratch: np.ndarray

    @classmethod
    def nothing(cls, size: int) -> Written:
        return cls(*(np.zeros(size, np.int64) for _ in range(4)))


@dataclass(slots=True)
class Fences:
    """``now`` counts the barriers executed; ``last`` is the count at each instance's last one."""

    now: int = 0
    last: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))
    written: dict[int, Written] = field(default_factory=dict)
    read: dict[int, Written] = field(default_factory=dict)  # the same of reads; also over what a reduction waits for
    shapes: dict[tuple[int, ...], int] = field(default_factory=dict)

    def barrier(self, instance: np.ndarray, active: np.ndarray | None) -> None:
        self.now += 1
        self._reach(int(instance.max(initial=0)) + 1)
        self.last[instance if active is None else instance[active]] = self.now

    def _reach(self, instances: int) -> None:
        if self.last.size < instances:
            self.last = np.concatenate([self.last, np.zeros(instances - self.last.size, np.int64)])

    def reads(self, access: Access, instance: np.ndarray) -> None:
        """Remembers the lanes that read."""
        known = self._of(access.buffer, self.read)
        place, lane, mine = self._lanes(access, instance, known)
        mark = lane << 1
        several = self._recent(known, place, lane, mine)
        known.lane[place] = np.where(several, mark | _MANY << 1, mark)
        known.instance[place], known.time[place] = mine, self.now

    def gathered(self) -> None:
        """Lanes have waited for each other's values: what they read before is read."""
        self.read.clear()

    def write(self, access: Access, instance: np.ndarray, atomic: bool = False) -> np.ndarray:
        """Remembers the lanes that write; mask of those that follow another lane's access with no barrier between."""
        known = self._of(access.buffer, self.written)
        place, lane, mine = self._lanes(access, instance, known)
        mark = lane << 1 | atomic
        recent = self._recent(known, place, lane, mine)
        if atomic:
            mark = np.where(recent & (known.lane[place] & 1 == 1), mark | _MANY << 1, mark)
        known.lane[place], known.instance[place], known.time[place] = mark, mine, self.now
        seen = self.read.get(access.buffer.number)
        if seen is not None and seen.lane.size == known.lane.size:
            recent = recent | self._recent(seen, place, lane, mine)
        return recent

    def reads_across(self, access: Access, instance: np.ndarray, atomic: bool = False) -> bool:
        """Whether a lane reads what another lane of its own instance wrote with no barrier between."""
        known = self.written.get(access.buffer.number)
        if known is None:
            return False
        place, lane, mine = self._lanes(access, instance, known)
        recent = self._recent(known, place, lane, mine)
        if atomic:  # atomics do not race with atomics
            recent = recent & (known.lane[place] & 1 == 0)
        return bool(recent.any())

    def _recent(self, known: Written, place: np.ndarray, lane: np.ndarray, mine: np.ndarray) -> np.ndarray:
        """Lanes whose element another lane of their instance wrote since the last barrier."""
        before = known.lane[place]
        other = (before != 0) & (before >> 1 != lane) & (known.instance[place] == mine)
        if other.any():
            self._reach(int(mine.max()))
            other &= known.time[place] >= self.last[mine - 1]
        return other

    @staticmethod
    def _of(buffer: Buffer, table: dict[int, Written]) -> Written:
        assert buffer.cells is not None
        size, known = buffer.cells.data.size, table.get(buffer.number)
        if known is None or known.lane.size != size:
            known = table[buffer.number] = Written.nothing(size)
        return known

    def _lanes(self, access: Access, instance: np.ndarray, known: Written) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(elements, lanes, 1 + instances) of the lanes inside, one after the other."""
        batch, *shape = access.inside.shape
        kind = self.shapes.setdefault(tuple(shape), len(self.shapes) + 1)
        lane = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(1, *shape)
        number = instance[:batch].reshape(-1, *([1] * len(shape)))
        place, lane, mine = (access.picked(a) for a in (access.position, lane, number + 1))
        return place, kind << _BITS | _together(place, lane, known.scratch), mine


def _together(place: np.ndarray, lane: np.ndarray, scratch: np.ndarray) -> np.ndarray:
    """Lanes that touch one element are one: named by all their numbers."""
    scratch[place] = lane
    if (scratch[place] == lane).all():
        return lane
    scratch[place] = 0
    np.add.at(scratch, place, (lane + 1) * (lane + 1) * 7919 + lane)
    total = scratch[place]
    scratch[place] = 0
    np.add.at(scratch, place, 1)
    return np.where(scratch[place] > 1, total & (_MANY >> 1) | 1 << (_BITS - 1), lane)


__all__ = ["Fences"]
