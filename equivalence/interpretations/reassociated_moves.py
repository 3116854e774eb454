"""Products with an identity, as a matrix unit's transposes are written: each sum has one product, by a literal 1.

Takes a `reassociated` and a dot's operands; gives the words of the elements that it moves, or None.  The other products
are with literal zeros, so that only the sign of a zero can differ from the element: an assumption that is listed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from equivalence.evaluator.lanes import NONE, Lanes
from equivalence.interpretations.base import Site
from equivalence.interpretations.exact import lossless
from equivalence.interpretations.hashed import Words, as_float

if TYPE_CHECKING:
    from equivalence.interpretations.reassociated import Reassociated

Keeps = Callable[[Lanes], bool]


def moved(meaning: Reassociated, site: Site, out: Lanes, a: Lanes, b: Lanes, keeps: Keeps) -> Words | None:
    """Words of a dot one of whose operands has a single literal 1, and zeros, for each element of the result.

    ``keeps``: whether rounding an operand to the dot's precision changes nothing.
    """
    for x, other, axis in ((a, b, 0), (b, a, 1)):
        if not (x.dtype.is_float and out.dtype.is_float and other.dtype.is_float) or other.literal == NONE:
            continue
        places = _places(meaning, other, axis)
        if places is None or not (keeps(x) and lossless(x, out, site)) or _infinite(meaning, x):
            continue
        meaning.assumed.add("the sign of zero: literal zeros were dropped from sums and products")
        along = len(x.shape) - axis
        words = meaning.op_cast(site, x.replace(dtype=out.dtype), x)[meaning.plane]
        return np.take(meaning.full_axis(words, x.shape, along), places, axis=along)
    return None


def _places(meaning: Reassociated, x: Lanes, axis: int) -> np.ndarray | None:
    """Where along the contracted axis (``axis`` of the matrix) the single literal 1 is; None of other matrices."""
    one, zero = meaning.literal_is(x, 1.0), meaning.literal_is(x, 0.0)
    if one is None or zero is None or any(n != 1 for mask in (one, zero) for n in mask.shape[:-2]):
        return None
    ones, zeros = (np.broadcast_to(mask[(0,) * (mask.ndim - 2)], x.shape[-2:]) for mask in (one, zero))
    if not (ones | zeros).all() or (ones.sum(axis=axis) != 1).any():
        return None
    return ones.argmax(axis=axis)


def _infinite(meaning: Reassociated, x: Lanes) -> bool:
    """Whether x has literals that a zero does not make vanish."""
    literal = meaning.where_literal(x, meaning.word(x))
    return literal is not None and bool((literal & ~np.isfinite(as_float(x.data))).any())
