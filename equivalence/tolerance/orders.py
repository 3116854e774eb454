"""Legal reorderings: one program run with its open sums made in other orders.

Takes a Program and inputs; gives outputs by the order's name.  What is fixed by the source stays.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from equivalence.evaluator import Freedoms, Limits, Machine, Outcome
from equivalence.interpretations.summation import Summation
from equivalence.judge.planes import value
from lowering.ir.program import Program

Array = np.ndarray
RANDOM = 4  # random orders beside the named ones
_RACING = ("atomic_rmw", "scatter")


def orders(seed: int) -> Iterator[Summation]:
    """Named ones first: each is the worst of some program."""
    yield Summation("one after the other")
    yield Summation("from the last to the first", "reversed")
    yield Summation("in pairs", pairs=True)
    yield Summation("largest first", "largest", seed=seed)
    for n in range(RANDOM):
        yield Summation(f"random order {seed + n}", "random", pairs=n % 2 == 1, fused=n >= RANDOM // 2, seed=seed + n)


def leaves_open(program: Program) -> bool:
    """Whether any order of additions is left open at all."""
    for op in program.walk():
        dt = op.results[0].type.dtype if op.results else None
        if op.name in _RACING and op.operands[1].type.dtype.is_float:
            return True
        if op.name in ("reduce", "scan", "dot") and dt is not None and dt.is_float:
            adds = op.attrs.get("combine", "add") in ("add", "mul", "region")
            if adds and op.attrs["order"] not in ("sequential", "pairwise"):
                return True
    return False


def run(
    program: Program, inputs: dict[str, Array], order: Summation | None, deadline: float, fill: float = 0.0
) -> Outcome:
    """Values alone; ``fill`` is in memory that nothing wrote."""
    limits = Limits(summation=order, tree=order is not None and order.pairs, undefined_fill=fill)
    limits.deadline = min(limits.deadline, deadline)
    return Machine(program, (), Freedoms(), limits).run(inputs)


def values(outcome: Outcome) -> list[Array]:
    """The outputs' arrays, in the program's order."""
    return [value(lanes) for lanes in outcome.outputs.values()]
