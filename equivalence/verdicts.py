"""The one vocabulary of verdicts, and the records a comparison ends in (plain data: judged here, rendered elsewhere).

Takes nothing; gives Level, Verdict and every part of a Report.  Must not know any framework, IR or renderer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from functools import total_ordering
from typing import TYPE_CHECKING, Any, Literal

from lowering.errors import Span

if TYPE_CHECKING:  # the words must be cheap to import: `irverify --help` reads them
    import numpy as np


@total_ordering
class Level(Enum):
    """How much two programs agree, strongest first.  ``a < b`` reads "a says less good than b"."""

    BITWISE = "bitwise"
    REASSOCIATED = "reassociated"
    REAL = "real"
    CLOSE = "close"
    TESTED = "tested"
    UNDECIDED = "undecided"
    UNSUPPORTED = "unsupported"
    DIFFERENT = "different"

    @property
    def rank(self) -> int:
        """0 for the strongest level; a merge takes the largest."""
        return _ORDER.index(self)

    def __lt__(self, other: object) -> bool:
        return self.rank > other.rank if isinstance(other, Level) else NotImplemented

    def __str__(self) -> str:
        return self.value


_ORDER = tuple(Level)

Strength = Literal["certified", "evidence"]
Severity = Literal["note", "warning", "error"]


def worst(levels: Iterable[Level]) -> Level:
    """The level of a whole made of parts: any ``different`` makes it different, and so on down the vocabulary."""
    return max(levels, key=lambda level: level.rank, default=Level.UNDECIDED)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One judgement.  ``strength`` belongs to ``real``; ``delta`` to ``close``; ``n_inputs`` to ``tested``."""

    level: Level
    strength: Strength | None = None
    delta: float | None = None
    reason: str = ""
    site: Span | None = None
    n_inputs: int = 0

    @staticmethod
    def merge(parts: Iterable[Verdict]) -> Verdict:
        """Worst-of.  At ``real`` one mere evidence makes the whole evidence; ``close`` keeps the largest delta."""
        verdicts = list(parts)
        if not verdicts:
            return Verdict(Level.UNDECIDED, reason="there is no output to compare")
        return max(verdicts, key=lambda v: (v.level.rank, v.strength != "certified", v.delta or 0.0, -v.n_inputs))


