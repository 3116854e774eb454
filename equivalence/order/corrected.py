"""Additions whose errors are carried along: chains of Kahan's sum in a revealed tree.

Takes a Box and settled nodes; gives the chains, and turns them into compensated steps and back.  Must not know how the
nodes were found.

Beside masks Kahan's sum is a chain of plain additions.  It shows in a tie: 2^-p, and then 1 + 2^(1-p), add up to
1 + 2^(2-p), but the error that is carried along takes that back to 1 + 2^(1-p) at the next addition.
"""

from __future__ import annotations

from dataclasses import dataclass

from equivalence.numerics.formats import format_of

from .box import Box, Formats
from .grown import Node, first_of, in_order

LAST = "Kahan with the last error"  # which is subtracted from the sum in the end
WAYS = (LAST, "Kahan")


@dataclass(slots=True, eq=False)
class Chain:
    """``top``: the highest addition that is seen to be corrected; ``terms``: what is added up to there, in order;
    ``above``: the addition of its result to something else, if there is one."""

    top: Node
    terms: list[Node | int]
    above: Node | None
    way: str = ""  # where that could be told


def chains_in(box: Box, formats: Formats, root: Node | int) -> list[Chain]:
    """The longest chains of corrected additions."""
    nodes = in_order(root)
    parents = {id(child): node for node in nodes for child in node.children if isinstance(child, Node)}
    running: dict[int, Node | int] = {}
    for node in nodes:
        first = _running_sum(box, formats, node, _outside(node, parents))
        if first is not None:
            running[id(node)] = first
    chains: list[Chain] = []
    for node in nodes:
        parent = parents.get(id(node))
        goes_on = parent is not None and running.get(id(parent)) is node
        if id(node) in running and not goes_on:
            above = parent if parent is not None and _is_plain(parent) else None
            chain = Chain(node, _terms(node, running), above)
            if above is not None:
                chain.way = _way(box, formats, chain, running[id(node)], _outside(above, parents))
            chains.append(chain)
    return chains


def _outside(node: Node, parents: dict[int, Node]) -> int | None:
    """A term that joins the node's result above it."""
    parent = parents.get(id(node))
    while parent is not None and len(parent.children) == 1:
        node, parent = parent, parents.get(id(parent))
    return next((first_of(child) for child in parent.children if child is not node), None) if parent else None


def _is_plain(node: Node) -> bool:
    return node.how is None and len(node.children) == 2


def _terms(top: Node, running: dict[int, Node | int]) -> list[Node | int]:
    terms: list[Node | int] = []
    node: Node | int = top
    while isinstance(node, Node) and id(node) in running:
        first = running[id(node)]
        terms += [child for child in node.children if child is not first]
        node = first
    return [node, *reversed(terms)]


def _running_sum(box: Box, formats: Formats, node: Node, outside: int | None) -> Node | int | None:
    """The child of a corrected addition to which the other one is added; None for a plain addition.

    ``outside``: a term above the node that takes away 1, where the result's format would hide the rest.
    """
    bits = format_of(node.dtype).p
    unit, hidden = 2.0**-bits, bits > formats.counted_bits
    if not _is_plain(node) or (hidden and (outside is None or unit < 2.0 ** formats.smallest(subnormal=True))):
        return None
    for first, second in (node.children, node.children[::-1]):
        parts = _parts(second, unit, bits <= formats.value.p)
        if parts is None:
            continue
        box.clear()
        for term, value in (*parts, (first_of(first), unit), *([(outside, -1.0)] if hidden else [])):
            box.put(term, box.number(value))
        if box.call() == 2 * unit + (0 if hidden else 1):
            return first
    return None


def _way(box: Box, formats: Formats, chain: Chain, first: Node | int, outside: int | None) -> str:
    """Whether the error at the chain's top is taken from the sum, or from the next term, where it is lost beside -4."""
    assert chain.above is not None
    bits = format_of(chain.top.dtype).p
    unit, hidden = 2.0**-bits, bits > formats.counted_bits
    parts = _parts(next(c for c in chain.top.children if c is not first), unit, bits <= formats.value.p)
    if parts is None or (hidden and outside is None):
        return ""
    beside = next(first_of(child) for child in chain.above.children if child is not chain.top)
    box.clear()
    for term, value in (*parts, (first_of(first), unit), (beside, -4.0), *([(outside, 3.0)] if hidden else [])):
        box.put(term, box.number(value))
    lost = box.call() + (0 if hidden else 3)
    return {0.0: LAST, 4 * unit: "Kahan"}.get(lost, "")


def _parts(child: Node | int, unit: float, fits: bool) -> list[tuple[int, float]] | None:
    """1 + 2 units at one term, or at two whose addition is exact where the values' format does not hold it."""
    if fits:
        return [(first_of(child), 1 + 2 * unit)]
    while isinstance(child, Node) and len(child.children) == 1:
        child = child.children[0]
    if not isinstance(child, Node):
        return None
    return [(first_of(child.children[0]), 1.0), (first_of(child.children[1]), 2 * unit)]


def merge(chains: list[Chain], way: str) -> list[tuple[Node, Node]]:
    """Makes every chain one compensated step; gives what ``restore`` needs.

    Without the last error the correction of a chain's top is seen because one more addition takes it up.
    """
    changed: list[tuple[Node, Node]] = []
    for chain in chains:
        top, terms = chain.top, list(chain.terms)
        way = chain.way or way
        if way != LAST and chain.above is not None:
            terms += [child for child in chain.above.children if child is not top]
            top = chain.above
        changed.append((top, Node(top.children, top.how, top.dtype)))
        top.children, top.how, top.by = terms, "compensated", way
    return changed


def restore(changed: list[tuple[Node, Node]]) -> None:
    for node, before in reversed(changed):
        node.children, node.how, node.by = before.children, before.how, ""
