"""Where comparisons with one bound part the numbers that follow from no float input: lengths, places, random draws.

Gives Cuts, which a Coverage keeps.  ``x < c`` and ``x >= c`` part numbers at one place, below c; ``x <= c`` and
``x > c`` just above it.  Of whole numbers the place is a half, so that ``x < 5`` and ``x <= 4`` are one cut.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from equivalence.evaluator.lanes import FLOAT_DATA, Lanes
from lowering.errors import Span
from lowering.ir.program import Op, Value

MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
BELOW = ("lt", "ge")  # predicates that put the bound itself with what is larger
MOST = 256  # cuts of one run
_MOVES = ("reshape", "broadcast", "transpose")


@dataclass(frozen=True, slots=True)
class Cut:
    """``bound``: what is compared with, of whole numbers the place itself; ``above``: whether the bound is below it."""

    bound: float
    above: bool
    whole: bool


@dataclass(slots=True)
class Parted:
    """What came to lie beside a cut: the nearest numbers on either side of it, infinite where there were none."""

    span: Span
    below: float = -math.inf
    beyond: float = math.inf

    @property
    def nearest(self) -> tuple[float, float]:
        return self.below, self.beyond


class Cuts(dict[Cut, Parted]):
    """The cuts of one run of one side; ``drawn``: values that a stream has given, which are nobody's input."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: set[Value] = set()

    def passed_on(self, op: Op) -> None:
        """Notes draws, in whatever shape."""
        if op.name == "random" or (op.name in _MOVES and op.operands[0] in self.drawn):
            self.drawn.update(op.results)

    def compared(self, op: Op, operands: Sequence[Lanes]) -> None:
        """Notes ``x < c`` and its like, where c is one number and x are several; nothing of what floats were given."""
        pred = op.attrs["pred"]
        given = any(x.taint == FLOAT_DATA and v not in self.drawn for x, v in zip(operands, op.operands, strict=True))
        if pred not in MIRRORED or given or len(self) >= MOST:
            return
        sizes = [x.data.size for x in operands]
        if min(sizes) != 1 or max(sizes) == 1:
            return
        x, c = operands if sizes[1] == 1 else reversed(operands)
        cut = _cut(pred if sizes[1] == 1 else MIRRORED[pred], float(c.data.reshape(-1)[0]), not c.dtype.is_float)
        values = x.data.astype(np.float64)
        if cut.whole and cut.bound < -1:  # the same cut of the negative numbers; beside 0 it may be another one
            cut, values = Cut(-cut.bound, True, True), -values
        low = values <= cut.bound if cut.above else values < cut.bound
        parted = self.setdefault(cut, Parted(op.span))
        parted.below = max(parted.below, float(np.max(values, initial=-np.inf, where=low)))
        parted.beyond = min(parted.beyond, float(np.min(values, initial=np.inf, where=~low)))


def _cut(pred: str, bound: float, whole: bool) -> Cut:
    if whole:
        return Cut(bound - 0.5 if pred in BELOW else bound + 0.5, True, True)
    return Cut(bound, pred not in BELOW, False)


__all__ = ["Cut", "Cuts", "Parted"]
