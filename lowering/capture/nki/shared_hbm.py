"""Shared HBM of a grid: which tensor of one instance is which of another.

A tensor is known by where the source makes it: the line and column, the turns of the loops around it, and how many the
instance has made there before.  Takes spans and loops; gives NkiStorages.  Knows no tracer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lowering.capture.nki.trace import Loop, NkiStorage
from lowering.errors import Span

Place = tuple[str, int, int, tuple[tuple[str, int], ...]]
Key = tuple[Place, int]


@dataclass
class SharedHbm:
    """``tensors``: of all instances so far; ``first``: those that the first instance made."""

    tensors: dict[Key, NkiStorage] = field(default_factory=dict)
    first: frozenset[Key] | None = None

    def known(self, made: Instance, span: Span, loops: Sequence[Loop]) -> tuple[Key, NkiStorage | None]:
        """The key of the tensor that an instance makes now, and what another instance has made it as."""
        place = (span.file, span.line, span.column, tuple((loop.kind, loop.turn) for loop in loops))
        number = made.counts.get(place, 0)
        made.counts[place] = number + 1
        return (place, number), self.tensors.get((place, number))

    def unclear(self, made: Instance) -> NkiStorage | None:
        """When an instance has ended: a tensor of the first one that it may have made as another; None where all are
        clear.  One that makes the same and others, or only some of the same at other places, is."""
        keys = frozenset((place, n) for place, count in made.counts.items() for n in range(count))
        if self.first is None:
            self.first = keys
            return None
        missing, more = self.first - keys, keys - self.first
        ambiguous = [key for key in missing if more or key[0] in made.counts]
        return self.tensors[min(ambiguous, key=repr)] if ambiguous else None


@dataclass
class Instance:
    """How many tensors one instance has made at each place."""

    counts: dict[Place, int] = field(default_factory=dict)
