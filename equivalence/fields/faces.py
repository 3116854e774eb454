"""Takes marked words, gives what they add to a multiset: one pass each for what `reassociated` does to every lane.

Bits 62 and 63 of a word are its mark: what it is a multiset under, 0 for one term.  A word under the wanted mark is
its own contribution; any other one is multiplied by the key of the accumulation.  Must not know what marks stand for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from equivalence.fields import threads
from equivalence.fields.scalar61 import Word, add61, mul61, word

Words = NDArray[np.uint64]
KIND = np.uint64(3 << 62)
_ZERO = np.uint64(0)
_IN, _OUT = types.Array(types.uint64, 1, "C", readonly=True), types.Array(types.uint64, 1, "C")
_INT, _U = types.int64, types.uint64


@njit(inline="always")
def _contribution(x: Word, key: Word, mark: Word) -> Word:
    return word(x) if x & KIND == mark else mul61(word(x), key)


@njit(inline="always")
def _is_foreign(x: Word, mark: Word) -> Any:
    kind = x & KIND
    return (kind != _ZERO) & (kind != mark)


@njit(types.void(_U, _U, _OUT, _IN, _INT, _OUT, _INT, _INT), nogil=True, cache=True)
def _contributions(key: Word, mark: Word, seen: Words, a: Words, sa: int, out: Words, lo: int, hi: int) -> None:
    """seen[0] is set where a word is a multiset under another mark: the result means nothing then."""
    foreign = False
    for i in range(lo, hi):
        x = a[i * sa]
        foreign |= _is_foreign(x, mark)
        out[i] = _contribution(x, key, mark)
    if foreign:
        seen[0] = np.uint64(1)


@njit(types.void(_U, _U, _OUT, _IN, _INT, _IN, _INT, _OUT, _INT, _INT), nogil=True, cache=True)
def _accumulated(
    key: Word, mark: Word, seen: Words, a: Words, sa: int, b: Words, sb: int, out: Words, lo: int, hi: int
) -> None:
    foreign = False
    for i in range(lo, hi):
        x, y = a[i * sa], b[i * sb]
        foreign |= _is_foreign(x, mark) | _is_foreign(y, mark)
        out[i] = add61(_contribution(x, key, mark), _contribution(y, key, mark)) | mark
    if foreign:
        seen[0] = np.uint64(1)


@njit(types.boolean(_IN, _U), nogil=True, cache=True)
def _any_set(a: Words, bits: Word) -> bool:
    """In blocks: a loop without an exit is one that vectorises."""
    for lo in range(0, a.size, 4096):
        seen = _ZERO
        for i in range(lo, min(lo + 4096, a.size)):
            seen |= a[i]
        if seen & bits:
            return True
    return False


def _flat(a: Words) -> Words:
    return np.ascontiguousarray(a).reshape(-1)


def any_set(a: Words, bits: Any) -> bool:
    """Whether a word has one of ``bits``."""
    return bool(_any_set(_flat(a), np.uint64(bits)))


def contributions(a: Words, key: Any, mark: Any) -> Words | None:
    """What each word adds, unmarked; the shape of ``a``.  None where a word is a multiset under another mark."""
    seen = np.zeros(1, np.uint64)
    out = threads.elementwise(_contributions, [np.uint64(key), np.uint64(mark), seen], [a], np.uint64)[0]
    return None if seen[0] else out


def accumulated(a: Words, b: Words, key: Any, mark: Any) -> Words | None:
    """The multiset of both, marked; broadcast.  None where a word is a multiset under another mark."""
    seen = np.zeros(1, np.uint64)
    out = threads.elementwise(_accumulated, [np.uint64(key), np.uint64(mark), seen], [a, b], np.uint64)[0]
    return None if seen[0] else out


__all__ = ["KIND", "accumulated", "any_set", "contributions"]
