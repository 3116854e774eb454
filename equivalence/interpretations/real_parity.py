"""The sign that a logarithm modulo q forgets: log v is w with g^w = v or -v, and PARITY says that it was -v.

Z_p* is Z_q x Z_2, so parities add up as logarithms do.  Whole factors act on them; after any other factor the sign of
the exponential is UNSURE.  Gives mark bits of sums, products and quotients.  Must not know channels.
"""

from __future__ import annotations

import numpy as np

from equivalence.fields.constants import Form
from equivalence.interpretations.real_cell import CONCRETE, LITERAL, PARITY, SIGNS, UNSURE, Array, Cell, flag
from equivalence.interpretations.real_literals import Literals

_EVEN, _ODD, _OTHER = 0, 1, 2
_EXACT = 2.0**53


def added(a: Array, b: Array) -> Array:
    """Of a sum or a difference, by the operands' marks."""
    return ((a ^ b) & PARITY) | ((a | b) & UNSURE)


def added_along(mark: Array, axis: int) -> Array:
    return (np.bitwise_xor.reduce(mark, axis=axis) & PARITY) | (np.bitwise_or.reduce(mark, axis=axis) & UNSURE)


def lost(a: Array, axis_a: int, b: Array, axis_b: int) -> Array:
    """Of a matrix product: one of the rows or columns holds such a logarithm."""
    row, column = np.bitwise_or.reduce(a, axis=axis_a), np.bitwise_or.reduce(b, axis=axis_b)
    return unsure(np.expand_dims(row, axis_a) | np.expand_dims(column, axis_b))


def unsure(mark: Array) -> Array:
    """Of a root, a power and whatever else is no whole multiple."""
    return flag((mark & SIGNS) != 0, UNSURE)


def product(literals: Literals, a: Cell, b: Cell) -> Array:
    bits = np.zeros((1,) * a.mark.ndim, np.uint32)
    for x, other in ((a, b), (b, a)):
        if x.has(SIGNS):
            bits = bits | _times(x.mark, _factor(literals, other))
    return bits


def quotient(literals: Literals, a: Cell, b: Cell) -> Array:
    bits = unsure(b.mark)
    if a.has(SIGNS):
        factor = _factor(literals, b, inverse=True)
        bits = bits | _times(a.mark, factor)
    return bits


def _times(mark: Array, factor: Array) -> Array:
    """An odd factor keeps the parity, an even one clears it, any other loses it."""
    kept = np.where(factor == _EVEN, mark & UNSURE, mark & SIGNS)
    return np.where(factor == _OTHER, unsure(mark), kept)


def _factor(literals: Literals, x: Cell, inverse: bool = False) -> Array:
    """What kind of factor each lane is; powers of ln 2 and the like are units, so that exp2 undoes log2."""
    known = literals.forms(x) if x.sample.size == 1 and x.is_all(LITERAL) else None
    if known is not None and len(known) == 1:
        return np.full((1,) * x.mark.ndim, _kind(known[0], inverse))
    whole = ((x.mark & CONCRETE) != 0) & (np.abs(x.sample) < _EXACT)
    odd = np.mod(np.where(whole, x.sample, 0.0), 2) == 1
    return np.where(whole & odd, _ODD, np.where(whole & (not inverse), _EVEN, _OTHER))


def _kind(form: Form, inverse: bool) -> int:
    up, down = form.rational.numerator * form.root, form.rational.denominator
    up, down = (down, up) if inverse else (up, down)
    if down % 2 == 0:
        return _OTHER
    return _ODD if up % 2 else _EVEN


__all__ = ["added", "added_along", "lost", "product", "quotient", "unsure"]
