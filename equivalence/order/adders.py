"""What the additions of a revealed tree are: their formats, fused of several terms or not, and whether products are
rounded before.

Takes a Box and the nodes found in it; settles ``how`` and ``dtype`` of each.  Must not know how the nodes were found.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from equivalence.numerics.casts import cast
from equivalence.numerics.exact import round_rational
from equivalence.numerics.formats import format_of

from .box import Box, Formats
from .grown import Node, first_of, in_order

TRIALS = 8  # per fused addition
CLEARLY = 6  # bits beyond its precision at which a format must lose a unit; adders may keep two or three more
_MODES = ("rne", "rtz")
_HOLDERS = ("f32", "f64")  # formats for exact products of narrower ones


def settle(box: Box, formats: Formats, root: Node | int, accumulator: str | None, rng: np.random.Generator) -> str:
    """Settles all nodes; ``accumulator``: the format of all additions, found for each if not given.  Gives words on
    what steps do not say.

    What cannot be seen is taken to be simple: additions of values of one format into that format are done in it.
    """
    nodes, modes = in_order(root), set(_MODES)
    beside = {id(child): _other(node, child) for node in nodes for child in node.children}
    for node in nodes:
        if len(node.children) > 2:
            modes &= _rounding(box, formats, node, rng)
        seen = formats.result if node is root else accumulator or _format(box, formats, node, beside[id(node)])
        _settle(box, formats, node, seen)
    return "" if "rne" in modes else ", fused additions do not round to nearest"


def _other(node: Node, child: Node | int) -> int:
    """A term of the node that is not below the child."""
    return next(first_of(other) for other in node.children if other is not child)


def _settle(box: Box, formats: Formats, node: Node, seen: str) -> None:
    wide = _widest(seen, *(child.dtype for child in node.children if isinstance(child, Node)))
    if len(node.children) > 2:
        node.how = "fused"
    elif formats.factors == 2:
        wide = _settle_products(box, formats, node, wide)
    node.dtype = wide
    if wide != seen:  # values of a wider format are added in it
        node.children, node.how, node.dtype = [Node(node.children, node.how, wide, first=node.first)], "cast", seen


def _widest(*names: str) -> str:
    return max(names, key=lambda name: format_of(name).p)


# -- formats -----------------------------------------------------------------------------------------------------


def _format(box: Box, formats: Formats, node: Node, outside: int) -> str:
    """The narrowest format in which the node loses a unit beside a mask, which a term outside takes away again."""
    large, small = (first_of(child) for child in node.children[:2])
    mask, least = formats.largest(), formats.smallest(subnormal=True)
    for name in formats.adders():
        unit = mask - format_of(name).p - CLEARLY
        if unit < least:
            break
        box.clear()
        box.put(large, box.power(mask))
        box.put(small, box.power(unit))
        box.put(outside, box.power(mask, negative=True))
        if box.call() == 0.0:
            return name
    raise box.exactness()


# -- additions of more than two terms ----------------------------------------------------------------------------


def exact_sum(box: Box) -> Fraction:
    """The sum of what is in the box's arrays, products exact."""
    total = Fraction(0)
    for factors in zip(*(array.astype(np.float64).tolist() for array in box.arrays)):
        term = Fraction(1)
        for factor in factors:
            term *= Fraction(factor)
        total += term
    return total


def rounded_sum(box: Box, dtype: str, mode: str = "rne") -> float:
    """The exact sum rounded once."""
    total = exact_sum(box)
    return round_rational(total.numerator, total.denominator, dtype, mode)


def _rounding(box: Box, formats: Formats, node: Node, rng: np.random.Generator) -> set[str]:
    """How a node of several children may round; refuses one that is no adder.

    Terms of one binade need no shifting in an adder, so that it sums them exactly and rounds once, to nearest or
    towards zero.  Additions one after the other, in an order chosen by the values, do not always.
    """
    terms, modes = [first_of(child) for child in node.children], list(_MODES)
    for _ in range(TRIALS):
        _load_one_binade(box, formats, terms, rng)
        got = box.call()
        modes = [mode for mode in modes if rounded_sum(box, formats.result, mode) == got]
    if not modes:
        raise box.contradiction(f"terms {terms[0]} to {terms[-1]} meet at once, yet not in one rounding")
    return set(modes)


def _load_one_binade(box: Box, formats: Formats, terms: list[int], rng: np.random.Generator) -> None:
    """Random values from 1 to 2 at the terms: products of two, where their sum holds exact ones."""
    box.clear()
    two = formats.factors == 2 and 2 * formats.value.p <= format_of(formats.result).p
    top = 2**0.5 if two else 2.0
    drawn = [cast(rng.uniform(1, top - 0.01, len(terms)), "f64", box.dtype) for _ in box.arrays]
    box.put(terms, (drawn[0], drawn[1] if two else 1.0)[: len(box.arrays)])


# -- products ----------------------------------------------------------------------------------------------------


def _settle_products(box: Box, formats: Formats, node: Node, wide: str) -> str:
    """Whether the products among the two children are rounded before they are added; gives the addition's format."""
    kept = [isinstance(child, int) and _keeps(box, formats, child, node) for child in node.children]
    needed = 2 * formats.value.p
    if all(kept):
        holder = next((name for name in _HOLDERS if format_of(name).p >= needed), None)
        node.how = None if holder else "fused"
        return _widest(wide, holder or wide)
    if format_of(wide).p >= needed:  # a product that was rounded nevertheless
        node.children = [_rounded(c, keeps, formats) for c, keeps in zip(node.children, kept)]
    elif any(kept):
        node.how = "fma"
        node.children = node.children if kept[0] else node.children[::-1]
    return wide


def _rounded(child: Node | int, kept: bool, formats: Formats) -> Node | int:
    return child if kept or isinstance(child, Node) else Node([child], "cast", formats.dtype)


def _keeps(box: Box, formats: Formats, term: int, node: Node) -> bool:
    """Whether the product at ``term`` is added unrounded.

    A product of more bits than the dtype has is added to minus its rounded value, all else being 0: what comes out is
    what rounding it has cost, or 0 where it was rounded.
    """
    other = next(first_of(child) for child in node.children if child != term)
    bits = (formats.value.p + 3) // 2
    kind = box.arrays[0].dtype.type
    factor, rest = kind(1 + 2.0**-bits), 2.0 ** (-2 * bits)
    box.clear()
    box.put(term, (factor, factor))
    box.put(other, (kind(-(1 + 2.0 ** (1 - bits))), kind(1)))
    got = box.call()
    if got not in (0.0, rest):
        raise box.contradiction(f"a product at {term} and minus its rounded value leave {got:g}")
    return got == rest
