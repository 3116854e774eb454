"""What is asked of an assessment, and the runs it is made of: the reference, and B, on every draw.

Gives Request, Work and refer().  Must not judge.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from equivalence.evaluator import Outcome
from equivalence.judge.compare import poisoned
from equivalence.judge.quick import Terms
from equivalence.mutants.draw import Mutant
from equivalence.tolerance import orders, references
from equivalence.tolerance.battery import battery
from equivalence.tolerance.references import Draw, Reference
from lowering.ir.program import Program

Array = np.ndarray
OTHER_FILL = 7.0  # of undefined memory, beside 0: an element that follows it is whatever lies there


@dataclass(frozen=True, slots=True)
class Request:
    """``check``: the proposed (rtol, atol); ``deadline`` on the monotonic clock, after which no more is tried.

    ``wrong``: gives up to so many mutants of a program by a seed.
    """

    a: Program
    inputs: dict[str, Array]
    b: Program | None = None
    check: tuple[float, float] | None = None
    seed: int = 0
    draws: int = 3
    mutants: int = 32
    wrong: Callable[[Program, int, int], Iterator[Mutant]] = battery
    deadline: float = math.inf


@dataclass(slots=True)
class Work:
    """What one assessment has so far."""

    request: Request
    drawn: list[Draw] = field(default_factory=list["Draw"])
    found: list[list[Reference]] = field(default_factory=list["list[Reference]"])
    of_b: list[list[Array]] = field(default_factory=list["list[Array]"])
    terms: Terms = field(init=False)

    def __post_init__(self) -> None:
        self.terms = Terms(self.request.a, self.request.inputs, self.request.seed)

    def late(self) -> bool:
        return time.monotonic() > self.request.deadline


def refer(work: Work) -> Iterator[str]:
    """Runs the reference on every draw; a draw on which a host that reads data may do something else is left out."""
    request = work.request
    reads: tuple[bytes, ...] | None = None
    for label, arrays in references.draws(request.inputs, request.draws, request.seed):
        a = references.evaluate(request.a, arrays, request.deadline)
        b = None if request.b is None else references.evaluate(request.b, arrays, request.deadline)
        here = a.reads + (b.reads if b is not None else ())
        reads = here if reads is None else reads
        if here != reads:
            yield f"not counted: {label}, on which the host reads something else"
            continue
        undefined = [_undefined(p, arrays, o, request.deadline) for p, o in ((request.a, a), (request.b, b)) if p and o]
        work.drawn.append((label, arrays))
        work.found.append(references.references(a, b, undefined))
        work.of_b.append([] if b is None else _b_values(b, *undefined))


def _undefined(program: Program, arrays: dict[str, Array], outcome: Outcome, deadline: float) -> list[Array]:
    """Per output the elements that follow what lies in memory that nothing wrote: another fill moves them."""
    marked = [np.asarray(poisoned(lanes)) for lanes in outcome.outputs.values()]
    if not any(mask.any() for mask in marked):
        return marked
    first, again = (orders.values(orders.run(program, arrays, None, deadline, fill)) for fill in (0.0, OTHER_FILL))
    return [mask & (x != y) for mask, x, y in zip(marked, first, again, strict=True)]


def _b_values(b: Outcome, of_a: list[Array], of_b: list[Array]) -> list[Array]:
    """B's outputs; NaN where they are what happens to lie in memory, and A's are not."""
    results = []
    for x, here, there in zip(orders.values(b), of_b, of_a, strict=True):
        floats = x.dtype.kind in "fV"
        results.append(np.where(here & ~there, np.asarray(np.nan, x.dtype), x) if floats and here.any() else x)
    return results
