"""Takes and gives uint32 arrays of residues mod m < 2^26: add, sub, mul, powers, inverses, sums, products of matrices.

Must not know pairs, exponentials or validity: zero divisors and non-residues are reported, the caller decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equivalence.fields import residue_loops as loops
from equivalence.fields import threads

Residues = NDArray[np.uint32]
Bools = NDArray[np.bool_]
Axis = int | tuple[int, ...] | None

K_CHUNK = 1 << 15
"""Terms per float64 sum in matmul: 2^25 * 2^13 * 2^15 = 2^53."""

OUT_CHUNK = 1 << 22
"""Elements of a matrix product handled at once: bounds the float64 temporaries to 64 MB."""


def residues(a: ArrayLike) -> Residues:
    """Canonical residues as uint32, without copying what is uint32 already."""
    return np.asarray(a, np.uint32)


@dataclass(frozen=True)
class Modulus:
    """The prime field of m elements, 2^24 < m < 2^26, m = 3 mod 4; operands and results are canonical, uint32."""

    m: int

    @cached_property
    def barrett(self) -> tuple[np.uint64, np.uint64]:
        """(m, floor(2^52 / m)), the parameters of every loop."""
        return np.uint64(self.m), np.uint64((1 << 52) // self.m)

    def _binary(self, kernel: Any, a: ArrayLike, b: ArrayLike) -> Residues:
        return threads.elementwise(kernel, self.barrett, [residues(a), residues(b)], np.uint32)[0]

    def add(self, a: ArrayLike, b: ArrayLike) -> Residues:
        """a + b, with broadcasting."""
        return self._binary(loops.add, a, b)

    def sub(self, a: ArrayLike, b: ArrayLike) -> Residues:
        """a - b, with broadcasting."""
        return self._binary(loops.sub, a, b)

    def neg(self, a: ArrayLike) -> Residues:
        """-a."""
        return self.sub(np.uint32(0), a)

    def mul(self, a: ArrayLike, b: ArrayLike) -> Residues:
        """a * b, with broadcasting."""
        return self._binary(loops.mul, a, b)

    def inverse(self, a: ArrayLike) -> tuple[Residues, Bools]:
        """(1/a, a == 0); a zero lane gives 0. Montgomery's trick over 64 rows of 64 lanes."""
        array = residues(a)
        return threads.unary(loops.inverse, self.barrett, array, np.uint32)[0], array == 0

    def div(self, a: ArrayLike, b: ArrayLike) -> tuple[Residues, Bools]:
        """(a/b, b == 0) with broadcasting; the flags have the shape of b."""
        reciprocal, zero = self.inverse(b)
        return self.mul(a, reciprocal), zero

    def power(self, a: ArrayLike, n: int) -> Residues:
        """a^n for a Python int; n < 0 is the inverse's power (0 stays 0), and 0^0 = 1."""
        array = residues(a)
        if n == 0:
            return np.ones(array.shape, np.uint32)
        e = np.uint64(n % (self.m - 1) or self.m - 1)
        return threads.unary(loops.power, (*self.barrett, e), array, np.uint32)[0]

    def sqrt(self, a: ArrayLike) -> tuple[Residues, Bools]:
        """(s, non-residue), s = a^((m+1)/4), multiplicative: s^2 = a and s is square unless flagged, else s^2 = -a."""
        array = residues(a)
        root = self.power(array, (self.m + 1) // 4)
        return root, self.mul(root, root) != array

    def from_int(self, a: ArrayLike) -> Residues:
        """int64 or uint64 integers mod m."""
        array = np.asarray(a)
        if array.dtype != np.uint64:
            return (array.astype(np.int64) % np.int64(self.m)).astype(np.uint32)
        return (array % np.uint64(self.m)).astype(np.uint32)

    def rational(self, numerator: int, denominator: int = 1) -> int | None:
        """numerator/denominator for Python ints; None where m divides the denominator."""
        if denominator % self.m == 0:
            return None
        return numerator * pow(denominator, -1, self.m) % self.m

    def random(self, rng: np.random.Generator, shape: tuple[int, ...] = ()) -> Residues:
        """Uniform non-zero residues."""
        return rng.integers(1, self.m, shape, dtype=np.uint32)

    def sum_axis(self, a: ArrayLike, axis: Axis = -1, keepdims: bool = False) -> Residues:
        """Sum over an axis, several or all; exact in uint64 below 2^38 terms."""
        return self.from_int(np.sum(residues(a), axis=axis, keepdims=keepdims, dtype=np.uint64))

    def cumsum_axis(self, a: ArrayLike, axis: int = -1) -> Residues:
        """Inclusive running sum along an axis; same shape."""
        return self.from_int(np.cumsum(residues(a), axis=axis, dtype=np.uint64))

    def prod_axis(self, a: ArrayLike, axis: int = -1) -> Residues:
        """Product along an axis, in log2(n) elementwise products; an empty axis gives 1."""
        array = np.moveaxis(residues(a), axis, 0)
        if array.shape[0] == 0:
            return np.ones(array.shape[1:], np.uint32)
        while array.shape[0] > 1:
            half = array.shape[0] // 2
            array = np.concatenate([self.mul(array[:half], array[half : 2 * half]), array[2 * half :]])
        return array[0].copy()

    def matmul(self, a: ArrayLike, b: ArrayLike) -> Residues:
        """[..., M, K] x [..., K, N] -> [..., M, N]; batch axes broadcast as in np.matmul; K = 0 gives zeros.

        a is centred to |a| <= 2^25, b cut into two limbs below 2^13: every partial sum of K_CHUNK terms is an integer
        of size at most 2^53, exact in float64 in any order. Two BLAS products a chunk.
        """
        left, right = residues(a), residues(b)
        batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
        (rows, depth), columns = left.shape[-2:], right.shape[-1]
        out = np.zeros((*batch, rows, columns), np.uint32)
        if out.size == 0 or depth == 0:
            return out
        centred = np.where(left > self.m // 2, left - float(self.m), left)
        limbs = (right & np.uint32(8191)).astype(float), (right >> np.uint32(13)).astype(float)
        for block in threads.blocks(rows, OUT_CHUNK * rows // out.size):
            out[..., block, :] = self._block(centred[..., block, :], limbs)
        return out

    def _block(self, a: NDArray[np.float64], b: tuple[NDArray[np.float64], NDArray[np.float64]]) -> Residues:
        """Product of centred rows and limbs, K in chunks added mod m."""
        total: Residues | None = None
        for ks in threads.blocks(a.shape[-1], K_CHUNK):
            low, high = (threads.product(a[..., ks], limb[..., ks, :]) for limb in b)
            piece = np.empty(low.shape, np.uint32)
            threads.over(low.size, loops.recombine, *self.barrett, low.reshape(-1), high.reshape(-1), piece.reshape(-1))
            total = piece if total is None else self.add(total, piece)
        assert total is not None
        return total
