"""What a sweep says of one case, and the table of all of them.

Takes Rows; gives text.  Must not know what was swept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

DECIDED = ("bitwise", "reassociated", "real", "different")


@dataclass(frozen=True, slots=True)
class Part:
    """One direction of a case.  ``against``: outputs that the float64 reference contradicts."""

    verdict: str
    reason: str = ""
    against: list[str] = field(default_factory=list[str])

    @property
    def wrong(self) -> bool:
        """Equal although the reference in float64 says otherwise, or different although it agrees."""
        equal = self.verdict in DECIDED[:3]
        return bool(self.against) if equal else self.verdict == "different" and not self.against


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    parts: list[Part]
    seconds: float

    def lines(self) -> list[str]:
        """The row of the table, then one line for each direction that has something to say."""
        cells = [f"{part.verdict}{'!' if part.wrong else ''}" for part in self.parts] + ["-"]
        head = f"{self.name:34s} {cells[0]:14s} {cells[1]:14s} {self.seconds:6.1f}"
        below = [
            f"    {direction}: {'; '.join(filter(None, [part.reason, *part.against]))}"
            for direction, part in zip(("forward", "backward"), self.parts)
            if part.reason or part.against
        ]
        return [head, *below]


HEAD = f"{'operator':34s} {'forward':14s} {'backward':14s} {'s':>6s}"


def summary(rows: Sequence[Row]) -> list[str]:
    """Shares over all verdicts, and how many are contradicted by the reference in float64."""
    parts = [part for row in rows for part in row.parts]
    reached = sum(part.verdict not in ("unsupported", "error", "timeout") for part in parts)
    decided = sum(part.verdict in DECIDED for part in parts)
    wrong = sum(part.wrong for part in parts)
    counts = {word: sum(part.verdict == word for part in parts) for word in dict.fromkeys(p.verdict for p in parts)}
    return [
        f"{len(rows)} operators, {len(parts)} verdicts: " + ", ".join(f"{n} {word}" for word, n in counts.items()),
        f"reached a verdict: {share(reached, len(parts))}; decided: {share(decided, len(parts))}; "
        f"to look at (! above, contradicted by float64): {wrong}",
    ]


def share(count: int, total: int) -> str:
    return f"{count} of {total} ({100 * count / max(total, 1):.1f} %)"
