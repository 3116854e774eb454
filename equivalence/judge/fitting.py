"""Which primes a pair is run under: those in which the roots among its literals have a place.

Takes a Pair and the primes that the seed picks; gives primes.  Where 31 is no square modulo p or q, a scale 31^-0.5 is
lost in that channel, and what stands for it there is no homomorphism: equal functions mismatch.
"""

from __future__ import annotations

from collections.abc import Sequence

from equivalence.fields.constants import Form, field_value, identify
from equivalence.fields.primes import SAFE_PRIMES, SafePrime, choose
from equivalence.interpretations.real import constants_of
from equivalence.judge.runs import Pair

LEAST = 2  # primes: an identity modulo one of them need not be one


def fitting(pair: Pair, primes: Sequence[SafePrime], seed: int) -> Sequence[SafePrime]:
    """``primes`` that have all roots in both channels, and others in place of the rest where fewer than LEAST have.

    All of ``primes`` where no prime has them.
    """
    meaning = identify(constants_of(pair.a), constants_of(pair.b)).meaning
    forms = {form for form in meaning.values() if form.root > 1}
    fit = [prime for prime in primes if _places(forms, prime)]
    if len(fit) < LEAST:
        others = [prime for prime in choose(seed, len(SAFE_PRIMES)) if prime.p not in {known.p for known in primes}]
        fit += [prime for prime in others if _places(forms, prime)][: LEAST - len(fit)]
    return fit or primes


def _places(forms: set[Form], prime: SafePrime) -> bool:
    places = [field_value(form, prime) for form in forms]
    return all(place.v_valid and place.w_valid for place in places)


__all__ = ["fitting"]
