"""Both channels of one prime under `real`: arithmetic where a channel is valid, random functions, filled channels.

Takes and gives Cells' planes.  Must not know literals' meanings, sites or operations of KIR.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types

from equivalence.fields import threads
from equivalence.fields.mixing import Mixer
from equivalence.fields.pairfield import PairField, pair_field
from equivalence.fields.primes import SafePrime
from equivalence.fields.residue_loops import IN, INT, OUT, WORD
from equivalence.fields.scalar61 import scramble
from equivalence.interpretations.base import tag
from equivalence.interpretations.real_cell import BOTH, NOTHING, ROOT_V, ROOT_W, Array, Cell, V, W, flag, nothing, where


@njit(inline="always")
def _below(x: Any, m: Any) -> Any:
    """A word's high half scaled into [1, m)."""
    return np.uint32(np.uint64(1) + (((x >> np.uint64(32)) * (m - np.uint64(1))) >> np.uint64(32)))


@njit(types.void(WORD, WORD, IN, INT, IN, INT, OUT, INT, INT), nogil=True, cache=True)
def _random_function(key: Any, m: Any, a: Any, sa: int, b: Any, sb: int, out: Any, lo: int, hi: int) -> None:
    """out = 1 + hash(key, a, b) mod m-1: never zero."""
    for i in range(lo, hi):
        x = scramble(key ^ (np.uint64(a[i * sa]) | (np.uint64(b[i * sb]) << np.uint64(32))))
        out[i] = _below(scramble(x + key), m)


@njit(types.void(WORD, WORD, types.Array(types.int64, 1, "C", readonly=True), OUT, INT, INT), nogil=True, cache=True)
def _element(key: Any, m: Any, index: Any, out: Any, lo: int, hi: int) -> None:
    """out = 1 + hash(key, index) mod m-1."""
    for i in range(lo, hi):
        out[i] = _below(scramble(scramble(key ^ np.uint64(index[i])) + key), m)


class Channels:
    """The pair field of a prime, and its random functions fixed by a seed."""

    def __init__(self, seed: int, prime: SafePrime) -> None:
        self.field: PairField = pair_field(prime)
        self.prime = prime
        self._mixer = Mixer(seed)

    def key(self, text: str, channel: str) -> np.uint64:
        return np.uint64(self._mixer.leaf(tag(text), channel))

    def random(self, text: str, a: Array, b: Array | None = None) -> tuple[Array, Array]:
        """A random function named ``text`` of residues (or small integers), in both channels."""
        second = np.zeros((1,) * a.ndim, np.uint32) if b is None else b
        pair = []
        for channel, m in (("v", self.prime.p), ("w", self.prime.q)):
            params = (self.key(text, channel), np.uint64(m))
            args = [np.asarray(a, np.uint32), np.asarray(second, np.uint32)]
            pair.append(threads.elementwise(_random_function, params, args, np.uint32)[0])
        return pair[0], pair[1]

    def elements(self, text: str, index: Array) -> tuple[Array, Array]:
        """Independent residues for the places ``index`` of an array called ``text``."""
        params = [(self.key(text, c), np.uint64(m)) for c, m in (("v", self.prime.p), ("w", self.prime.q))]
        v, w = (threads.unary(_element, pair, index, np.uint32)[0] for pair in params)
        return v, w

    # -- channels of cells ---------------------------------------------------------------------------------------

    def apply(self, op: str, mark: Array, a: Cell, b: Cell) -> tuple[Array, Array]:
        """(v, w) of a binary field operation, each only where ``mark`` has it valid at all."""
        v = getattr(self.field.v, op)(a.v, b.v) if (mark & V).any() else nothing(mark.ndim)
        w = getattr(self.field.w, op)(a.w, b.w) if (mark & W).any() else nothing(mark.ndim)
        return v, w

    def inverse(self, x: Cell) -> Cell:
        """1/x in each channel; zero divisors lose theirs (the sample is left to the caller)."""
        v, w, mark = nothing(x.mark.ndim), nothing(x.mark.ndim), x.mark
        if x.has(V):
            v, zero = self.field.v.inverse(x.v)
            mark = mark & ~flag(zero, V) if zero.any() else mark
        if x.has(W):
            w, zero = self.field.w.inverse(x.w)
            mark = mark & ~flag(zero, W) if zero.any() else mark
        return Cell(x.sample, v, w, mark)

    def essence(self, x: Cell) -> Array:
        """One residue that stands for the lane in a random function: v where valid, else w."""
        if x.is_all(V):
            return x.v
        if not x.has(V):
            return x.w
        return where((x.mark & V) != 0, x.v, x.w)

    def essence_roots(self, x: Cell) -> Array:
        """Both root bits, where the essence's channel has its own."""
        by_v = (x.mark & V) != 0
        dirty = np.where(by_v, (x.mark & ROOT_V) != 0, (x.mark & ROOT_W) != 0)
        return flag(dirty, ROOT_V | ROOT_W) if dirty.any() else np.full((1,) * x.mark.ndim, NOTHING)

    def filled(self, x: Cell, need: Array) -> Cell:
        """Where ``need``, a missing channel becomes a random function of the other one (v a square, so that log is)."""
        need = need & x.alive
        lacks_v, lacks_w = need & ((x.mark & V) == 0), need & ((x.mark & W) == 0)
        if lacks_v.any():
            root, _ = self.random("fill v", x.w)
            v = where(lacks_v, self.field.v.mul(root, root), x.v)
            x = Cell(x.sample, v, x.w, x.mark | flag(lacks_v, V) | flag(lacks_v & ((x.mark & ROOT_W) != 0), ROOT_V))
        if lacks_w.any():
            _, w = self.random("fill w", x.v)
            w = where(lacks_w, w, x.w)
            x = Cell(x.sample, x.v, w, x.mark | flag(lacks_w, W) | flag(lacks_w & ((x.mark & ROOT_V) != 0), ROOT_W))
        return x

    def completed(self, a: Cell, b: Cell, whole: bool | Array = False) -> tuple[Cell, Cell]:
        """Fills both operands where they share no channel, and w where ``whole`` says that an exp may follow."""
        common = a.mark & b.mark & BOTH
        need = (common == 0) | (((common & W) == 0) & whole)
        need = need & a.alive & b.alive
        return (self.filled(a, need), self.filled(b, need)) if need.any() else (a, b)

    def integers(self, data: Array) -> tuple[Array, Array]:
        """Integers in both channels."""
        return self.field.v.from_int(data), self.field.w.from_int(data)

    def dyadic(self, data: Array) -> tuple[Array, Array]:
        """Finite f64 values, each the rational that it is, in both channels."""
        mantissa, exponent = np.frexp(data)
        whole = (mantissa * float(1 << 53)).astype(np.int64)
        shift = exponent.astype(np.int64) - 53
        low = int(shift.min(initial=0))
        pair = []
        for modulus in (self.field.v, self.field.w):
            powers = [pow(2, e, modulus.m) for e in range(low, int(shift.max(initial=0)) + 1)]
            pair.append(modulus.mul(modulus.from_int(whole), np.array(powers, np.uint32)[shift - low]))
        return pair[0], pair[1]
