"""Proposals of patterns without groups for a part of an order: read off its nodes, not yet checked.

Takes a View; gives patterns.  Must not know groups, except for the steps that come after a sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from equivalence.order.groupings import Then
from equivalence.order.patterns import Bits, Carry, Flat, Fold, Hop, Pairwise, Pattern, Visit
from equivalence.order.view import View

LISTED_MOST = 12  # an irregular visit of so few operands is written out
FLAT = ("open", "racing", "fused", "compensated")
FOLDED = ("add", "fma", "open", "racing", "fused")


def wrapped(pattern: Pattern, hops: Sequence[Hop]) -> Pattern:
    """A pattern and the steps after it."""
    return Then(pattern, tuple(hops)) if hops else pattern


def simple(view: View, base: int, hops: tuple[Hop, ...]) -> Iterator[Pattern]:
    """Patterns that may give ``base``, the first that does being the simplest, and then ``hops``."""
    how, dtype, _, _ = view.node(base)
    if how in FLAT:
        yield wrapped(Flat(how, dtype, view.by(base)), hops)
    if how in FOLDED:
        yield from _folds(view, base, hops)
    if how == "add":
        yield wrapped(Pairwise(dtype), hops)
        yield from (wrapped(Pairwise(dtype, split), hops) for split in ("high", "neighbours"))
        yield from (wrapped(bits, hops) for bits in _bits(view, base))


def _bits(view: View, base: int) -> Iterator[Bits]:
    """The tree whose levels are read off on the way from the first operand to the root.

    Where one operand joins at the end, it is better told apart.
    """
    order: list[int] = []
    node = base
    while node not in view.place:
        how, _, children, _ = view.node(node)
        if how != "add" or children[0] == children[1]:
            return
        near, far = sorted(children, key=lambda c: not view.masks[c] & 1)
        lowest = (view.masks[far] & -view.masks[far]).bit_length() - 1
        if lowest < 1 or lowest & (lowest - 1):
            return
        order.append(lowest.bit_length() - 1)
        node = near
    joined = view.size > 3 and 1 << order[0] == view.size - 1
    if not joined and sorted(order) == list(range(len(order))):
        yield Bits(view.node(base)[1], tuple(reversed(order)))


def _folds(view: View, base: int, hops: tuple[Hop, ...]) -> Iterator[Pattern]:
    """A running sum, read off from the last addition to the first."""
    groups: list[tuple[int, list[int]]] = []  # (step, places of its operands)
    gaps: list[tuple[Hop, ...]] = []
    node = base
    while node not in view.place:
        how, _, children, _ = view.node(node)
        inner = [c for c in children if c not in view.place]
        if how not in FOLDED or len(inner) > 1:
            return
        groups.append((node, [view.place[c] for c in children if c in view.place]))
        if not inner:
            break
        node, gap = view.peeled(inner[0])
        gaps.append(gap)
    first = node in view.place
    if first:
        groups.append((node, [view.place[node]]))
    yield from _as_folds(view, groups[::-1], gaps[::-1], first, hops)


def _as_folds(
    view: View, groups: list[tuple[int, list[int]]], gaps: list[tuple[Hop, ...]], first: bool, hops: tuple[Hop, ...]
) -> Iterator[Pattern]:
    step, operands = groups[1] if len(groups) > 1 else groups[0]
    how, dtype, _, _ = view.node(step)
    if how in ("add", "fma"):
        sequence = [i for _, group in groups for i in (group if len(group) < 2 else _pair(view, group, groups[0][0]))]
        folds = [Fold(dtype, how, visit=visit) for visit in _visits(sequence, view.size, how == "add" and not first)]
    elif len(groups) > 1:
        folds = [Fold(dtype, how, len(operands), len(groups[0][1]), by=view.by(step))]
    else:
        return
    carry = gaps[-1] if gaps else ()
    last = bool(carry) and hops[: len(carry)] == carry
    rest = hops[len(carry) :] if last else hops
    for fold in folds:
        yield wrapped(replace(fold, carry=Carry(carry, first and bool(carry), last)), rest)


def _pair(view: View, group: list[int], node: int) -> list[int]:
    """The first two operands: the running sum before what is added to it."""
    return group[::-1] if view.node(node)[0] == "fma" else sorted(group)


def _visits(sequence: list[int], size: int, exchangeable: bool) -> Iterator[Visit]:
    """The orders in which operands may have been taken, where the first two may be exchanged."""
    if len(sequence) != size:
        return
    swapped = [sequence[1], sequence[0], *sequence[2:]] if exchangeable else sequence
    for order in (sequence, swapped):
        known = [Visit(), Visit("reversed"), Visit("from", order[0])]
        if 2 <= (stride := order[1] - order[0]) <= size // 2:
            known.append(Visit("strides", stride))
        yield from (visit for visit in known if visit.order(size) == order)
    if size <= LISTED_MOST:
        yield Visit("listed", listed=tuple(min(sequence, swapped)))
