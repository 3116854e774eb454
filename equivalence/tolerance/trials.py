"""One candidate under every tolerance: a null output, a mutant, the other side, a legal reordering.

Takes References, tolerances and the candidate's outputs on each draw; gives a Trial or the element that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from equivalence.tolerance.measure import Asked, measure
from equivalence.tolerance.metrics import NONE, Distance, outside
from equivalence.tolerance.references import Reference
from equivalence.tolerance.result import Failing, OutputTolerance, Status, Trial

Array = np.ndarray


@dataclass(slots=True)
class Bench:
    """The tolerances by name, each per output.  ``judged`` is the one that a status speaks of."""

    found: list[OutputTolerance]
    check: tuple[float, float] | None

    @property
    def judged(self) -> str:
        return "proposed" if self.check is not None else "expected"

    @property
    def names(self) -> list[str]:
        return ["worst", "expected", *(["proposed"] if self.check is not None else [])]

    def at(self, name: str, position: int) -> tuple[float, float] | None:
        """(rtol, atol); None where there is none."""
        if name == "proposed":
            return self.check
        found = self.found[position].worst if name == "worst" else self.found[position].expected
        return None if found is None else (found.rtol, found.atol)

    def asked(self, position: int) -> dict[str, Asked]:
        """Those that there are."""
        pairs = {name: self.at(name, position) for name in self.names}
        return {name: Asked(*pair, of_all=name == "proposed") for name, pair in pairs.items() if pair is not None}

    def refused(self, name: str, position: int, one: Reference, candidate: Array) -> Array:
        """Elements that the tolerance refuses; derived ones speak of bounded elements alone."""
        pair = self.at(name, position)
        if pair is None:
            return np.zeros(one.value.shape, bool)
        counts = one.counts if name == "proposed" else one.known
        return outside(candidate, one.value, *pair) & counts


@dataclass(slots=True)
class Tally:
    """What was seen of one candidate so far."""

    bench: Bench
    passes: dict[str, bool]
    distance: Distance = NONE
    caught_below: float = 0.0
    atol: float = 0.0
    outside: float = 0.0
    beyond_bounds: bool = False
    seen: int = field(default=0)

    @classmethod
    def of(cls, bench: Bench) -> Tally:
        return cls(bench, dict.fromkeys(bench.names, True))

    def add(self, position: int, one: Reference, candidate: Array) -> None:
        self.seen += 1
        if candidate.shape != one.value.shape or candidate.dtype != one.value.dtype:
            self.passes = dict.fromkeys(self.passes, False)
            self.distance, self.beyond_bounds, self.caught_below = Distance(False, *[np.inf] * 4), True, np.inf
            return
        asked = self.bench.asked(position)
        pair = self.bench.at(self.bench.judged, position)
        here = measure(one, candidate, list(asked.values()), 0.0 if pair is None else pair[1])
        for name, refused in zip(asked, here.refused):
            self.passes[name] &= not refused
            if name == self.bench.judged and candidate.size:
                self.outside = max(self.outside, refused / candidate.size)
        self.distance = here.distance if self.seen == 1 else self.distance.worse(here.distance)
        if pair is not None:
            self.atol = max(self.atol, pair[1])
            self.caught_below = max(self.caught_below, here.needed)
        self.beyond_bounds |= not here.distance.identical and here.beyond["worst"] > 0

    def trial(
        self, kind: Literal["null", "mutant", "side"], name: str, what: str, same_terms: Callable[[], bool]
    ) -> Trial:
        return Trial(
            kind,
            name,
            what,
            self._status(same_terms),
            self.passes,
            self.distance,
            self.caught_below,
            self.atol,
            self.outside,
            self.beyond_bounds,
        )

    def _status(self, same_terms: Callable[[], bool]) -> Status:
        if self.distance.identical:
            return "equivalent" if same_terms() else "unseen"
        if self.passes["worst"] and not self.beyond_bounds and same_terms():
            return "permitted"
        if not self.passes[self.bench.judged]:
            return "caught"
        return "inseparable" if self.passes["worst"] and self.passes["expected"] else "passes"


def first_refused(
    bench: Bench, name: str, found: Sequence[Reference], outputs: Sequence[Array], draw: str, order: str
) -> Failing | None:
    """The element that is furthest beyond the tolerance called ``name``."""
    for position, (one, candidate) in enumerate(zip(found, outputs, strict=True)):
        refused, pair = bench.refused(name, position, one, candidate), bench.at(name, position)
        if not refused.any() or pair is None:
            continue
        x, y = candidate.astype(np.float64), one.value.astype(np.float64)
        with np.errstate(invalid="ignore"):
            over = np.where(refused, np.nan_to_num(np.abs(x - y) - pair[1] - pair[0] * np.abs(y), nan=np.inf), -np.inf)
        index = tuple(int(i) for i in np.unravel_index(int(np.argmax(over)), over.shape))
        allowed = pair[1] + pair[0] * abs(float(y[index]))
        return Failing(one.name, index, float(x[index]), float(y[index]), allowed, draw, order)
    return None
