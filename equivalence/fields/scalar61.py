"""Takes and gives single uint64 words: arithmetic mod 2^61-1 and a 64-bit finaliser, for use inside numba kernels.

Every function here is inlined by the compiler into the loops that call it. Must not know arrays, tags or keys.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

P = (1 << 61) - 1
"""The Mersenne prime: 2^61 = 1 in the ring, so reducing is a shift and an add."""

Word = Any
"""One uint64 of compiled code: integer arithmetic modulo 2^64, no flag semantics."""

_P = np.uint64(P)
_61 = np.uint64(61)
_3 = np.uint64(3)


@intrinsic
def _wide(typingctx: Any, a: Any, b: Any) -> Any:
    """(low, high) words of the 128-bit product of two uint64."""
    sig = types.UniTuple(types.uint64, 2)(types.uint64, types.uint64)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        i128, i64 = ir.IntType(128), ir.IntType(64)
        product = builder.mul(builder.zext(args[0], i128), builder.zext(args[1], i128))
        high = builder.trunc(builder.lshr(product, ir.Constant(i128, 64)), i64)
        return context.make_tuple(builder, signature.return_type, (builder.trunc(product, i64), high))

    return sig, codegen


@njit(inline="always")
def word(x: Word) -> Word:
    """The ring element in a word: drops the caller's flag bits 61..63. In [0, p]; canonical inputs stay below p."""
    return x & _P


@njit(inline="always")
def fold(x: Word) -> Word:
    """Reduce any x < 2^62 to [0, p)."""
    return x - _P if x >= _P else x


@njit(inline="always")
def add61(a: Word, b: Word) -> Word:
    """a + b for a, b in [0, p]: the sum is below 2^62, one fold is enough unless it is 2p."""
    s = a + b
    s = (s & _P) + (s >> _61)
    return fold(s)


@njit(inline="always")
def mul61(a: Word, b: Word) -> Word:
    """a * b for a, b < 2^61: the product is below 2^122, so high<<3 | low>>61 is below 2^61."""
    low, high = _wide(a, b)  # pyright: ignore[reportCallIssue] (numba supplies the typing context)
    return add61(low & _P, (high << _3) | (low >> _61))


@njit(inline="always")
def scramble(x: Word) -> Word:
    """A bijection of 64-bit words without linear structure (multiply and xor-shift, Stafford's mix 13 constants)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(inline="always")
def finish(x: Word) -> Word:
    """Scramble, keep 61 bits, and avoid 0 and p: the result is in [1, p)."""
    h = scramble(x) & _P
    return np.uint64(1) if (h == np.uint64(0) or h == _P) else h
