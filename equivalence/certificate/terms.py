"""What a lane of a run is as a Value: operation by operation, each lane once.

Takes Graphs of both programs under one set of symbols; gives Values, or raises Uncertain with the operation and its
line.  Casts between floats are identities, as under `real`; integers that no float decides are those of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from flint import fmpq

from equivalence.certificate.lanes import used
from equivalence.certificate.meanings import Meanings
from equivalence.certificate.operations import Operations
from equivalence.certificate.record import Graph, Step
from equivalence.certificate.symbols import Number, TooLarge, Uncertain
from lowering.errors import UNKNOWN_SPAN


class Terms:
    """Values of one graph's lanes.  ``leaf``: the Value of an input's element."""

    def __init__(self, graph: Graph, operations: Operations, meanings: Meanings, leaf: Callable[..., Number]) -> None:
        self.graph, self.operations, self.meanings, self.leaf = graph, operations, meanings, leaf
        self._known: dict[int, Number] = {}
        self._failed: dict[int, Uncertain] = {}

    def value(self, lane: int) -> Number:
        """The lane's value; what it is computed from comes first."""
        waiting = [lane]
        while waiting:
            number = waiting[-1]
            if number in self._known:
                waiting.pop()
                continue
            step = self.graph.step(number)
            operands = self._operands(step, number - step.first)
            missing = [n for operand in operands for n in operand if n not in self._known]
            if missing:
                self._stop_at_failures(missing)
                waiting.extend(missing)
                continue
            self._known[number] = self._made(step, number, operands)
            waiting.pop()
        return self._known[lane]

    def _stop_at_failures(self, lanes: Sequence[int]) -> None:
        for lane in lanes:
            if lane in self._failed:
                raise self._failed[lane]

    def _operands(self, step: Step, lane: int) -> list[list[int]]:
        concrete = step.decided and step.dtype.is_integer
        return [] if concrete or step.name in ("input", "literal", "undefined") else used(step, lane)

    def _made(self, step: Step, number: int, operands: list[list[int]]) -> Number:
        self.operations.in_time()
        try:
            return self._evaluated(step, number - step.first, operands)
        except TooLarge:
            raise
        except Uncertain as reason:
            where = "" if step.span is UNKNOWN_SPAN else f" at {step.span}"
            failure = reason if reason.args[1:] else Uncertain(f"{step.name}: {reason}{where}", step.span)
            self._failed[number] = failure
            raise failure from None

    def _evaluated(self, step: Step, lane: int, operands: list[list[int]]) -> Number:
        if step.name == "undefined":
            raise Uncertain("a value that nothing defines")
        if step.dtype.is_integer and step.decided:
            return self.operations.rational(fmpq(int(_datum(step, lane))))
        if step.name == "literal":
            return self.meanings.literal(float(_datum(step, lane)), step.dtype.name)
        if step.name == "input":
            return self.leaf(step.attrs["input"], int(step.operands[0].ravel()[lane]))
        values = [[self._known[n] for n in operand] for operand in operands]
        return self.operations.apply(step, lane, values)


def _datum(step: Step, lane: int) -> np.generic:
    """The concrete value of a lane."""
    if not step.data.size:
        return np.float64(0)
    index = np.unravel_index(lane, step.shape)
    return step.data[tuple(0 if n == 1 else i for i, n in zip(index, step.data.shape))]
