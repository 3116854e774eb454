"""Observed errors beside bounds: one program on given inputs, in the evaluator's order and in other legal ones.

Takes a Program and arrays; gives for each output how far every element is, at least, from the program's real result
(the distance to a rigorous enclosure), and the bound that `error` states.  Must not judge pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from equivalence.evaluator import Freedoms, Limits, Machine, Outcome
from equivalence.interpretations.depends import Depends
from equivalence.interpretations.enclosure import Enclosure, prepare
from equivalence.interpretations.error import Error
from equivalence.interpretations.error_meaning import MeantError
from equivalence.interpretations.summation import Summation
from equivalence.judge.planes import plane, value
from lowering.ir.program import Program

Array = np.ndarray
SLACK = 1 + 2.0**-40  # of bounds, which are f64 themselves


@dataclass(slots=True)
class Reference:
    """Of one output, float64 at its shape: the ends of its enclosure, its bound, and which elements can be judged."""

    name: str
    value: Array
    lo: Array
    hi: Array
    bound: Array
    judged: Array
    dtype: str
    loss: Array  # condition numbers, 0 where the interpretation of bounds makes none

    def apart(self, values: Array) -> Array:
        """How far ``values`` are from the real results, at least; 0 where nothing is known."""
        with np.errstate(all="ignore"):
            wide = values.astype(np.float64)
            known = self.judged & np.isfinite(wide)
            return np.where(known, np.maximum(np.maximum(self.lo - wide, wide - self.hi), 0.0), 0.0)

    def ratio(self, values: Array) -> Array:
        """The share of the bound that is used."""
        apart = self.apart(values)
        with np.errstate(all="ignore"):
            return np.where(apart > 0, apart / self.bound, 0.0)


@dataclass(slots=True)
class Subject:
    """A program with the meaning of its constants.  ``error``: the interpretation whose bounds are looked at."""

    program: Program
    enclosure: Enclosure
    error: Error

    @classmethod
    def of(cls, program: Program) -> Subject:
        enclosure = prepare(program, program)
        return cls(program, enclosure, MeantError(enclosure.meaning, usual=False))

    def references(self, inputs: Mapping[str, Array]) -> list[Reference] | None:
        """None where control or an address follows float data: its real values may lead elsewhere.

        Raises IrverifyError where the evaluator does.
        """
        outcome = self._run(inputs, None, [self.enclosure, Depends(marks=False), self.error])
        return None if outcome.path_sites else list(_references(outcome))

    def values(self, inputs: Mapping[str, Array], order: Summation) -> list[Array]:
        """The outputs with open sums made in another order."""
        return [value(lanes) for lanes in self._run(inputs, order, []).outputs.values()]

    def _run(self, inputs: Mapping[str, Array], order: Summation | None, interpretations: Sequence) -> Outcome:
        limits = Limits(summation=order, tree=order is not None and order.pairs, deadline=math.inf)
        return Machine(self.program, interpretations, Freedoms(), limits).run(inputs)


def _references(outcome: Outcome) -> Iterator[Reference]:
    for name, lanes in outcome.outputs.items():
        if lanes.planes is None or not lanes.dtype.is_float:
            continue
        lo, hi, bound = (plane(lanes, p) for p in ("lo", "hi", "bound"))
        with np.errstate(all="ignore"):
            known = np.isfinite(hi - lo) & np.isfinite(bound) & (plane(lanes, "poison") == 0)
        loss = plane(lanes, "loss")
        yield Reference(name, value(lanes).astype(np.float64), lo, hi, bound, known, lanes.dtype.name, loss)
