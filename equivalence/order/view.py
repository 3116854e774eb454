"""A part of an interned order as it is searched for regularity: a root, and the nodes that count as its operands.

Takes a Table; gives a View with the span of every node between (a bit mask over the operands), and the check that a
pattern gives exactly this part.  Must not know which patterns there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from equivalence.order.canonical import LEAVES, UNARY, Node, Table, leaves_fusing_open
from equivalence.order.patterns import Hop, Mismatch, Pattern


@dataclass(slots=True)
class Found:
    """A Maker that makes nothing: it looks up nodes that exist already."""

    table: Table
    where: str = ""

    def put(self, how: str, dtype: str, children: Sequence[int], by: str = "") -> int:
        number = self.table.find(how, dtype, children, detail_of(how, by))
        if number is None:
            raise Mismatch
        return number


def detail_of(how: str, by: str) -> str:
    """The detail of a node whose step has this ``by``."""
    return by if how == "compensated" else "fusing" if how == "open" and leaves_fusing_open(by) else ""


class View:
    """The nodes from ``root`` down to ``leaves``, which are the operands in their order."""

    def __init__(self, table: Table, root: int, leaves: Sequence[int]) -> None:
        self.table, self.root, self.leaves = table, root, tuple(leaves)
        self.size = len(self.leaves)
        self.place = {leaf: i for i, leaf in enumerate(self.leaves)}
        self.masks = {leaf: 1 << i for leaf, i in self.place.items()}
        self.at = {1 << i: [leaf] for leaf, i in self.place.items()}  # span -> nodes, the lowest first
        self.whole = True  # no terms but the leaves
        self._fill()

    def _fill(self) -> None:
        for number in self.table.below(self.root, frozenset(self.leaves)):
            if number in self.masks:
                continue
            how, _, children, _ = self.table.nodes[number]
            if how in LEAVES:
                self.whole = False
                children = ()
            mask = 0
            for child in children:
                mask |= self.masks[child]
            self.masks[number] = mask
            self.at.setdefault(mask, []).append(number)

    def node(self, number: int) -> Node:
        return self.table.nodes[number]

    def by(self, number: int) -> str:
        """Who leaves a node open, or what else its step says about itself."""
        step = self.table.notes.get(number)
        return step.by if step is not None and step.how == self.node(number)[0] else self.node(number)[3]

    def peeled(self, number: int) -> tuple[int, tuple[Hop, ...]]:
        """The first node below ``number`` that is an operand or has several children, and the steps above it."""
        hops: list[Hop] = []
        while number not in self.place and self.node(number)[0] in UNARY:
            how, dtype, (child,), _ = self.node(number)
            hops.append((how, dtype))
            number = child
        return number, tuple(reversed(hops))

    def hops(self, low: int, high: int) -> tuple[Hop, ...]:
        """The steps from ``low`` up to ``high``, which are one above the other."""
        found: list[Hop] = []
        while high != low:
            how, dtype, children, _ = self.node(high)
            if how not in UNARY:
                raise Mismatch
            found.append((how, dtype))
            high = children[0]
        return tuple(reversed(found))

    def path(self, place: int) -> list[int]:
        """Every span that contains an operand, the smallest first."""
        bit = 1 << place
        return sorted((mask for mask in self.at if mask & bit), key=int.bit_count)

    def gives(self, pattern: Pattern) -> bool:
        """Whether a pattern over the operands gives exactly this part."""
        try:
            return pattern.emit(Found(self.table), self.leaves) == self.root
        except Mismatch:
            return False
