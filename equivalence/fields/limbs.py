"""Takes uint64 matrices mod p = 2^61-1, gives their product mod p by six exact float64 BLAS products (Karatsuba).

Must not know fingerprints or threads: BLAS is parallel by itself.

Exactness. A word x in [0, p) is centred to |x| < 2^60 and written x = l0 + l1*2^21 + l2*2^42 with balanced limbs
l0, l1 in [-2^20, 2^20) and |l2| <= 2^18 (l2 rounds x/2^42, |x/2^42| < 2^18). The six products are li*mi and
(li+lj)*(mi+mj), i < j; a factor is at most 2^21 in size, so a term is at most 2^42 and a sum of K <= 2^11 terms has
absolute sum at most 2^53. Every partial sum, in whatever order and with whatever fused operations BLAS takes it, is
an integer of size <= 2^53: exact in float64. Larger K is cut into chunks whose results are added mod p.
Recombined in int64: the cross term li*mj + lj*mi is a difference of three such sums, below 2^55.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from equivalence.fields import threads
from equivalence.fields.scalar61 import P, Word, add61, fold, word

K_CHUNK = 1 << 11
"""Terms per float64 sum: 2^11 * 2^42 = 2^53."""

OUT_CHUNK = 1 << 22
"""Elements of the result handled at once: bounds the six float64 temporaries to 200 MB."""

_IN, _OUT = types.Array(types.uint64, 1, "C", readonly=True), types.Array(types.uint64, 1, "C")
_F64, _INT = types.Array(types.float64, 2, "C"), types.int64
_P = np.uint64(P)
_HALF = np.int64(P >> 1)


@njit(types.void(_IN, _F64, _INT, _INT), nogil=True, cache=True)
def _limbs(x: NDArray[np.uint64], out: NDArray[np.float64], lo: int, hi: int) -> None:
    """x[lo:hi] to out[0..5, lo:hi]: l0, l1, l2, l0+l1, l0+l2, l1+l2."""
    half, low = np.int64(1 << 20), np.int64((1 << 21) - 1)
    for i in range(lo, hi):
        c = np.int64(fold(word(x[i])))
        c = c - np.int64(_P) if c > _HALF else c
        l0 = ((c + half) & low) - half
        c = (c - l0) >> 21
        l1 = ((c + half) & low) - half
        l2 = (c - l1) >> 21
        out[0, i], out[1, i], out[2, i] = l0, l1, l2
        out[3, i], out[4, i], out[5, i] = l0 + l1, l0 + l2, l1 + l2


@njit(inline="always")
def _times_2_to(x: Word, s: Word) -> Word:
    """x * 2^s mod p for a signed |x| < 2^60, 0 <= s < 61: a 61-bit rotation."""
    r = np.uint64(x + np.int64(_P)) if x < 0 else np.uint64(x)
    return ((r << np.uint64(s)) & _P) | (r >> np.uint64(61 - s))


@njit(types.void(_F64, _OUT, _INT, _INT), nogil=True, cache=True)
def _recombine(f: NDArray[np.float64], out: NDArray[np.uint64], lo: int, hi: int) -> None:
    """out[lo:hi] += the product whose six float parts are f[0..5, lo:hi]; 2^63 = 2^2 and 2^84 = 2^23 mod p."""
    for i in range(lo, hi):
        d0, d1, d2 = np.int64(f[0, i]), np.int64(f[1, i]), np.int64(f[2, i])
        w1 = np.int64(f[3, i]) - d0 - d1
        w2 = np.int64(f[4, i]) - d0 - d2 + d1
        w3 = np.int64(f[5, i]) - d1 - d2
        s = add61(add61(_times_2_to(d0, 0), _times_2_to(w1, 21)), _times_2_to(w2, 42))
        s = add61(add61(s, _times_2_to(w3, 2)), _times_2_to(d2, 23))
        out[i] = add61(out[i], s)


def _split(x: NDArray[np.uint64]) -> NDArray[np.float64]:
    """[..., R, C] words to [6, ..., R, C] limbs and limb sums."""
    flat = np.ascontiguousarray(x).reshape(-1)
    out = np.empty((6, flat.size))
    threads.over(flat.size, _limbs, flat, out)
    return out.reshape((6, *x.shape))


def _accumulate(a: NDArray[np.float64], b: NDArray[np.float64], out: NDArray[np.uint64]) -> None:
    """out += a @ b for limbs a [6,...,M,k], b [6,...,k,N] with k <= K_CHUNK; out is contiguous."""
    parts = np.empty((6, *out.shape))

    def some(s: slice) -> None:
        for i in range(s.start, s.stop):
            np.matmul(a[i], b[i], out=parts[i])

    threads.run_slices(6, some, threads.idle() if out.size * a.shape[-1] >= threads.BLAS_FROM else 1)
    threads.over(out.size, _recombine, parts.reshape(6, -1), out.reshape(-1))


def matmul(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """[..., M, K] x [..., K, N] -> [..., M, N] mod p, batch axes broadcast as in np.matmul; K = 0 gives zeros."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    (m, k), n = a.shape[-2:], b.shape[-1]
    out = np.zeros((*batch, m, n), np.uint64)
    if out.size == 0 or k == 0:
        return out
    left, right = _split(a), _split(b)
    for rows in threads.blocks(m, OUT_CHUNK * m // out.size):
        piece = np.zeros((*batch, rows.stop - rows.start, n), np.uint64)
        for ks in threads.blocks(k, K_CHUNK):
            _accumulate(left[..., rows, ks], right[..., ks, :], piece)
        out[..., rows, :] = piece
    return out
