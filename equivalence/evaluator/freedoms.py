"""The choices that a source leaves open, as sites: which were reached, by whom, and in words.

Gives Freedoms (a registry that turns sites into bits) and Choice.  Must not know the ops.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lowering.errors import Span


@dataclass(frozen=True, slots=True)
class Choice:
    """One open choice: ``kind`` ('order', 'contraction', 'intrinsic', 'racing', ...) and the key that fixes it."""

    kind: str
    key: str
    what: str
    span: Span


@dataclass(slots=True)
class Freedoms:
    """Sites by bit number; one registry serves both programs, so equal keys are equal bits."""

    bits: dict[tuple[str, str], int] = field(default_factory=dict)
    choices: list[Choice] = field(default_factory=list)

    def bit(self, kind: str, key: str, what: str, span: Span) -> int:
        """The bit (1 << n) of a site."""
        known = self.bits.get((kind, key))
        if known is None:
            known = self.bits[(kind, key)] = 1 << len(self.choices)
            self.choices.append(Choice(kind, key, what, span))
        return known

    def of(self, bits: int) -> list[Choice]:
        """The choices in a bit set."""
        return [choice for n, choice in enumerate(self.choices) if bits >> n & 1]

    def adopt(self, other: Freedoms, bits: int) -> int:
        """A bit set of another registry in terms of this one."""
        mine = 0
        for choice in other.of(bits):
            mine |= self.bit(choice.kind, choice.key, choice.what, choice.span)
        return mine
