"""Decision sites of `real`: which outcomes of every comparison, choice and extremum were seen (SEMANTICS §5).

Takes masks of outcomes; gives SiteRecords and what is missing.  Must not know fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from equivalence.evaluator.lanes import Lanes
from equivalence.interpretations.base import Site
from equivalence.interpretations.real_cell import Array
from lowering.errors import UNKNOWN_SPAN, Span

#: What the bits of ``seen`` mean, by kind of site.
OUTCOMES: dict[str, tuple[str, ...]] = {
    "max": ("the left operand is larger", "the right operand is larger"),
    "min": ("the left operand is smaller", "the right operand is smaller"),
    "cmp": ("true", "false"),
    "select": ("the first value is taken", "the second value is taken"),
    "choice": ("the first integer is taken", "the second integer is taken"),  # by a condition on integers
    "abs": ("a negative operand", "a positive operand"),
    "saturation": ("in range", "above the range", "below the range"),
    "extremum": ("the first lane wins", "the last lane wins", "an inner lane wins", "a literal lane wins"),
    "sort": ("the first lane moves", "the last lane moves"),
}


@dataclass(slots=True)
class SiteRecord:
    """``seen``: a bit for each outcome of OUTCOMES[kind]; ``possible``: those that can happen at all."""

    kind: str
    span: Span = UNKNOWN_SPAN
    seen: int = 0
    possible: int = 0

    @property
    def chooses(self) -> bool:
        """Whether the site chooses a value, which ``free`` can replace by an arbitrary one."""
        return self.kind in ("max", "min", "abs", "extremum", "choice")

    def missing(self) -> list[str]:
        return [what for k, what in enumerate(OUTCOMES[self.kind]) if self.possible & ~self.seen & 1 << k]


class Sites(dict[str, SiteRecord]):
    """Records by "side|site key|kind|span".  ``side`` is set by whoever runs two programs."""

    side: str = ""

    def key(self, site: Site, kind: str) -> str:
        return f"{self.side}|{site.key}|{kind}|{site.span}"

    def settled(self, site: Site, kind: str) -> bool:
        """Whether nothing more can be learned at this site."""
        record = self.get(self.key(site, kind))
        return record is not None and record.seen == (1 << len(OUTCOMES[kind])) - 1

    def record(self, site: Site, kind: str, counted: Array, outcomes: Sequence[Array], lanes: Sequence[Lanes]) -> None:
        """Notes which ``outcomes`` occur on ``counted`` lanes of running instances whose operands are defined."""
        counted = self.running(site, counted, lanes)
        if not counted.any():
            return
        record = self.note(site, kind, (1 << len(outcomes)) - 1)
        for k, outcome in enumerate(outcomes):
            if not record.seen >> k & 1 and (outcome & counted).any():
                record.seen |= 1 << k

    def note(self, site: Site, kind: str, possible: int, seen: int = 0) -> SiteRecord:
        record = self.setdefault(self.key(site, kind), SiteRecord(kind, site.span))
        record.possible |= possible
        record.seen |= seen
        return record

    @staticmethod
    def running(site: Site, counted: Array, lanes: Sequence[Lanes]) -> Array:
        for x in lanes:
            poison = (x.planes or {}).get("poison")
            if poison is not None and poison.any():
                counted = counted & (poison == 0)
        if site.active is not None:
            active = site.active.reshape(-1, *([1] * (counted.ndim - 1)))
            counted = counted & active if active.any() else np.zeros((1,) * counted.ndim, bool)
        return counted

    def unseen(self) -> list[tuple[str, str, Span]]:
        """(site key, outcome, where) of everything that never happened."""
        return [(key, what, record.span) for key, record in self.items() for what in record.missing()]
