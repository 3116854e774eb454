"""The symbols that polynomials are made of: what each stands for, and what is known of it.

A name stands for a fraction of earlier symbols and can be put back (``value``); a root's square is known (``square``);
a truth value is 0 or 1; all others are free.  Symbols are numbered in order of creation.  Must not know arithmetic.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from flint import fmpq

Monomial = tuple[int, ...]  # symbols in ascending order, as often as they occur
Term = tuple[int, Monomial]  # (number in Laurents, symbols)
Poly = dict[Term, fmpq]

UNIT: Term = (0, ())


@dataclass(eq=False, slots=True)
class Value:
    """``num`` over the product of the symbols ``den``; never changed once made."""

    num: Poly
    den: Monomial = ()
    residue: int | None = None  # at a random point of Z/P, once asked for
    number: int | None = None  # among equal values, once asked for


@dataclass(eq=False, slots=True)
class Symbol:
    """``pure``: can be divided by, as neither roots nor truth values are in it.  ``positive``: for every input."""

    kind: str
    key: Hashable
    residue: int
    pure: bool = True
    positive: bool = False
    value: Value | None = None
    square: Value | None = None
    members: tuple[int, ...] = ()  # numbers of the values that an extremum is taken of
    argument: Value | None = None
    support: frozenset = frozenset()  # of a name: free symbols (and bases, below 0) in what it stands for


class Infinite:
    """Minus or plus infinity, as literals bring it in."""

    def __init__(self, sign: int) -> None:
        self.sign = sign


MINUS, PLUS = Infinite(-1), Infinite(1)
Number = Value | Infinite


class Uncertain(Exception):
    """Something that is not brought to a canonical form; ``str`` says what."""


class TooLarge(Uncertain):
    """A form with more terms than are worked on, or no time left."""


@dataclass(slots=True)
class Budget:
    """``deadline`` by time.monotonic(); ``terms``: products of so many terms are not made."""

    deadline: float
    terms: int = 2_000_000
    notes: dict[str, None] = field(default_factory=dict)  # assumptions used on the way
