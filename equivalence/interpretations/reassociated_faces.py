"""Faces of `reassociated`: values as multisets of closed terms, and how a value is closed.

Gives Faces, the base of the interpretation; bits 62 and 63 of a word hold what the face is a multiset under.
"""

from __future__ import annotations

import numpy as np

from equivalence.evaluator.lanes import NONE, Lanes, Planes
from equivalence.fields import faces
from equivalence.fields.mersenne import MASK
from equivalence.interpretations.base import Site, tag
from equivalence.interpretations.hashed import LITERAL, Hashed, Words, as_float

KIND = faces.KIND
SUM, MAX, MIN = np.uint64(1 << 62), np.uint64(2 << 62), np.uint64(3 << 62)
MULTISET = {"add": SUM, "max": MAX, "min": MIN}


def mark_of(words: Words) -> Words:
    """What the face is a multiset under, as a small number that can be hashed."""
    return (words & KIND) >> np.uint64(62)


class Faces(Hashed):
    """Words as faces."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._negation = np.uint64(self.mixer.leaf(tag("negation"), "mask") & int(MASK))

    def closed(self, lanes: Lanes) -> Words:
        """The operand as others see it: a hash of its face; a literal zero is 0, so that products with it vanish."""
        words = self.word(lanes)
        sealed = self.mixer.seal(tag("closed"), words)
        zero = self._zeros(lanes)
        if zero is not None:
            sealed = np.where(zero, np.uint64(0), sealed)
            self.assumed.add("the sign of zero: literal zeros were dropped from sums and products")
        return sealed

    def _zeros(self, lanes: Lanes) -> np.ndarray | None:
        """Mask of literal zeros, or None."""
        return self.literal_is(lanes, 0.0) if lanes.literal != NONE and lanes.dtype.is_float else None

    def term_key(self, kind: str, lanes: Lanes) -> np.uint64:
        return np.uint64(self.mixer.leaf(tag("face"), f"{kind}:{lanes.dtype}"))

    def face(self, kind: str, lanes: Lanes, out: Lanes) -> Words:
        """The operand's contribution to a multiset: its own terms, or itself times the key; literal neutrals are 0."""
        words, mark, key = self.word(lanes), MULTISET[kind], self.term_key(kind, out)
        contribution = faces.contributions(words, key, mark)
        if contribution is None:
            contribution = faces.contributions(self._own_kind(words, mark), key, mark)
        assert contribution is not None
        neutral = self._neutral(kind, lanes)
        return contribution if neutral is None else np.where(neutral, np.uint64(0), contribution)

    def _own_kind(self, words: Words, mark: np.uint64) -> Words:
        """A sum inside a maximum is one term: unclosed, max(a+b, c+d) would be max(a+c, b+d)."""
        kinds = words & KIND
        return np.where((kinds != 0) & (kinds != mark), self.mix("face of another kind", words, mark_of(words)), words)

    def _neutral(self, kind: str, lanes: Lanes) -> np.ndarray | None:
        value = {"add": 0.0, "max": float("-inf"), "min": float("inf")}[kind]
        mask = self.literal_is(lanes, value)
        if mask is not None and kind == "add":
            self.assumed.add("the sign of zero: literal zeros were dropped from sums and products")
        return mask

    def accumulate(self, kind: str, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Planes:
        """a (+|max|min) b as multisets; next to a neutral literal the other operand stays what it is."""
        mark, key = MULTISET[kind], self.term_key(kind, out)
        words = faces.accumulated(self.word(a), self.word(b), key, mark)
        if words is None:
            mine, theirs = (self._own_kind(self.word(x), mark) for x in (a, b))
            words = faces.accumulated(mine, theirs, key, mark)
        assert words is not None
        for one, other in ((a, b), (b, a)):
            words = self.replace(words, self._neutral(kind, one), self.word(other))
        for one in (a, b):
            words = self._absorbed(kind, one, words)
        return self.settle(site, out, (a, b), words)

    def _absorbed(self, kind: str, lanes: Lanes, words: Words) -> Words:
        """A literal infinity swallows every finite addend; -inf is the least, +inf the greatest."""
        mask = self.where_literal(lanes, self.word(lanes))
        if mask is None or not lanes.dtype.is_float:
            return words
        data = as_float(lanes.data)
        swallow = {"add": np.isinf(data), "max": data == np.inf, "min": data == -np.inf}[kind]
        swallow = swallow & mask
        return np.where(swallow, self.word(lanes), words) if swallow.any() else words

    # -- closing -------------------------------------------------------------------------------------------------

    def mix_closed(self, text: str, *args: Lanes) -> Words:
        """A hash of the operands as others see them."""
        if len(args) <= 2 and all(self._zeros(a) is None for a in args):
            return self.mixer.mix_sealed(tag("closed"), tag(text), *(self.word(a) for a in args))
        return self.mix(text, *(self.closed(a) for a in args))

    def _sealed(self, lanes: Lanes) -> Words:
        """Closed without the zero rule: in a comparison or a select a literal zero is a value like any other."""
        words = self.word(lanes)
        return self.mixer.seal(tag("closed"), words) if lanes.dtype.is_float else words

    def negated(self, b: Lanes) -> Lanes:
        """-b as one term: an involution on closed words that no sum in the ring can undo."""
        words = self.word(b)
        single = (words & KIND) == 0
        sealed = (
            words & MASK
            if single.all()
            else np.where(single, words & MASK, self.mix("closed sum", words, mark_of(words)))
        )
        negative = self._involution(sealed)
        if b.literal != NONE:
            literal = self.where_literal(b, words)
            if literal is not None:
                flipped = self.literal_word(-b.data, b) | LITERAL
                negative = np.where(literal, flipped, negative)
        with np.errstate(all="ignore"):
            return b.replace(data=-b.data, planes={self.plane: negative})

    def _involution(self, words: Words) -> Words:
        """An invertible scramble, a mask, and the scramble undone: -(-x) = x, and x + (-x) is not zero."""
        return unscramble((scramble(words) ^ self._negation) & MASK)


_ODD = 0x1D8E4E27C47D124F & int(MASK) | 1
_INVERSE = pow(_ODD, -1, 1 << 61)


def scramble(words: Words) -> Words:
    """An invertible map of 61-bit words (odd multiplication modulo 2^61 and a shift)."""
    x = ((words & MASK) * np.uint64(_ODD)) & MASK
    return x ^ (x >> np.uint64(31))


def unscramble(words: Words) -> Words:
    """The inverse of scramble."""
    x = words ^ (words >> np.uint64(31))
    return (x * np.uint64(_INVERSE)) & MASK


__all__ = ["KIND", "MULTISET", "SUM", "Faces", "mark_of"]
