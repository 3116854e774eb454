"""Residues modulo one large prime: what tells in a moment that two forms are not one, or by which factor they differ.

Takes and gives whole numbers.  Nothing is ever proved by a residue: equal ones are reasons to multiply out.
P = 2 Q + 1, both prime, and 2, 3, 5, 7 and 11 are squares modulo P.
"""

from __future__ import annotations

from functools import lru_cache

from flint import fmpq

P = 125334781758434372135770226878293743879
Q = (P - 1) // 2
_SMALL = 1 << 50


@lru_cache(maxsize=1 << 14)
def _inverse(n: int, modulus: int) -> int:
    return pow(n, -1, modulus) if n % modulus else 0


def of_rational(x: fmpq, modulus: int = P) -> int:
    """x in Z/modulus."""
    return int(x.p) * _inverse(int(x.q), modulus) % modulus


def quotient(a: int, b: int) -> int:
    """a / b in Z/P; 0 where b is."""
    return a * (pow(b, -1, P) if b else 0) % P


def root(a: int) -> int:
    """The square root of a or of -a that is a square itself."""
    return pow(a, (P + 1) // 4, P)


def small_rational(residue: int) -> fmpq | None:
    """The one rational with numerator and denominator of at most 50 bits, if there is one (by chance: 2^-26)."""
    r0, r1, t0, t1 = P, residue, 0, 1
    while r1 > _SMALL:
        step = r0 // r1
        r0, r1, t0, t1 = r1, r0 - step * r1, t1, t0 - step * t1
    return fmpq(r1, t1) if t1 and abs(t1) <= _SMALL else None
