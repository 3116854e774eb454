"""What an assessment of tolerances found: plain data for reports.  Must not know programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from equivalence.tolerance.derive import Tolerance
from equivalence.tolerance.metrics import NONE, Distance

#: Of a candidate under the tolerance that is judged (the proposed one, else the expected one):
#: ``caught``; ``passes``: though a derived tolerance would catch it; ``inseparable``: no derived one catches it either;
#: ``unseen``: no output differs on these inputs; ``permitted``: the same terms and roundings in another order;
#: ``equivalent``: no output differs and nothing can; ``not run``: it does not run to its end.
Status = Literal["caught", "passes", "inseparable", "unseen", "permitted", "equivalent", "not run"]
COUNTED: tuple[Status, ...] = ("caught", "passes", "inseparable", "unseen")


@dataclass(slots=True)
class OutputTolerance:
    """``worst`` holds for every permitted order and rounding, ``expected`` with all but negligible probability;
    ``observed`` is the largest distance that a sampled order had.  ``unbounded`` elements are left out of all.
    Beside a B these are of both sides' rounding, ``worst_alone`` and ``expected_alone`` of A's."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    worst: Tolerance | None
    expected: Tolerance | None
    unbounded: int
    elements: int
    worst_alone: Tolerance | None = None
    expected_alone: Tolerance | None = None
    observed: Distance = NONE


@dataclass(frozen=True, slots=True)
class Failing:
    """An element of a legal implementation that the proposed tolerance refuses."""

    output: str
    index: tuple[int, ...]
    value: float
    reference: float
    allowed: float
    draw: str
    order: str


@dataclass(frozen=True, slots=True)
class Trial:
    """One wrong kernel or null output.  ``passes`` by tolerance: ``proposed``, ``expected``, ``worst``.

    ``caught_below``: the rtol below which it is caught at ``atol``; 0 where atol alone lets it pass.
    ``outside``: the largest share of elements out of the judged tolerance.
    """

    kind: Literal["null", "mutant", "side"]
    name: str
    what: str
    status: Status
    passes: dict[str, bool] = field(default_factory=dict[str, bool])
    distance: Distance = NONE
    caught_below: float = 0.0
    atol: float = 0.0
    outside: float = 0.0
    beyond_bounds: bool = False  # further than both error bounds explain, on some input


@dataclass(slots=True)
class TolerancesReport:
    """``tight``: legal implementations that fail the proposed tolerance; ``uncovered``: elements that the expected
    error of two implementations may take beyond it."""

    outputs: list[OutputTolerance]
    draws: list[str]
    orders: list[str]
    runs: int = 0  # legal reorderings that were run
    broken: list[Failing] = field(default_factory=list["Failing"])  # beyond the derived tolerance: there must be none
    check: tuple[float, float] | None = None
    tight: list[Failing] = field(default_factory=list["Failing"])
    uncovered: int = 0
    trials: list[Trial] = field(default_factory=list["Trial"])
    side: Trial | None = None  # B beside A
    notes: list[str] = field(default_factory=list[str])
    thin: bool = False  # time ran out before every order was run once and a few mutants were tried

    @property
    def loose(self) -> list[Trial]:
        """What the proposed tolerance lets pass, and a derived one would not."""
        if self.check is None:
            return []
        side = [self.side] if self.side is not None else []
        return [t for t in [*side, *self.trials] if t.status == "passes"]

    @property
    def verdict(self) -> str:
        if self.check is None:
            return "derived"
        words = [word for word, found in (("too tight", self.tight), ("too loose", self.loose)) if found]
        return " and ".join(words) or ("open" if self.thin else "adequate")

    @property
    def exit_code(self) -> int:
        return 1 if self.tight or self.loose else 3 if self.verdict == "open" else 0

    def counted(self, kind: str = "mutant") -> list[Trial]:
        """Candidates that are other programs, as far as is known."""
        return [t for t in self.trials if t.kind == kind and t.status in COUNTED]

    def rejected(self, tolerance: str, kind: str = "mutant") -> int:
        return sum(not t.passes.get(tolerance, True) for t in self.counted(kind))
