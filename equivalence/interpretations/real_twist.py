"""Signs of roots of literal factors: the channels take one root of c, the real root of c may be the other one.

sqrt(c x) is sqrt(c) sqrt(x) for c > 0.  In a channel the root is multiplicative too, but of 9 it may be -3: then a
factor 9 is twisted.  Twists of factors add up, and the root of a twisted lane is negated.  Gives mark bits of products
and sums, and the sign of roots.  Must not know KIR.
"""

from __future__ import annotations

import numpy as np

from equivalence.fields.constants import Form, field_value, principal_root
from equivalence.interpretations.real_cell import LITERAL, NOTHING, TWIST_V, TWIST_W, TWISTS, Array, Cell, flag
from equivalence.interpretations.real_literals import Literals


def product(literals: Literals, a: Cell, b: Cell) -> Array:
    """Of a product or a quotient; nothing of literals, whose exact meaning is known."""
    return (_twists(literals, a) ^ _twists(literals, b)) & TWISTS


def added(a: Cell, b: Cell) -> Array:
    """Of a sum: what both terms have; a literal 0 has everything."""
    return _or_zero(a) & _or_zero(b)


def added_along(a: Cell, axis: int) -> Array:
    return np.bitwise_and.reduce(_or_zero(a), axis=axis)


def root(channel: str, x: Cell, taken: Array, negated: Array) -> Array:
    """``taken``, the channel's root, or ``negated`` where x is twisted."""
    bit = TWIST_V if channel == "v" else TWIST_W
    return np.where((x.mark & bit) != 0, negated, taken) if x.has(bit) else taken


def _or_zero(x: Cell) -> Array:
    zero = x.zero_literal
    bits = x.mark & TWISTS
    return bits if zero is None or not bits.any() else bits | flag(zero, TWISTS)


def _twists(literals: Literals, x: Cell) -> Array:
    if not x.is_all(LITERAL):
        return x.mark & TWISTS
    known = literals.forms(x) if x.sample.size == 1 else None
    bits = of_form(literals, known[0]) if known else NOTHING
    return np.full((1,) * x.mark.ndim, bits)


def of_form(literals: Literals, form: Form) -> np.uint32:
    """In which channels the root of a positive literal is not the one that the channel takes."""
    real = form.sqrt() if form.rational > 0 else None
    if real is None:
        return NOTHING
    prime, seed = literals.channels.prime, literals.seed
    square, value = field_value(form, prime, seed), field_value(real, prime, seed)
    bits = NOTHING
    if square.v_valid and value.v_valid and principal_root(square.v, prime.p) not in (value.v, None):
        bits |= TWIST_V
    if square.w_valid and value.w_valid and principal_root(square.w, prime.q) not in (value.w, None):
        bits |= TWIST_W
    return np.uint32(bits)


__all__ = ["added", "added_along", "of_form", "product", "root"]
