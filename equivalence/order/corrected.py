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


def chains_in(box: Box, formats: Formats, root: Node | int) -> list[Chain]:
    """The longest chains of corrected additions."""
    nodes = in_order(root)
    running = {id(node): first for node in nodes if (first := _running_sum(box, formats, node)) is not None}
    parents = {id(child): node for node in nodes for child in node.children if isinstance(child, Node)}
    chains: list[Chain] = []
    for node in nodes:
        parent = parents.get(id(node))
        goes_on = parent is not None and running.get(id(parent)) is node
        if id(node) in running and not goes_on:
            above = parent if parent is not None and _is_plain(parent) else None
            chains.append(Chain(node, _terms(node, running), above))
    return chains


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


def _running_sum(box: Box, formats: Formats, node: Node) -> Node | int | None:
    """The child of a corrected addition to which the other one is added; None for a plain addition."""
    if not _is_plain(node) or format_of(node.dtype).p > formats.value.p:
        return None  # narrower values than the addition's cannot make the tie
    unit = 2.0 ** -format_of(node.dtype).p
    for first, second in (node.children, node.children[::-1]):
        box.clear()
        box.put(first_of(first), box.number(unit))
        box.put(first_of(second), box.number(1 + 2 * unit))
        if box.call() == 1 + 2 * unit:
            return first
    return None


def merge(chains: list[Chain], way: str) -> list[tuple[Node, Node]]:
    """Makes every chain one compensated step; gives what ``restore`` needs.

    Without the last error the correction of a chain's top is seen because one more addition takes it up.
    """
    changed: list[tuple[Node, Node]] = []
    for chain in chains:
        top, terms = chain.top, list(chain.terms)
        if way != LAST and chain.above is not None:
            terms += [child for child in chain.above.children if child is not top]
            top = chain.above
        changed.append((top, Node(top.children, top.how, top.dtype)))
        top.children, top.how, top.by = terms, "compensated", way
    return changed


def restore(changed: list[tuple[Node, Node]]) -> None:
    for node, before in reversed(changed):
        node.children, node.how, node.by = before.children, before.how, ""
