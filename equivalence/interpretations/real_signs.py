"""What the real values of lanes are known to be for every input: not negative, not zero.

Squares, exponentials, roots, sums and products of such: so that a guard that no input meets (a sum of exponentials that
is 0, a variance below 0) need not be seen.  A fact travels by residue, too: the variance that one side clamps is the
other side's mean of squares.  Gives mark bits and what decisions follow.  Must not know KIR.
"""

from __future__ import annotations

import numpy as np

from equivalence.interpretations.real_cell import (
    BOTH,
    CONCRETE,
    LITERAL,
    NONNEG,
    NONZERO,
    PURE,
    WHOLE,
    Array,
    Cell,
    flag,
)

FACTS = NONNEG | NONZERO
#: What does not hold of a choice because it holds of the operand that is chosen.
REGIONAL = FACTS | PURE
_MOST = 1 << 14  # lanes of one value whose facts are remembered by residue
_MOST_ALL = 1 << 20


def facts(x: Cell) -> Array:
    """The bits of every lane; a literal is what it is."""
    known = x.mark & FACTS
    if not x.has(LITERAL):
        return known
    literal = (x.mark & LITERAL) != 0
    return (
        known | flag(literal & (x.sample >= 0), NONNEG) | flag(literal & (x.sample != 0) & ~np.isnan(x.sample), NONZERO)
    )


def product(a: Cell, b: Cell) -> Array:
    """A square is not negative."""
    both = facts(a) & facts(b)
    if a.v is b.v and a.w is b.w and a.mark is b.mark:
        both = both | flag((a.mark & BOTH) != 0, NONNEG)
    return both


def added(a: Cell, b: Cell) -> Array:
    return _sum(facts(a) & facts(b), facts(a) | facts(b))


def added_along(a: Cell, axis: int) -> Array:
    bits = facts(a)
    return _sum(np.bitwise_and.reduce(bits, axis=axis), np.bitwise_or.reduce(bits, axis=axis))


def _sum(every: Array, some: Array) -> Array:
    """Of numbers that are not negative, one of which is not zero."""
    nonneg = every & NONNEG
    return nonneg | np.where(nonneg != 0, some & NONZERO, np.uint32(0))


def larger(every: Array, positive: Array, nonneg: Array) -> Array:
    """Of a maximum: by what all operands have, and whether some operand is positive, or not negative."""
    return every | flag(nonneg, NONNEG) | flag(positive, FACTS)


def of_max(a: Cell, b: Cell) -> Array:
    x, y = facts(a), facts(b)
    return larger(x & y, (x & FACTS == FACTS) | (y & FACTS == FACTS), ((x | y) & NONNEG) != 0)


def of_max_along(a: Cell, axis: int) -> Array:
    bits = facts(a)
    every = np.bitwise_and.reduce(bits, axis=axis)
    positive = np.logical_or.reduce((bits & FACTS) == FACTS, axis=axis)
    return larger(every, positive, (np.bitwise_or.reduce(bits, axis=axis) & NONNEG) != 0)


class KnownSigns:
    """Facts by residue, for one Real."""

    def __init__(self) -> None:
        self._by_fact: dict[int, set[int]] = {int(NONNEG): set(), int(NONZERO): set()}
        self._count = 0

    def learn(self, x: Cell) -> None:
        """Remembers the lanes of a value that have both residues."""
        if x.mark.size == 1 and not x.has(FACTS):
            return
        shape = np.broadcast_shapes(x.v.shape, x.w.shape, x.mark.shape)
        if int(np.prod(shape)) > _MOST or self._count > _MOST_ALL:
            return
        words, mark = _words(x, shape)
        for bit, known in self._by_fact.items():
            has = ((mark & bit) != 0) & _comparable(mark)
            known.update(words[has].tolist())
        self._count += words.size

    def recall(self, x: Cell) -> Array:
        """Facts of lanes, where some value with the same residues had them."""
        shape = np.broadcast_shapes(x.v.shape, x.w.shape, x.mark.shape)
        bits = facts(x)
        if int(np.prod(shape)) > _MOST or not any(self._by_fact.values()):
            return bits
        words, mark = _words(x, shape)
        candidates = words.ravel().tolist()
        for bit, known in self._by_fact.items():
            hit = np.fromiter((word in known for word in candidates), bool, len(candidates)).reshape(shape)
            bits = bits | flag(hit & _comparable(mark), np.uint32(bit))
        return bits


def _comparable(mark: Array) -> Array:
    """Lanes whose residues stand for one function everywhere: a count that is 5 here is not another count of 5."""
    return ((mark & (BOTH | PURE)) == (BOTH | PURE)) & ((mark & (LITERAL | CONCRETE)) == 0)


def _words(x: Cell, shape: tuple[int, ...]) -> tuple[Array, Array]:
    v, w, mark = (np.broadcast_to(plane, shape) for plane in (x.v, x.w, x.mark))
    return (v.astype(np.uint64) << np.uint64(32)) | w, mark


def never_below(x: Cell, bits: Array, y: Cell) -> Array:
    """Lanes where x >= y for every input: y a literal at most 0, or at most 1 and x a positive whole number."""
    literal = ((y.mark & (LITERAL | BOTH)) != 0) & ((y.mark & LITERAL) != 0)
    nonneg = ((bits & NONNEG) != 0) & (y.sample <= 0)
    whole = ((bits & FACTS) == FACTS) & ((x.mark & (WHOLE | CONCRETE)) != 0) & (y.sample <= 1)
    return literal & (nonneg | whole)


def above(bits: Array, y: Cell) -> Array:
    """Lanes where x > y for every input, y a literal at most 0."""
    literal = (y.mark & LITERAL) != 0
    positive = ((bits & FACTS) == FACTS) & (y.sample <= 0)
    return literal & (positive | (((bits & NONNEG) != 0) & (y.sample < 0)))


__all__ = [
    "FACTS",
    "KnownSigns",
    "above",
    "added",
    "added_along",
    "facts",
    "never_below",
    "of_max",
    "of_max_along",
    "product",
]
