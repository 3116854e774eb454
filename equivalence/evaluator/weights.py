"""How large the coefficients of integers are that are sums and products: words need a ring that holds them.

Integer words are elements of Z/(2^61-1), integers are elements of Z/2^bits: a polynomial with whole coefficients is the
same in both as long as no coefficient reaches the modulus.  Gives a bound in bits; None beyond it, where an operation
must be opaque.  Must not know words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from equivalence.evaluator.lanes import NONE, Lanes

if TYPE_CHECKING:
    from equivalence.interpretations.base import Site

MOST = 59
_KEEPS = frozenset(("cast", "bitcast", "neg"))


def weight(site: Site, out: Lanes, args: Sequence[Lanes]) -> int | None:
    """Bits of the largest coefficient of the result; None where the ring might not tell it from another."""
    if out.dtype.is_float or out.dtype.kind == "bool" or not args:
        return 0
    bits = [_bits(a) for a in args]
    match site.name:
        case "add" | "sub":
            found = max(bits) + 1
        case "mul":
            found = sum(bits)
        case name if name in _KEEPS:
            found = max(bits)
        case "reduce" if site.attrs["combine"] in ("add", "mul"):
            extent = max(1, args[0].shape[site.attrs["axis"]])
            add = site.attrs["combine"] == "add"
            found = bits[0] + (extent - 1).bit_length() if add else bits[0] * extent
        case "scan" if site.attrs["combine"] == "add":
            found = bits[0] + args[0].shape[site.attrs["axis"]].bit_length()
        case "scan" if site.attrs["combine"] == "mul":
            found = bits[0] * args[0].shape[site.attrs["axis"]]
        case "dot":
            found = max([bits[0] + bits[1] + args[0].shape[-1].bit_length(), *bits[2:]]) + len(bits[2:])
        case _:
            return 0
    return found if found <= MOST else None


def _bits(x: Lanes) -> int:
    """Of a value that has one letter of its own 0, of a literal those of its number."""
    if x.literal == NONE or not x.data.size or x.dtype.is_float:
        return x.weight
    largest = max(abs(int(np.max(x.data))), abs(int(np.min(x.data))))
    return max(x.weight, largest.bit_length())
