"""Takes a form or a number and a safe prime, gives its place in both channels of the pair field, with validity.

Also the door to recognition and identification. Must not know programs.

Guaranteed: the map is multiplicative over forms, ln is additive over products of integers, log2(e) * ln 2 = 1, and
roots are those of pairfield.sqrt (the root that is itself a square), in every channel reported valid. pi = t^4 and
sqrt(pi) = t^2 for a random t, so that sqrt(pi) is the principal root of pi. Assumed: pi and the v channel of each
ln (prime) are independent of everything else, which is how a random element stands for a transcendental number.
"""

from __future__ import annotations

import random
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from equivalence.fields.forms import Form, exact, prime_factors
from equivalence.fields.identification import Constant, Identification, identify
from equivalence.fields.primes import SafePrime
from equivalence.fields.recognition import description_length, recognise

__all__ = [
    "Constant",
    "FieldValue",
    "Form",
    "Identification",
    "description_length",
    "exact",
    "field_value",
    "identify",
    "recognise",
]


class FieldValue(NamedTuple):
    """A constant in both channels of one prime; where a flag is False the channel holds 0 and means nothing."""

    v: int
    w: int
    v_valid: bool
    w_valid: bool


def _symbol(name: str, modulus: int, seed: int) -> int:
    """A random element in [2, modulus-2] for a name, independent between moduli and seeds."""
    return random.Random(f"symbol,{name},{modulus},{seed}").randrange(2, modulus - 1)


def _sqrt_pi(modulus: int, seed: int) -> int:
    return pow(_symbol("pi", modulus, seed), 2, modulus)


def principal_root(n: int, modulus: int) -> int | None:
    """n^((m+1)/4) mod m, the root that pairfield.sqrt gives; None where n is no square."""
    root = pow(n, (modulus + 1) // 4, modulus)
    return root if root * root % modulus == n % modulus else None


@lru_cache(maxsize=4)
def _baby_steps(prime: SafePrime) -> dict[int, int]:
    """g^i -> i for i below sqrt(q)."""
    steps, x = {}, 1
    for i in range(1 << 13):
        steps[x] = i
        x = x * prime.g % prime.p
    return steps


@lru_cache(maxsize=4096)
def discrete_log(n: int, prime: SafePrime) -> int | None:
    """w with g^w = n mod p, None where n is no square (baby and giant steps: a few ms, no table)."""
    if n % prime.p == 0 or pow(n, prime.q, prime.p) != 1:
        return None
    steps, giant, x = _baby_steps(prime), pow(prime.g, -(1 << 13), prime.p), n % prime.p
    for j in range((prime.q >> 13) + 1):
        if x in steps:
            return (j << 13) + steps[x]
        x = x * giant % prime.p
    raise AssertionError(f"{prime.g} does not generate the squares mod {prime.p}")


def _ln(n: int, channel: str, prime: SafePrime, seed: int) -> int | None:
    """ln n: in w the discrete logarithm, in v the sum of the random elements that stand for ln of its prime factors."""
    if channel == "w":
        return discrete_log(n, prime)
    return sum(_symbol(f"ln {f}", prime.p, seed) for f in prime_factors(n)) % prime.p


def _factors(form: Form, channel: str, prime: SafePrime, seed: int) -> list[int | None]:
    """The form's factors in one channel; None for one that has no place there."""
    m = prime.p if channel == "v" else prime.q
    r, has_place = form.rational, form.rational.denominator % m != 0
    out: list[int | None] = [r.numerator * pow(r.denominator, -1, m) % m if has_place else None]
    if form.root > 1:
        root = principal_root(form.root, m)
        out.append(root if root is None or form.degree == 2 else principal_root(root, m))
    if form.half_pi:
        out.append(pow(_sqrt_pi(m, seed), form.half_pi, m))
    if form.ln2:
        ln2 = _ln(2, channel, prime, seed)
        out.append(pow(ln2, form.ln2, m) if ln2 else None)
    return [*out, _ln(form.log, channel, prime, seed)] if form.log > 1 else out


def _channel(form: Form, channel: str, prime: SafePrime, seed: int) -> tuple[int, bool]:
    out = 1
    for factor in _factors(form, channel, prime, seed):
        if factor is None:
            return 0, False
        out = out * factor % (prime.p if channel == "v" else prime.q)
    return out, True


@lru_cache(maxsize=16384)
def field_value(constant: Form | Fraction | int | float, prime: SafePrime, seed: int = 0) -> FieldValue:
    """(v, w, v_valid, w_valid) of a form or of a finite number taken exactly; the same for equal seeds."""
    form = constant if isinstance(constant, Form) else exact(constant)
    (v, v_valid), (w, w_valid) = (_channel(form, c, prime, seed) for c in ("v", "w"))
    return FieldValue(v, w, v_valid, w_valid)
