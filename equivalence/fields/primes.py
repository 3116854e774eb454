"""Takes a seed, gives safe primes p = 2q+1 just below 2^26 with a generator of the squares mod p.

Must not know arrays. q = 3 mod 4 for each, hence p = 7 mod 8: roots are powers in both fields, -1 is a non-residue
in both, and 2 is a square mod p, so that ln 2 has a place among the exponents.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

SAFE_PRIMES = (
    67107983,
    67106903,
    67104743,
    67104263,
    67104047,
    67103039,
    67102727,
    67101743,
    67101263,
    67100087,
    67099727,
    67099559,
)
"""The twelve largest below 2^26 (tests prove each prime and safe)."""


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
