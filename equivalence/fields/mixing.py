"""Takes a tag and ring words, gives 61-bit hashes in [1, p): ordered, symmetric, or along an axis.

Must not know what a tag stands for. Each (seed, tag, arity) has a random key k (BLAKE2): tags and arities do not meet.
h = k; for each word x: h = scramble(h ^ x) + k; the last h is scrambled again and cut to 61 bits.

Proved: h is a bijection of each word when the others are fixed, so tuples that differ in one word meet only in the cut
(about 2^-58 once scrambled); {a, b} is hashed as (min, max), which fixes it; along an axis a sum of a_i*k_i mod p with
a random key per position, 1/p. Assumed: tuples chosen without knowledge of the keys that differ in more than one word
meet with probability near 2^-58 (scramble behaves as a random permutation), and outputs have no linear structure mod p.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import ArrayLike, NDArray

from equivalence.fields import threads
from equivalence.fields.scalar61 import P, Word, finish, mul61, scramble, word

_HALF = np.uint64(P // 2)
_MARKED = np.uint64(~(1 << 61) & (1 << 64) - 1)

Words = NDArray[np.uint64]
_U = np.uint64


_IN, _OUT = types.Array(types.uint64, 1, "C", readonly=True), types.Array(types.uint64, 1, "C")
_INT, _KEY = types.int64, types.uint64


@njit(inline="always")
def absorb(k: Word, h: Word, x: Word) -> Word:
    """One step of the ordered hash: state h takes in word x under key k."""
    return scramble(h ^ word(x)) + k


@njit(types.void(_KEY, _IN, _INT, _OUT, _INT, _INT), nogil=True, cache=True)
def _mix1(k: Word, a: Words, sa: int, out: Words, lo: int, hi: int) -> None:
    """Strides are 1 or 0 (an operand of one word); the plain loop is the one that vectorises."""
    if sa:
        for i in range(lo, hi):
            out[i] = finish(absorb(k, k, a[i]))
    else:
        out[lo:hi] = finish(absorb(k, k, a[0]))


@njit(types.void(_KEY, _IN, _INT, _IN, _INT, _OUT, _INT, _INT), nogil=True, cache=True)
def _mix2(k: Word, a: Words, sa: int, b: Words, sb: int, out: Words, lo: int, hi: int) -> None:
    if sa * sb:
        for i in range(lo, hi):
            out[i] = finish(absorb(k, absorb(k, k, a[i]), b[i]))
    else:
        for i in range(lo, hi):
            out[i] = finish(absorb(k, absorb(k, k, a[i * sa]), b[i * sb]))


@njit(types.void(_KEY, _IN, _INT, _IN, _INT, _OUT, _INT, _INT), nogil=True, cache=True)
def _mix_sym(k: Word, a: Words, sa: int, b: Words, sb: int, out: Words, lo: int, hi: int) -> None:
    if sa * sb:
        for i in range(lo, hi):
            x, y = word(a[i]), word(b[i])
            out[i] = finish(absorb(k, absorb(k, k, min(x, y)), max(x, y)))
    else:
        for i in range(lo, hi):
            x, y = word(a[i * sa]), word(b[i * sb])
            out[i] = finish(absorb(k, absorb(k, k, min(x, y)), max(x, y)))


@njit(inline="always")
def sealed(k: Word, x: Word) -> Word:
    """As one word mixed, with bits 62 and 63 as a part of it."""
    return finish(scramble(k ^ (x & _MARKED)) + k)


@njit(types.void(_KEY, _IN, _INT, _OUT, _INT, _INT), nogil=True, cache=True)
def _seal(k: Word, a: Words, sa: int, out: Words, lo: int, hi: int) -> None:
    for i in range(lo, hi):
        out[i] = sealed(k, a[i * sa])


@njit(types.void(_KEY, _KEY, _IN, _INT, _OUT, _INT, _INT), nogil=True, cache=True)
def _sealed1(s: Word, k: Word, a: Words, sa: int, out: Words, lo: int, hi: int) -> None:
    for i in range(lo, hi):
        out[i] = finish(absorb(k, k, sealed(s, a[i * sa])))


@njit(types.void(_KEY, _KEY, _IN, _INT, _IN, _INT, _OUT, _INT, _INT), nogil=True, cache=True)
def _sealed2(s: Word, k: Word, a: Words, sa: int, b: Words, sb: int, out: Words, lo: int, hi: int) -> None:
    for i in range(lo, hi):
        out[i] = finish(absorb(k, absorb(k, k, sealed(s, a[i * sa])), sealed(s, b[i * sb])))


@njit(types.void(_KEY, _KEY, _IN, _INT, _IN, _INT, _OUT, _INT, _INT), nogil=True, cache=True)
def _sealed_product(s: Word, k: Word, a: Words, sa: int, b: Words, sb: int, out: Words, lo: int, hi: int) -> None:
    for i in range(lo, hi):
        out[i] = mul61(mul61(sealed(s, a[i * sa]), sealed(s, b[i * sb])), k)


@njit(types.void(_KEY, _KEY, _OUT, _INT, _INT), nogil=True, cache=True)
def _count(k: Word, first: Word, out: Words, lo: int, hi: int) -> None:
    for i in range(lo, hi):
        out[i] = finish(absorb(k, k, first + np.uint64(i)))


@njit(inline="always")
def _bare(x: Word) -> Word:
    return np.uint64(P) - x if x > _HALF else x


@njit(types.void(_KEY, _KEY, _IN, _INT, _IN, _INT, _OUT, _INT, _INT), nogil=True, cache=True)
def _signed(k: Word, sym: Word, a: Words, sa: int, b: Words, sb: int, out: Words, lo: int, hi: int) -> None:
    """The hash of the operands without their signs (w and -w), with the product of the signs; ordered unless sym."""
    for i in range(lo, hi):
        u, v = word(a[i * sa]), word(b[i * sb])
        x, y = _bare(u), _bare(v)
        if sym:
            x, y = min(x, y), max(x, y)
        h = finish(absorb(k, absorb(k, k, x), y))
        out[i] = np.uint64(P) - h if (u > _HALF) != (v > _HALF) else h


@njit(types.void(_KEY, _IN, _INT, _IN, _INT, _IN, _INT, _OUT, _INT, _INT), nogil=True, cache=True)
def _mix3(k: Word, a: Words, sa: int, b: Words, sb: int, c: Words, sc: int, out: Words, lo: int, hi: int) -> None:
    if sa * sb * sc:
        for i in range(lo, hi):
            out[i] = finish(absorb(k, absorb(k, absorb(k, k, a[i]), b[i]), c[i]))
    else:
        for i in range(lo, hi):
            out[i] = finish(absorb(k, absorb(k, absorb(k, k, a[i * sa]), b[i * sb]), c[i * sc]))


def _run(kernel: Any, k: int, *args: ArrayLike) -> Words:
    return threads.elementwise(kernel, [np.uint64(k)], [np.asarray(a, np.uint64) for a in args], np.uint64)[0]


@lru_cache(maxsize=65536)
def key(seed: int, tag: int, role: str) -> int:
    """A random ring element in [2, p) for (seed, tag, role): BLAKE2b over their decimal spelling."""
    digest = hashlib.blake2b(f"{seed},{tag},{role}".encode(), digest_size=16).digest()
    return 2 + int.from_bytes(digest, "little") % (P - 2)


def _stream(start: int, n: int) -> Words:
    """n pseudo-random words in [0, 2^61) from a counter: position keys."""
    x = _U(start) + np.arange(1, n + 1, dtype=np.uint64) * _U(0x9E3779B97F4A7C15)
    x = (x ^ (x >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> _U(27))) * _U(0x94D049BB133111EB)
    return (x ^ (x >> _U(31))) & _U(P)


class Mixer:
    """Hashes under one seed. Two mixers with different seeds give independent 61-bit fingerprints."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def mix(self, tag: int, a: ArrayLike, b: ArrayLike | None = None, c: ArrayLike | None = None) -> Words:
        """Ordered hash of one to three words, elementwise with broadcasting; arities never meet."""
        if b is None:
            return _run(_mix1, key(self.seed, tag, "1"), a)
        if c is None:
            return _run(_mix2, key(self.seed, tag, "2"), a, b)
        return _run(_mix3, key(self.seed, tag, "3"), a, b, c)

    def mix_sym(self, tag: int, a: ArrayLike, b: ArrayLike) -> Words:
        """Hash of the unordered pair {a, b}, elementwise with broadcasting."""
        return _run(_mix_sym, key(self.seed, tag, "sym"), a, b)

    def seal(self, tag: int, a: ArrayLike) -> Words:
        """Hash of one word together with its bits 62 and 63."""
        return _run(_seal, key(self.seed, tag, "seal"), a)

    def mix_sealed(self, seal: int, tag: int, a: ArrayLike, b: ArrayLike | None = None) -> Words:
        """mix of one or two words, each sealed first: one pass."""
        keys = [np.uint64(key(self.seed, seal, "seal")), np.uint64(key(self.seed, tag, "1" if b is None else "2"))]
        words = [np.asarray(x, np.uint64) for x in ((a,) if b is None else (a, b))]
        return threads.elementwise(_sealed1 if b is None else _sealed2, keys, words, np.uint64)[0]

    def sealed_product(self, seal: int, factor: int, a: ArrayLike, b: ArrayLike) -> Words:
        """The product in the ring of both words sealed, times ``factor``."""
        keys = [np.uint64(key(self.seed, seal, "seal")), np.uint64(factor)]
        words = [np.asarray(x, np.uint64) for x in (a, b)]
        return threads.elementwise(_sealed_product, keys, words, np.uint64)[0]

    def count(self, tag: int, first: int, shape: tuple[int, ...]) -> Words:
        """Hashes of first, first + 1, ... as mix gives them."""
        out = np.empty(shape, np.uint64)
        threads.over(out.size, _count, np.uint64(key(self.seed, tag, "1")), np.uint64(first), out.reshape(-1))
        return out

    def mix_signed(self, tag: int, a: ArrayLike, b: ArrayLike, symmetric: bool) -> Words:
        """Hash of two words up to sign: negating one negates the result mod p."""
        words = [np.asarray(x, np.uint64) for x in (a, b)]
        role = np.uint64(key(self.seed, tag, "sym" if symmetric else "2"))
        return threads.elementwise(_signed, [role, np.uint64(symmetric)], words, np.uint64)[0]

    def mix_axis(self, tag: int, a: ArrayLike, axis: int = -1) -> Words:
        """Hash of the sequence along `axis` (order and length matter); that axis is removed."""
        from equivalence.fields.mersenne import mul, sum_axis

        array = np.asarray(a, np.uint64)
        at, n = axis % array.ndim, array.shape[axis]
        shape = [n if i == at else 1 for i in range(array.ndim)]
        keys = _stream(key(self.seed, tag, "axis"), n).reshape(shape)
        return self.mix(tag, sum_axis(mul(array, keys), at), n)

    def leaf(self, tag: int, text: str) -> int:
        """A random ring element for a name (an opcode, a dtype, a constant's spelling)."""
        return key(self.seed, tag, "leaf:" + text)


_default = Mixer(0x1B873593)


def reseed(seed: int) -> None:
    """Give the module-level functions another seed (once per run, before any hash is taken)."""
    _default.seed = seed


def mix(tag: int, a: ArrayLike, b: ArrayLike | None = None, c: ArrayLike | None = None) -> Words:
    """Mixer.mix under the run's seed."""
    return _default.mix(tag, a, b, c)


def mix_sym(tag: int, a: ArrayLike, b: ArrayLike) -> Words:
    """Mixer.mix_sym under the run's seed."""
    return _default.mix_sym(tag, a, b)


def mix_axis(tag: int, a: ArrayLike, axis: int = -1) -> Words:
    """Mixer.mix_axis under the run's seed."""
    return _default.mix_axis(tag, a, axis)
