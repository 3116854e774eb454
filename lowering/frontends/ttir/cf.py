"""A function body with several blocks (early returns) -> nested KIR ``if``.  Cycles are refused.

``cond_br`` becomes an ``if`` whose arms run to the block where they meet again; where one arm returns early they meet
nowhere, and what follows is part of the other arm.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir

from lowering.frontends.ttir.registry import attribute
from lowering.frontends.ttir.state import Lowering
from lowering.ir.program import Value

#: Blocks lowered more often than this, by number of blocks, mean that arms share too much to be nested.
_GROWTH = 8
_RETURNS = ("tt.return", "func.return", "tt.map_elementwise.return")


class Structuriser:
    """Lowers the blocks of one region, beginning with the first."""

    def __init__(self, low: Lowering, region: ir.Region) -> None:
        self.low = low
        self.blocks = list(region.blocks)
        self.budget = _GROWTH * len(self.blocks)
        self.next = [[self.blocks.index(s) for s in self._end(i).successors] for i in range(len(self.blocks))]
        self.reach = self._reaches()

    def run(self) -> list[Value]:
        """What the region returns."""
        return self._until(0, None)

    def _end(self, i: int) -> ir.Operation:
        *_, end = self.blocks[i].operations
        return end.operation

    def _until(self, i: int, stop: int | None) -> list[Value]:
        """Lowers from block ``i`` and gives what reaches block ``stop``: its arguments (None: the returned values)."""
        while True:
            end = self._straight(i)
            if end.name in _RETURNS:
                return self.low.flat(end.operands)
            if end.name == "cf.br":
                target, values = self.next[i][0], self.low.flat(end.operands)
            elif end.name == "cf.cond_br":
                target, values = self._branch(i, end)
            else:
                raise self.low.unsupported(f"terminator {end.name}")
            if target is None or target == stop:
                return values
            self.low.bind_all(self.blocks[target].arguments, values)
            i = target

    def _straight(self, i: int) -> ir.Operation:
        self.budget -= 1
        *ops, end = [op.operation for op in self.blocks[i].operations]
        if self.budget < 0:
            raise self.low.unsupported("control flow that cannot be nested", "write it with if/else, fewer returns")
        for op in ops:
            self.low.lower(op)
        return end

    def _branch(self, i: int, end: ir.Operation) -> tuple[int | None, list[Value]]:
        """An ``if`` up to the meeting block, and its results: that block's arguments."""
        if self.low.lifted is not None:
            raise self.low.unsupported("early return inside tt.map_elementwise", "write it with if/else")
        condition = self.low.value(end.operands[0])
        _one, n_true, n_false = attribute(end, "operandSegmentSizes")
        operands = list(end.operands)[1:]
        meet = self._meeting(i)
        with self.low.build.at(self.low.span_of(end)):
            arms = [
                self.low.build.region([], lambda t=t, given=given: self._arm(t, given, meet))
                for t, given in zip(self.next[i], (operands[:n_true], operands[n_true : n_true + n_false]), strict=True)
            ]
            return meet, list(self.low.build.op("if", [condition], arms).results)

    def _arm(self, target: int, given: Sequence[ir.Value], meet: int | None) -> list[Value]:
        values = self.low.flat(given)
        if target == meet:
            return values
        self.low.bind_all(self.blocks[target].arguments, values)
        return self._until(target, meet)

    # -- the graph ------------------------------------------------------------------------------------------------

    def _meeting(self, i: int) -> int | None:
        """The nearest block on every path from ``i`` to a return; None when there is none."""
        candidates = [j for j in self.reach[i] - {i} if not self._escapes(i, j)]
        return max(candidates, key=lambda j: len(self.reach[j]), default=None)

    def _escapes(self, i: int, avoided: int) -> bool:
        """Whether a path from ``i`` returns without passing ``avoided``."""
        seen, open_ = {avoided}, [i]
        while open_:
            j = open_.pop()
            if j in seen:
                continue
            if not self.next[j]:
                return True
            seen.add(j)
            open_ += self.next[j]
        return False

    def _reaches(self) -> dict[int, set[int]]:
        """Block -> blocks on paths from it, itself included; refuses cycles."""
        reach: dict[int, set[int]] = {}

        def visit(i: int, path: tuple[int, ...]) -> set[int]:
            if i in path:
                raise self.low.unsupported("a loop of cf.br", "loops must be scf.for or scf.while")
            if i not in reach:
                reach[i] = {i}.union(*(visit(j, (*path, i)) for j in self.next[i]))
            return reach[i]

        visit(0, ())
        return reach
