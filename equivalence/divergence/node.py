"""One lane of a trace as an object: what made it, from what, and how to say so.

Takes a Side and a lane number; gives Node.  Must not compare two programs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equivalence.divergence.cone import Side, used
from equivalence.divergence.trace import READS, Application
from lowering.errors import UNKNOWN_SPAN, Span
from lowering.ir.program import Op

#: Applications that only hand a lane on.
MOVES = READS | {"bitcast"}


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """Lane ``number`` of one side."""

    side: Side
    number: int

    @property
    def application(self) -> Application:
        return self.side.trace.application(self.number)

    @property
    def op(self) -> Op | None:
        return self.application.op

    @property
    def name(self) -> str:
        return self.application.name

    @property
    def fn(self) -> str:
        """The operation with the attribute that makes it what it is: 'math exp', 'reduce add', 'cmp lt'."""
        attrs = self.application.attrs
        detail = attrs.get("fn") or attrs.get("combine") or attrs.get("pred") or attrs.get("mode") or ""
        return f"{self.name} {detail}".strip()

    @property
    def span(self) -> Span:
        return self.op.span if self.op is not None else UNKNOWN_SPAN

    @property
    def value(self) -> float:
        return float(self.side.values[self.number])

    @property
    def literal(self) -> bool:
        return bool(self.side.literal[self.number])

    @property
    def matched(self) -> bool:
        return bool(self.side.exonerated[self.number])

    @property
    def dtype(self) -> str:
        """The dtype of the lane, by its storage."""
        return str(self.application.data.dtype)

    @property
    def lane(self) -> tuple[int, ...]:
        """Index of the lane within its application, the batch axis first."""
        return tuple(int(i) for i in np.unravel_index(self.number - self.application.first, self.application.shape))

    @property
    def operands(self) -> list[list[Node]]:
        """The lanes that each operand contributes; an elementwise operand contributes one."""
        flags = np.zeros(self.application.shape, bool)
        flags[self.lane] = True
        return [[Node(self.side, int(n)) for n in ids.ravel()] for ids in used(self.application, flags)]

    def source(self) -> Node:
        """This lane before it was moved, loaded or chosen."""
        node = self
        while node.name in MOVES and len(node.application.operands) == 1:
            node = node.operands[0][0]
        return node

    def chain(self) -> list[Node]:
        """This lane and what it was moved from, latest first."""
        nodes: list[Node] = [self]
        while nodes[-1].name in MOVES and len(nodes[-1].application.operands) == 1:
            nodes.append(nodes[-1].operands[0][0])
        return nodes

    @property
    def made(self) -> Span:
        """Where this lane was made or last moved by something that has a place in the source."""
        return next((n.span for n in self.chain() if n.span.line), self.span)

    def element(self) -> str:
        """'x[3, 5]' for an input element."""
        index = ", ".join(map(str, self.lane[1:]))
        return f"{self.application.label}[{index}]" if index else self.application.label
