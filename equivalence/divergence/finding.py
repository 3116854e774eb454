"""What a rule sees and what it says: Context (two sides at one output element) and Explanation.

Gives the vocabulary that the rules share.  Holds no rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from equivalence.divergence.cone import Side
from equivalence.divergence.node import Node
from equivalence.divergence.trace import Edit
from equivalence.verdicts import Divergence
from lowering.errors import UNKNOWN_SPAN, Span
from lowering.ir.program import Program

KINDS = (
    "mask", "constant", "index", "cast", "accumulator", "missing-term", "order", "eps", "function", "nan",
    "padding", "dtype", "other",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Explanation(Divergence):
    """A Divergence with its kind, one of KINDS."""

    kind: str = "other"


class Repaired(Protocol):
    """Whether B's output agrees with A's, everywhere or at the element, with a changed program or an edited op."""

    def __call__(self, program: Program, edit: Edit | None = None, everywhere: bool = True) -> bool: ...


@dataclass(eq=False, slots=True)
class Context:
    """Both sides at output ``name``[``element``].  ``repaired``: whether a changed B agrees with A."""

    a: Side
    b: Side
    name: str
    element: tuple[int, ...]
    by_value: bool
    gap: float  # distance of the two values there, relative to the output's largest
    repaired: Repaired
    same_function: bool = False  # whether the verdict says that only roundings and orders differ
    front_a: list[Node] = field(default_factory=list)
    front_b: list[Node] = field(default_factory=list)
    missing: list[Node] = field(default_factory=list)  # input elements that only A's result depends on
    extra: list[Node] = field(default_factory=list)  # input elements that only B's result depends on
    spent: int = 0  # lanes evaluated by counterfactual runs so far

    def first_a(self) -> Node | None:
        return _first(self.front_a)

    def first_b(self) -> Node | None:
        return _first(self.front_b)

    @property
    def root_a(self) -> Node:
        return Node(self.a, self.a.root)

    @property
    def root_b(self) -> Node:
        return Node(self.b, self.b.root)


def _first(front: list[Node]) -> Node | None:
    """An operation before an element that was read."""
    return next((n for n in front if n.name != "input"), front[0] if front else None)


Rule = Callable[[Context], Explanation | None]


def nodes(side: Side, flags: np.ndarray) -> list[Node]:
    """The lanes of the cone where the flags hold, in order of execution."""
    return [Node(side, int(n)) for n in np.flatnonzero(side.cone & flags)]


def place(span: Span | None) -> Span | None:
    return None if span is None or span == UNKNOWN_SPAN else span


def said(kind: str, a: Span | None, b: Span | None, what: str) -> Explanation:
    return Explanation(place(a), place(b), what, kind)


def number(value: float) -> str:
    """A constant as one would write it."""
    return f"{value:.7g}"
