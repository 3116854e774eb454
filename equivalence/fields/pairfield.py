"""Takes and gives pairs (v mod p, w mod q) of uint32 arrays: arithmetic in both channels, exp from w to v, log back.

Must not know validity: what a channel is worth after an operation is the interpretation's. p = 2q+1 safe (primes.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit, types
from numpy.typing import ArrayLike, NDArray

from equivalence.fields import threads
from equivalence.fields.primes import SafePrime
from equivalence.fields.residue_loops import IN, INT, OUT, U32, WORD, mulmod, powmod
from equivalence.fields.residues import Axis, Bools, Modulus, Residues, residues
from equivalence.fields.scalar61 import Word

_LOW_BITS = 13
_TABLE = types.Array(types.int32, 1, "C")
_BOOLS = types.Array(types.boolean, 1, "C")


@njit(types.void(WORD, WORD, IN, IN, IN, OUT, INT, INT), nogil=True, cache=True)
def _exp(m: Word, mu: Word, low: U32, high: U32, w: U32, out: U32, lo: int, hi: int) -> None:
    """out = g^w from the powers of g and of g^(2^13)."""
    for i in range(lo, hi):
        out[i] = mulmod(m, mu, low[w[i] & np.uint32(8191)], high[w[i] >> np.uint32(_LOW_BITS)])


@njit(types.void(WORD, WORD, WORD, _TABLE, INT, INT), nogil=True, cache=True)
def _fill_logs(m: Word, mu: Word, g: Word, table: NDArray[np.int32], lo: int, hi: int) -> None:
    """For k in [lo, hi): v = g^k goes to table[v] = k, or, where v > p/2, table[p-v] = ~k. Four walks hide latency."""
    quarter = (hi - lo) // 4
    step, half = powmod(m, mu, g, np.uint64(quarter)), m >> np.uint64(1)
    x = np.empty(4, np.uint64)
    x[0] = powmod(m, mu, g, np.uint64(lo))
    for j in range(1, 4):
        x[j] = mulmod(m, mu, x[j - 1], step)
    for k in range(quarter):
        for j in range(4):
            v, e = x[j], np.int32(lo + j * quarter + k)
            table[v if v <= half else m - v] = e if v <= half else ~e
            x[j] = mulmod(m, mu, v, g)
    v = powmod(m, mu, g, np.uint64(lo + 4 * quarter))
    for k in range(lo + 4 * quarter, hi):
        table[v if v <= half else m - v] = np.int32(k) if v <= half else ~np.int32(k)
        v = mulmod(m, mu, v, g)


@njit(types.void(WORD, _TABLE, IN, OUT, _BOOLS, INT, INT), nogil=True, cache=True)
def _log(m: Word, table: NDArray[np.int32], v: U32, out: U32, missing: Bools, lo: int, hi: int) -> None:
    """-1 is no square, so exactly one of v and p-v is: the sign of the entry says which."""
    m32 = np.uint32(m)
    half = np.uint32(m >> np.uint64(1))
    for i in range(lo, hi):
        small = v[i] <= half
        e = table[v[i] if small else np.uint32(m32 - v[i])]
        missing[i] = (e < 0) == small or v[i] == 0
        out[i] = np.uint32(0) if missing[i] else np.uint32(e if e >= 0 else ~e)


class Pair(NamedTuple):
    """One value in both channels; v and w have the same shape."""

    v: Residues
    w: Residues


@dataclass(frozen=True)
class PairField:
    """Both fields of one safe prime. Operations named as in Modulus act on the two channels side by side."""

    prime: SafePrime

    @cached_property
    def v(self) -> Modulus:
        """The field of p elements."""
        return Modulus(self.prime.p)

    @cached_property
    def w(self) -> Modulus:
        """The field of q elements: exponents of g."""
        return Modulus(self.prime.q)

    def add(self, a: Pair, b: Pair) -> Pair:
        return Pair(self.v.add(a.v, b.v), self.w.add(a.w, b.w))

    def sub(self, a: Pair, b: Pair) -> Pair:
        return Pair(self.v.sub(a.v, b.v), self.w.sub(a.w, b.w))

    def neg(self, a: Pair) -> Pair:
        return Pair(self.v.neg(a.v), self.w.neg(a.w))

    def mul(self, a: Pair, b: Pair) -> Pair:
        return Pair(self.v.mul(a.v, b.v), self.w.mul(a.w, b.w))

    def inverse(self, a: Pair) -> tuple[Pair, Bools, Bools]:
        """(1/a, v is zero, w is zero)."""
        (v, v_zero), (w, w_zero) = self.v.inverse(a.v), self.w.inverse(a.w)
        return Pair(v, w), v_zero, w_zero

    def div(self, a: Pair, b: Pair) -> tuple[Pair, Bools, Bools]:
        """(a/b, b.v is zero, b.w is zero)."""
        (v, v_zero), (w, w_zero) = self.v.div(a.v, b.v), self.w.div(a.w, b.w)
        return Pair(v, w), v_zero, w_zero

    def power(self, a: Pair, n: int) -> Pair:
        return Pair(self.v.power(a.v, n), self.w.power(a.w, n))

    def sqrt(self, a: Pair) -> tuple[Pair, Bools, Bools]:
        """(root, v is a non-residue mod p, w is a non-residue mod q)."""
        (v, v_bad), (w, w_bad) = self.v.sqrt(a.v), self.w.sqrt(a.w)
        return Pair(v, w), v_bad, w_bad

    def matmul(self, a: Pair, b: Pair) -> Pair:
        return Pair(self.v.matmul(a.v, b.v), self.w.matmul(a.w, b.w))

    def sum_axis(self, a: Pair, axis: Axis = -1, keepdims: bool = False) -> Pair:
        return Pair(self.v.sum_axis(a.v, axis, keepdims), self.w.sum_axis(a.w, axis, keepdims))

    def cumsum_axis(self, a: Pair, axis: int = -1) -> Pair:
        return Pair(self.v.cumsum_axis(a.v, axis), self.w.cumsum_axis(a.w, axis))

    def from_int(self, a: ArrayLike) -> Pair:
        """Integers in both channels."""
        return Pair(self.v.from_int(a), self.w.from_int(a))

    def random(self, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Pair:
        """Independent uniform non-zero channels: an input."""
        return Pair(self.v.random(rng, shape), self.w.random(rng, shape))

    @cached_property
    def _powers(self) -> tuple[Residues, Residues]:
        """g^i for i < 2^13 and g^(i * 2^13) for the rest of the 25 bits of w."""
        p, g = self.prime.p, self.prime.g
        return _walk(p, g, 1 << _LOW_BITS), _walk(p, pow(g, 1 << _LOW_BITS, p), (self.prime.q >> _LOW_BITS) + 1)

    @cached_property
    def _logs(self) -> NDArray[np.int32]:
        """int32[q+1], 128 MB: see _fill_logs; entry 0 is never a logarithm."""
        table = np.empty(self.prime.q + 1, np.int32)
        table[0] = -1
        threads.over(self.prime.q, _fill_logs, *self.v.barrett, np.uint64(self.prime.g), table)
        return table

    def exp(self, w: ArrayLike) -> Residues:
        """w mod q (canonical: below q) -> g^w mod p."""
        return threads.unary(_exp, (*self.v.barrett, *self._powers), residues(w), np.uint32)[0]

    def log(self, v: ArrayLike) -> tuple[Residues, Bools]:
        """v mod p -> (w with g^w = v, missing); missing where v is 0 or no square (w is 0 there)."""
        w, missing = threads.unary(_log, (np.uint64(self.prime.p), self._logs), residues(v), np.uint32, np.bool_)
        return w, missing

    def log_of(self, v: int) -> int | None:
        """The logarithm of one Python int, None where there is none."""
        w, missing = self.log(np.array([v % self.prime.p]))
        return None if missing[0] else int(w[0])


def _walk(p: int, g: int, n: int) -> Residues:
    """1, g, g^2, ... g^(n-1) mod p."""
    out, x = [], 1
    for _ in range(n):
        out.append(x)
        x = x * g % p
    return np.array(out, np.uint32)


@lru_cache(maxsize=8)
def pair_field(prime: SafePrime) -> PairField:
    """The field of a prime, shared in the process so that its tables are built once."""
    return PairField(prime)


def pair_fields(primes: Sequence[SafePrime]) -> tuple[PairField, ...]:
    """pair_field of each."""
    return tuple(pair_field(p) for p in primes)
