"""Takes a seed, gives safe primes p = 2q+1 just below 2^26 with a generator of the squares mod p.

Must not know arrays. q = 3 mod 4 for each, hence p = 7 mod 8: roots are powers in both fields and -1 is a non-residue
in both. Besides, 2, 3, 5, 7, 11 and 13 are squares mod p and mod q: ln 2, ln 10 and the roots of head sizes have a
place in both channels, and sqrt(a^2) = a for every a made of these factors.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

SMOOTH = (2, 3, 5, 7, 11, 13)
"""Squares in both fields of every prime below (q = -1 mod 8*3*5*7*11*13 makes them so, by reciprocity)."""

SAFE_PRIMES = (
    65345279,
    64864799,
    64384319,
    63903839,
    61261199,
    55735679,
    55255199,
    53813759,
    51651599,
    46366319,
    45645599,
    44444399,
)
"""The twelve largest of their kind below 2^26, q above 2^24 (tests prove each prime, safe and of the kind)."""


@dataclass(frozen=True)
class SafePrime:
    """p = 2q+1 and g, which generates the q squares mod p: e^w is read as g^w, w mod q."""

    p: int
    g: int

    @property
    def q(self) -> int:
        return (self.p - 1) // 2


def generator(p: int, seed: int) -> int:
    """A random square other than 1 (0 and -1 excluded from the draw); q is prime, so every such square generates."""
    root = random.Random(f"generator,{p},{seed}").randrange(2, p - 1)
    return root * root % p


def choose(seed: int, count: int = 2) -> tuple[SafePrime, ...]:
    """`count` different primes in an order and with generators fixed by the seed."""
    if not 1 <= count <= len(SAFE_PRIMES):
        raise ValueError(f"count is {count}: between 1 and {len(SAFE_PRIMES)} primes can be chosen")
    picked = random.Random(f"primes,{seed}").sample(SAFE_PRIMES, count)
    return tuple(SafePrime(p, generator(p, seed)) for p in picked)
