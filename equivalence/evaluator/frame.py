"""Where a run is and what it gives: Frame, Limits, Outcome, and the Recorder that is told of every op.

Must not know the machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Event as Signal
from typing import TYPE_CHECKING, Protocol

import numpy as np

from equivalence.evaluator.coverage import Coverage
from equivalence.evaluator.lanes import Lanes
from equivalence.verdicts import Severity
from lowering.errors import IrverifyError, Span
from lowering.ir.program import Op, Value

if TYPE_CHECKING:
    from equivalence.interpretations.summation import Summation
    from equivalence.numerics.matrix_units import Unit


class Recorder(Protocol):
    """Told of every executed op; used to find where two programs part."""

    def record(
        self, op: Op, results: Sequence[Lanes], operands: Sequence[Lanes], active: np.ndarray | None
    ) -> None: ...


#: The deadline of runs that are given none of their own.
DEADLINE: ContextVar[float] = ContextVar("deadline", default=math.inf)


@dataclass(slots=True)
class Limits:
    """``lanes``: lanes held per value in one chunk of program instances; ``steps``: executed ops before giving up."""

    lanes: int = 1 << 18
    steps: int = 20_000_000
    masked_load_is_zero: bool = False
    undefined_fill: float = 0.0  # the concrete value of undefined lanes: nothing may depend on it
    side: int = 0  # of a comparison: undefined lanes of the two sides are never the same
    deadline: float = field(default_factory=lambda: DEADLINE.get())  # time.monotonic() after which a run is given up
    tree: bool = False  # generic combiners in an open order combine in a tree, where they otherwise go left to right
    summation: Summation | None = None  # another legal order of sums whose order is open; None: the evaluator's own
    backward: str = ""  # open choices made the other way round: 'keys' equal ones of a sort, 'sets' at one place
    spared: frozenset[bytes] = frozenset()  # rows of equal keys (tied.py) that stay in place nevertheless
    stopped: Signal = field(default_factory=Signal)  # set to give up runs in progress
    unit: Unit | None = None  # the matrix unit that evaluates dots; None: one exact sum, rounded once


class OutOfTime(IrverifyError):
    """A run went on past its deadline: nothing is known, which is no construct that is not modelled."""

    exit_code = 3

    def __init__(self, span: Span) -> None:
        self.span = span
        super().__init__(f"out of time at {span}: raise --timeout, or give smaller inputs")


@dataclass(eq=False, slots=True)
class Frame:
    """Where execution is: the values so far, the function's promises, and which instances run.

    ``instance`` is None outside launches, else int64[batch] program numbers; ``active`` None means all of them.
    """

    values: dict[Value, Lanes]
    key: str
    contract: bool
    grid: tuple[int, int, int] | None = None
    instance: np.ndarray | None = None
    active: np.ndarray | None = None

    @property
    def batch(self) -> int:
        return 1 if self.instance is None else len(self.instance)


@dataclass(frozen=True, slots=True)
class Event:
    """Something seen on the way: ``code`` as in ``irverify explain``."""

    code: str
    what: str
    span: Span
    severity: Severity = "warning"


@dataclass(slots=True)
class Outcome:
    """What a run gives: outputs in the program's order, events, and the path condition's words by interpretation."""

    outputs: dict[str, Lanes]
    events: list[Event]
    path: dict[str, int]
    path_sites: list[Span]
    draws: set[int] = field(default_factory=set)  # words of counter-based generators, to tell streams apart
    reads: tuple[bytes, ...] = ()  # what the host looked at: on other values it may do something else
    coverage: Coverage = field(default_factory=Coverage)
    unsure_paths: list[Span] = field(default_factory=list)  # where rounding may turn what data decide


__all__ = ["DEADLINE", "Event", "Frame", "Limits", "OutOfTime", "Outcome", "Recorder"]
