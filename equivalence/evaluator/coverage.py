"""What of a program a run came to, so that code which only some shapes reach is noticed.

Gives Coverage: a set of facts that are the same for one source at every shape.  A fact is an operation by its place in
the source, an outcome of a condition on indices, or how long a sum of narrow integers was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equivalence.evaluator.cuts import Cuts
from equivalence.evaluator.lanes import INDEX, Lanes
from lowering.ir.program import Op

Fact = tuple[Any, ...]
_NARROW = 16  # bits of an integer that counts of elements may overflow
_ACCUMULATING = frozenset({"reduce", "scan", "dot"})
_BY_CONDITION = {"select": 0, "load": 1, "store": 2, "atomic_rmw": 2}  # the operand that says which lanes are meant


class Coverage(set[Fact]):
    """Facts of one run of one side; ``cuts``: where its comparisons part numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.cuts = Cuts()

    def executed(self, op: Op, operands: Sequence[Lanes], results: Sequence[Lanes]) -> None:
        if results and not any(x.data.size for x in results):
            return  # of an empty array: nothing was computed
        self.add((op.span, op.name))
        self.cuts.passed_on(op)
        if op.name == "cmp":
            self.cuts.compared(op, operands)
        place = _BY_CONDITION.get(op.name)
        if place is not None and place < len(operands) and operands[place].taint == INDEX:
            self._outcomes(op, operands[place].data)
        elif op.name == "cmp" and results[0].taint == INDEX:
            self._outcomes(op, results[0].data)
        elif op.name in _ACCUMULATING and results:
            self._length(op, operands[0], results[0])

    def _outcomes(self, op: Op, condition: np.ndarray) -> None:
        for outcome in (True, False):
            fact = (op.span, op.name, outcome)
            if fact not in self and bool(condition.any() if outcome else not condition.all()):
                self.add(fact)

    def _length(self, op: Op, x: Lanes, out: Lanes) -> None:
        if out.dtype.is_integer and out.dtype.kind != "bool" and out.dtype.bits <= _NARROW:
            self.add((op.span, "terms", x.shape[op.attrs.get("axis", -1)].bit_length()))


__all__ = ["Coverage"]
