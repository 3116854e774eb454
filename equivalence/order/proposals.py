"""Which groupings of the operands a part of an order admits, judged by the spans of its nodes alone.

Takes a View; gives groupings, still without patterns inside, with the node of each group.  Must not know the patterns
of the groups (recognise.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from equivalence.order.groupings import Blocked, ByBits, Grouping, Lanes
from equivalence.order.patterns import Mismatch, One, Pairwise
from equivalence.order.view import View

_ONE = One()


@dataclass(frozen=True, slots=True)
class Proposal:
    """A grouping, the places in each group, the node of each group, and the node that combines these."""

    grouping: Grouping
    groups: Sequence[Sequence[int]]
    nodes: Sequence[int]
    root: int


def groupings(view: View) -> Iterator[Proposal]:
    """Every grouping of which each group is a node."""
    for grouping in (*_blocks(view), *_tails(view), *_lanes(view), *_by_bits(view)):
        size, root = view.size, view.root
        if isinstance(grouping, Lanes) and grouping.after:
            size -= size % grouping.width
            if (full := (1 << size) - 1) not in view.at:
                continue
            root = view.at[full][0]
        groups = grouping.groups(size)
        nodes = _nodes(view, groups)
        if nodes is not None:
            yield Proposal(grouping, groups, nodes, root)


def _nodes(view: View, groups: Sequence[Sequence[int]]) -> list[int] | None:
    """The node of each group, all above as many steps with one child as the group with the fewest."""
    stacks: list[list[int]] = []
    for group in groups:
        stack = view.at.get(_mask(group))
        if stack is None:
            return None
        stacks.append(stack)
    height = min(map(len, stacks)) - 1
    return [stack[height] for stack in stacks]


def _mask(group: Sequence[int]) -> int:
    if isinstance(group, range) and group.step == 1:
        return (1 << group.stop) - (1 << group.start)
    return sum(1 << i for i in group)


def _blocks(view: View) -> Iterator[Blocked]:
    """Contiguous blocks, the smallest first, perhaps after one operand that comes first."""
    for head in (0, 1):
        for mask in view.path(head):
            width = mask.bit_count()
            start, end = head + width, min(head + 2 * width, view.size)
            if mask != ((1 << width) - 1) << head or width == 1 or 2 * (end - start) < width:
                continue
            if (1 << end) - (1 << start) in view.at:
                yield Blocked(_ONE, _ONE, width=width, head=head)


def _tails(view: View) -> Iterator[Blocked]:
    """A sum of the first operands, to which the others are added one by one; or one of all but the first."""
    head = view.size
    while head > 1 and (1 << (head - 1)) - 1 in view.at:
        head -= 1
    if 1 < head < view.size:
        yield Blocked(_ONE, _ONE, width=1, head=head)
    full = (1 << view.size) - 1
    if view.size > 2 and full - 1 in view.at and full - 3 not in view.at:
        yield Blocked(_ONE, _ONE, width=view.size - 1, head=1)


def _lanes(view: View) -> Iterator[Lanes]:
    for mask in view.path(0):
        others = mask ^ 1
        width = (others & -others).bit_length() - 1
        if width < 2:
            continue
        full = view.size - view.size % width
        if mask == _mask(range(0, view.size, width)):
            yield Lanes(_ONE, _ONE, width=width)
        elif mask == _mask(range(0, full, width)):
            yield Lanes(_ONE, _ONE, width=width, after=True)


def _by_bits(view: View) -> Iterator[ByBits]:
    """Groups by index bits that are neither the lowest nor the highest: those are blocks and lanes."""
    of = (view.size - 1).bit_length()
    for mask in view.path(0):
        bits = tuple(b for b in range(of) if mask >> (1 << b) & 1)
        ends = (tuple(range(len(bits))), tuple(range(of - len(bits), of)))
        if bits and len(bits) < of and bits not in ends:
            if mask == _mask([i for i in _sums(bits) if i < view.size]):
                yield ByBits(_ONE, _ONE, bits=bits, of=of)


def _sums(bits: Sequence[int]) -> list[int]:
    """The numbers that have only some of these bits."""
    found = [0]
    for bit in bits:
        found += [number + (1 << bit) for number in found]
    return found


def halvings(view: View, halving: Pairwise) -> Iterator[tuple[Pairwise, list[int]]]:
    """A halving into four parts or more with each leaf size at which the first leaf is a node, the largest first, and
    the sizes of its leaves."""
    try:
        if (1 << halving.cut(view.size)) - 1 not in view.at:
            return
        sizes = _sizes(halving, view.size)
    except Mismatch:
        return
    for leaf in sizes:
        if 2 * leaf < view.size - 1:
            proposal = replace(halving, leaf=leaf, inner=_ONE)
            leaves = _leaves(view, proposal)
            if leaves:
                yield proposal, leaves


def _leaves(view: View, halving: Pairwise) -> list[int]:
    """The sizes of the leaves, none where one of them is no node."""
    found: list[int] = []
    start = 0
    try:
        for size in halving.leaves(view.size):
            if (1 << (start + size)) - (1 << start) not in view.at:
                return []
            found.append(size)
            start += size
    except Mismatch:
        return []
    return found


def _sizes(halving: Pairwise, size: int) -> list[int]:
    """The sizes that occur when halving goes on as long as it can, without the smallest."""
    found, waiting = {size}, [size]
    while waiting:
        size = waiting.pop()
        try:
            cut = halving.cut(size)
        except Mismatch:
            continue
        fresh = {cut, size - cut} - found - {1}
        found |= fresh
        waiting += fresh
    return sorted(found, reverse=True)