@dataclass(frozen=True, slots=True)
class SpecialValue:
    """A difference that only NaN, infinities, overflow or the sign of zero show."""

    output: str
    input: str  # in words: "a NaN in x"
    value_a: float | str
    value_b: float | str
    message: str = ""
    index: tuple[int, ...] = ()
    bound: float = 0.0
    inputs: dict[str, Any] = field(default_factory=dict[str, Any], compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Plant:
    """Where a special value stands in an input: ``place`` is an index, 'row 0', 'everywhere' and the like."""

    input: str
    place: str
    value: float | str


@dataclass(frozen=True, slots=True)
class SpecialRow:
    """What one kind of special value does to one output, on both sides.

    ``status``: 'alike', 'differ', 'signs differ' (of a zero), 'open' (it follows what a source or a target leaves
    open; ``message`` says what), 'not run'.  ``outcome_a``, ``outcome_b``: against the given inputs, in words.  The
    values are those of the element ``index``: one that differs, else one that the special value reached.  ``inputs``
    replays it.
    """

    output: str
    kind: str  # "a NaN", "ties", ...
    input: str  # in words: "a NaN in x"
    status: str
    outcome_a: str = ""
    outcome_b: str = ""
    index: tuple[int, ...] = ()
    value_a: float | str = ""
    value_b: float | str = ""
    bound: float = 0.0
    message: str = ""
    plants: tuple[Plant, ...] = ()
    inputs: dict[str, Any] = field(default_factory=dict[str, Any], compare=False, repr=False)


Views = dict[str, tuple[tuple[int, ...], int]]  # by input: its strides and its offset, in elements


@dataclass(frozen=True, slots=True)
class LayoutResult:
    """The given values again, as views.  A side *strays* that gives something else than for contiguous arguments.

    ``status``: 'agree', 'a strays', 'b strays', 'a and b stray', 'refused' (a side raises; ``message`` says what),
    'not run' (irverify cannot, so nothing is known).
    """

    layout: str
    status: str
    views: Views = field(default_factory=dict[str, tuple[tuple[int, ...], int]])
    output: str = ""
    index: tuple[int, ...] = ()
    value_a: float | None = None
    value_b: float | None = None
    bound: float = 0.0
    message: str = ""
    inputs: dict[str, Any] = field(default_factory=dict[str, Any])
    span: Span | None = None

    @property
    def is_difference(self) -> bool:
        """Exactly one side strays."""
        return self.status in ("a strays", "b strays")


@dataclass(frozen=True, slots=True)
class Conditioning:
    """The condition number of an output's element of the largest error bound: Σ|terms| / |Σ terms| at ``span``.

    ``digits``: decimal digits that the output's format has; ``left``: those that such a cancellation leaves.
    """

    number: float
    span: Span | None
    digits: float
    left: float


@dataclass(slots=True)
class OutputResult:
    """One output compared: the largest distances seen, and how far each side can be from the real result."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    verdict: Verdict
    max_ulp: float | None = None
    max_abs: float | None = None
    max_rel: float | None = None
    bound_a: float | None = None
    bound_b: float | None = None
    freedoms: list[str] = field(default_factory=list[str])
    special_values: list[SpecialValue] = field(default_factory=list[SpecialValue])
    special_table: list[SpecialRow] = field(default_factory=list[SpecialRow])  # every kind, alike or not
    up_to: list[str] = field(default_factory=list[str])  # at `reassociated`: what the two are equal up to, in words
    condition_a: Conditioning | None = None
    condition_b: Conditioning | None = None


@dataclass(frozen=True, slots=True)
class Divergence:
    """The earliest pair of values that part, as a place in each source and a sentence of what differs."""

    a: Span | None
    b: Span | None
    what: str


@dataclass(slots=True)
class Witness:
    """Inputs on which the two programs differ, the element that shows it, and whose arithmetic replayed it."""

    inputs: dict[str, np.ndarray]
    index: tuple[int, ...]
    value_a: float | int | str
    value_b: float | int | str
    bound: float = 0.0
    replayed_by: str = "irverify's ieee evaluator"
    output: str = ""
    views: Views = field(default_factory=dict[str, tuple[tuple[int, ...], int]])  # empty: every input is contiguous


@dataclass(frozen=True, slots=True)
class Finding:
    """Something the reader should know, with a code that ``irverify explain`` expands."""

    code: str
    message: str
    span: Span | None = None
    severity: Severity = "warning"


@dataclass(frozen=True, slots=True)
class Check:
    """One guard on the verdict.  ``passed`` is None for a check that was not run to its end; ``detail`` says why.

    ``applies``: false where it has nothing to look at, so that nothing was left out.
    """

    name: str
    passed: bool | None
    detail: str = ""
    applies: bool = True


@dataclass(slots=True)
class Subject:
    """One side of the comparison: where it comes from and what was found in it."""

    file: str
    entry: str
    framework: str
    kernels: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class ShapeResult:
    """The level reached at one set of input shapes; ``note`` says why it counts or does not."""

    shapes: dict[str, tuple[int, ...]]
    level: Level
    note: str = ""


@dataclass(frozen=True, slots=True)
class OrderResult:
    """How one accumulation of an output element is added up on either side, and how the two orders are related.

    ``relation``: 'same', 'a refines b', 'b refines a', 'different', 'not deterministic', or '' where one side alone has
    such an accumulation.  ``same_terms``: both add the very same terms.  ``count``: how many of its kind A's element
    has.  ``shapes``: the set of shapes, in words, that the element belongs to.
    """

    output: str
    index: tuple[int, ...]
    a: str = ""
    b: str = ""
    relation: str = ""
    what: str = ""
    same_terms: bool = False
    count: int = 1
    place_a: Span | None = None
    place_b: Span | None = None
    shapes: str = ""


@dataclass(slots=True)
class Report:
    """All a comparison has to say.  The tool fills ``exit_code`` and ``require``, the judge the rest."""

    verdict: Verdict
    outputs: list[OutputResult] = field(default_factory=list[OutputResult])
    divergence: Divergence | None = None
    witness: Witness | None = None
    assumptions: list[str] = field(default_factory=list[str])
    checks: list[Check] = field(default_factory=list[Check])
    findings: list[Finding] = field(default_factory=list[Finding])
    timings: dict[str, float] = field(default_factory=dict[str, float])  # seconds by phase, in order
    subjects: tuple[Subject, Subject] | None = None
    shapes: list[ShapeResult] = field(default_factory=list[ShapeResult])
    layouts: list[LayoutResult] = field(default_factory=list[LayoutResult])
    orders: list[OrderResult] = field(default_factory=list[OrderResult])
    exit_code: int = 0
    require: Level = Level.REAL
    version: str = ""

    @property
    def special_values(self) -> list[SpecialValue]:
        """Every special-value difference of every output, in order."""
        return [special for output in self.outputs for special in output.special_values]

    @property
    def special_table(self) -> list[SpecialRow]:
        """What every kind of special value does to every output, in order."""
        return [row for output in self.outputs for row in output.special_table]
