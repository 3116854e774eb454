"""Decision sites of `real`: which outcomes of every comparison, choice and extremum were seen (SEMANTICS §5).

Takes masks of outcomes; gives SiteRecords and what is missing.  While ``traced``, an outcome is only seen once it has
reached an output or steered control (real_reached); else where it occurs.  Must not know fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equivalence.evaluator.lanes import Lanes
from equivalence.interpretations.base import Site
from equivalence.interpretations.real_cell import Array
from lowering.errors import UNKNOWN_SPAN, Span

#: What the bits of ``seen`` mean, by kind of site.
OUTCOMES: dict[str, tuple[str, ...]] = {
    "max": ("the left operand is larger", "the right operand is larger"),
    "min": ("the left operand is smaller", "the right operand is smaller"),
    "cmp": ("true", "false"),
    "select": ("the first value is taken", "the second value is taken"),
    "choice": ("the first integer is taken", "the second integer is taken"),  # by a condition on integers
    "abs": ("a negative operand", "a positive operand"),
    "saturation": ("in range", "above the range", "below the range"),
    "extremum": ("the first lane wins", "the last lane wins", "an inner lane wins", "a literal lane wins",
                 "each lane wins"),
    "place": ("the first lane is named", "the last lane is named", "an inner lane is named", "a literal lane is named",
              "each lane is named"),
    "sort": ("the first lane moves", "the last lane moves", "each lane comes first", "each lane comes last"),
}  # fmt: skip
#: Outcomes that all lanes along the axis must have had, one or another time, by kind of site.
EVERY = {"extremum": (16,), "place": (16,), "sort": (4, 8)}
#: Literal operands of one operation that are told apart; a clamp in one lane is not seen by a clamp in another one.
MOST_CLASSES, REST = 64, "|and others"


@dataclass(slots=True)
class SiteRecord:
    """``seen``: a bit for each outcome of OUTCOMES[kind]; ``possible``: those that can happen at all.

    ``excluded``: those that no input brings to an output (real_regions).
    ``turns``: (outcome, visit in a run) -> the lanes along the axis that take part, and those that had the outcome.
    """

    kind: str
    span: Span = UNKNOWN_SPAN
    seen: int = 0
    possible: int = 0
    excluded: int = 0
    key: str = ""  # of the site, for all literal operands
    turns: dict[tuple[int, int], tuple[Array, Array]] = field(default_factory=dict)

    @property
    def chooses(self) -> bool:
        """Whether the site chooses a value, which ``free`` can replace by an arbitrary one."""
        return self.kind in ("max", "min", "abs", "extremum", "choice")

    @property
    def happened(self) -> int:
        """``seen``, and the outcomes that every lane has had."""
        total = self.seen
        for bit in EVERY.get(self.kind, ()):
            turns = [t for (outcome, _), t in self.turns.items() if outcome == bit]
            total |= bit if all(bool((had | ~takes).all()) for takes, had in turns) else 0
        return total

    def missing(self) -> list[str]:
        return [OUTCOMES[self.kind][k] for k in self.missing_numbers()]

    def missing_numbers(self) -> list[int]:
        open_outcomes = self.possible & ~self.happened & ~self.excluded
        return [k for k in range(len(OUTCOMES[self.kind])) if open_outcomes & 1 << k]

    def turn(self, outcome: int, visit: int, takes: Array, had: Array) -> None:
        """Lanes that take part and lanes that had the outcome, in one visit."""
        if (outcome, visit) in self.turns:
            before = self.turns[outcome, visit]
            takes, had = before[0] | takes, before[1] | had
        self.possible |= outcome
        self.turns[outcome, visit] = takes, had


FOLLOWED = "followed"  # the plane of real_followed
Snapshot = dict[str, tuple[int, dict[tuple[int, int], tuple[Array, Array]]]]


class Sites(dict[str, SiteRecord]):
    """Records by "side|site key|kind|span".  ``side`` is set by whoever runs two programs, before each run.

    ``off``: nothing is recorded.  ``fresh`` and ``choice`` are what the last operation decided, for real_reached.
    """

    def __init__(self) -> None:
        super().__init__()
        self.off = self.traced = False
        self.before = 0  # outcomes that the first run has found
        self.steering: set[str] = set()  # keys of sites that control has followed: they are never dismissed
        self.fresh: list[tuple[int, Array]] = []
        self.choice: tuple[Any, ...] | None = None
        self.sides_of: dict[str, tuple[bytes, str]] = {}  # comparisons with a literal: of what, and 'above' or 'below'
        self.origins: dict[str, str] = {}  # selections, and the comparison that decides them
        self._side = ""
        self._bits: dict[str, dict[tuple[str, int], int]] = {}
        self._visits: Counter[str] = Counter()

    @property
    def side(self) -> str:
        return self._side

    @side.setter
    def side(self, side: str) -> None:
        self._side = side
        self._visits.clear()

    def key(self, site: Site, kind: str) -> str:
        return f"{self.side}|{site.key}|{kind}|{site.span}"

    def settled(self, site: Site, kind: str) -> bool:
        """Whether nothing more can be learned at this site."""
        if self.off:
            return True
        record = self.get(self.key(site, kind))
        return record is not None and not record.turns and record.seen == (1 << len(OUTCOMES[kind])) - 1

    def record(
        self,
        site: Site,
        kind: str,
        counted: Array,
        outcomes: Sequence[Array],
        lanes: Sequence[Lanes],
        literal: Array | None = None,
    ) -> None:
        """Notes which ``outcomes`` occur on ``counted`` lanes of running instances whose operands are defined.

        ``literal``: the literal operand of each lane (NaN: none), where lanes have different ones.
        """
        if self.off or not all(outcome.size for outcome in outcomes):  # of an empty array nothing is decided
            return
        counted = self.running(site, counted, lanes)
        if not counted.any():
            return
        for label, within in self._classes(literal):
            here = counted & within
            if here.any():
                if label == REST:  # too many to be told apart: nothing counts as seen
                    self.note(site, kind, (1 << len(outcomes)) - 1, [], label)
                    continue
                masks = [outcome & here for outcome in outcomes]
                self.note(site, kind, (1 << len(outcomes)) - 1, masks, label)

    @staticmethod
    def _classes(literal: Array | None) -> list[tuple[str, Array]]:
        if literal is None:
            return [("", np.ones((), bool))]
        values = np.unique(literal[~np.isnan(literal)])
        alone = values[:MOST_CLASSES]
        classes = [(f"|{value:.9g}", literal == value) for value in alone]
        rest = ~np.isin(literal, alone) & ~np.isnan(literal)
        classes += [(REST, rest)] if rest.any() else []
        return [*classes, ("", np.isnan(literal))] if np.isnan(literal).any() else classes

    def note(self, site: Site, kind: str, possible: int, masks: Sequence[Array], label: str = "") -> SiteRecord:
        """Outcomes that are possible, and the lanes of the result that have each."""
        key = self.key(site, kind) + label
        record = self.setdefault(key, SiteRecord(kind, site.span, key=self.key(site, kind)))
        record.possible |= possible
        for k, mask in enumerate(masks):
            if record.seen >> k & 1 or not mask.any():
                continue
            if self.traced and kind != "choice":  # that integers make: nothing steers them
                self.fresh.append((self._bit(key, k), mask))
            else:
                record.seen |= 1 << k
        return record

    def snapshot(self) -> Snapshot:
        """What has been seen so far."""
        return {key: (record.seen, dict(record.turns)) for key, record in self.items()}

    def restore(self, before: Snapshot) -> None:
        """Forgets what was seen since; that an outcome can happen at all is kept."""
        for key, record in self.items():
            record.seen, turns = before.get(key, (0, {}))
            record.turns = dict(turns)

    def meets(self, site: Site, kind: str, counted: Array, lanes: Sequence[Lanes]) -> str | None:
        """The site's key, where a decision on ``counted`` lanes goes by what a trial has replaced."""
        for x in lanes:
            plane = (x.planes or {}).get(FOLLOWED)
            if plane is not None and plane.any() and (counted & (plane != 0)).any():
                return self.key(site, kind)
        return None

    def visit(self, site: Site, kind: str) -> int:
        """How often this run has come to the site before."""
        key = self.key(site, kind)
        self._visits[key] += 1
        return self._visits[key] - 1

    def turns_of(self, key: str) -> int:
        """A number that differs from one call to the next."""
        self._visits[f"{key} turned"] += 1
        return self._visits[f"{key} turned"]

    # -- what reaches an output ----------------------------------------------------------------------------------

    def _bit(self, key: str, k: int) -> int:
        bits = self._bits.setdefault(self.side, {})
        return bits.setdefault((key, k), len(bits))

    def trace(self) -> None:
        """From now on an outcome must reach an output; what has occurred is forgotten.

        What was learnt of either side's values then holds for both.
        """
        self.traced, self.before = True, self.outcomes()
        for record in self.values():
            record.seen = record.possible = 0
            record.turns.clear()

    def outcomes(self) -> int:
        """Outcomes that can happen on one side, at most."""
        sides = Counter[str]()
        for key, record in self.items():
            sides[key.split("|", 1)[0]] += record.possible.bit_count()
        return max(sides.values(), default=0)

    def take(self) -> tuple[list[tuple[int, Array]], tuple[Any, ...] | None]:
        """What the last operation decided, once."""
        fresh, choice = self.fresh, self.choice
        self.fresh, self.choice = [], None
        return fresh, choice

    def steer(self, words: Sequence[int]) -> None:
        """Sites whose outcomes steered control: a branch follows the concrete value, which freeing one cannot move."""
        self.steering |= {self[key].key for key in self._within(words)}

    def _within(self, words: Sequence[int]) -> set[str]:
        """Records of the current side with an outcome whose bit is set."""
        bits = self._bits.get(self.side, {})
        return {key for (key, _), b in bits.items() if b // 64 < len(words) and words[b // 64] >> b % 64 & 1}

    def reach(self, words: Sequence[int]) -> None:
        """Marks as seen the outcomes of the current side whose bit is set in ``words`` of 64 bits."""
        for (key, k), bit in self._bits.get(self.side, {}).items():
            if bit // 64 < len(words) and words[bit // 64] >> bit % 64 & 1:
                self[key].seen |= 1 << k

    @staticmethod
    def running(site: Site, counted: Array, lanes: Sequence[Lanes]) -> Array:
        for x in lanes:
            poison = (x.planes or {}).get("poison")
            if poison is not None and poison.any():
                counted = counted & (poison == 0)
        if site.active is not None:
            active = site.active.reshape(-1, *([1] * (counted.ndim - 1)))
            counted = counted & active if active.any() else np.zeros((1,) * counted.ndim, bool)
        return counted

    def dismiss(self, keys: Container[str]) -> None:
        """No unseen outcome of these sites matters."""
        for record in self.values():
            if record.key in keys:
                record.possible = 0

    def exclude(self, outcomes: Iterable[tuple[str, int]]) -> None:
        """No input brings these outcomes, by the key of their site, to an output."""
        for key, k in outcomes:
            for record in self.values():
                if record.key == key:
                    record.excluded |= 1 << k

    def open_sites(self, *kinds: str) -> set[str]:
        """Sites of these kinds (without any: those that choose a value) with an outcome that never happened."""
        wanted = (r for r in self.values() if (r.kind in kinds if kinds else r.chooses))
        return {record.key for record in wanted if record.missing()}

    def unmet(self) -> list[float]:
        """Literals, other than 0, that a value was never above, or never below."""
        labels = {key[len(r.key) :]: None for key, r in self.items() if r.kind in ("max", "min", "cmp") and r.missing()}
        literals = [float(label[1:]) for label in labels if label and label != REST]
        return [value for value in literals if value != 0 and np.isfinite(value)]

    def unseen(self) -> list[tuple[str, str, Span]]:
        """(site key, outcome, where) of everything that never happened."""
        return [
            (key, what, record.span)
            for key, record in self.items()
            for what in record.missing()
            if not self._only_between(record, what)
        ]

    def _only_between(self, record: SiteRecord, what: str) -> bool:
        """Whether an outcome is hidden but where a value is the literal: x < c is false beside an x > c that is false.

        sign(x) as where(x > 0, 1, where(x < 0, -1, 0)); ties are left to the tests.
        """
        if what != OUTCOMES[record.kind][-1] or record.kind not in ("cmp", "select"):
            return False
        own = record.key if record.kind == "cmp" else self.origins.get(record.key, "")
        known = self.sides_of.get(own)
        if known is None:
            return False
        side, opposite = own.split("|", 1)[0], (known[0], "below" if known[1] == "above" else "above")
        others = (r for r in self.values() if r.kind == "cmp" and r.key != own and r.key.split("|", 1)[0] == side)
        return any(other.seen & 1 and self.sides_of.get(other.key) == opposite for other in others)
