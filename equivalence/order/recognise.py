"""Finds the pattern of an order: simple ones first, then groups whose parts are again patterns, else a copy.

Takes a Table and a root; gives a Pattern that rebuilds exactly this order: every proposal is checked by emitting it
into the table.  Must not know how a pattern reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from equivalence.order.canonical import LEAVES, UNARY, Table
from equivalence.order.groupings import Before, ByBits, Irregular, Then
from equivalence.order.patterns import Bits, Carry, Flat, Fold, Hop, Mismatch, One, Pairwise, Pattern, Visit
from equivalence.order.proposals import Proposal, groupings, halvings
from equivalence.order.view import View

LISTED_MOST = 12  # an irregular visit of so few operands is written out
FLAT = ("open", "racing", "fused", "compensated")
FOLDED = ("add", "fma", "open", "racing", "fused")
SPLITS = ("low", "high", "neighbours", *(f"multiple of {k}" for k in (4, 8, 16, 32)))


class Recogniser:
    """The patterns of one table, each part looked at once."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._known: dict[tuple[int, tuple[int, ...]], Pattern] = {}

    def pattern(self, root: int, leaves: Sequence[int]) -> Pattern:
        """The pattern that gives ``root`` from ``leaves``."""
        key = root, tuple(leaves)
        if key not in self._known:
            view = View(self.table, root, leaves)
            self._known[key] = self._simple(view) or self._grouped(view) or irregular(view)
        return self._known[key]

    def _simple(self, view: View) -> Pattern | None:
        if not view.whole:
            return None
        base, hops = view.peeled(view.root)
        if base in view.place:
            return wrapped(One(), hops) if view.size == 1 else None
        if (before := self._before(view)) is not None:
            return before
        for proposal in _simple(view, base, hops):
            if view.gives(proposal):
                return proposal
        return None

    def _before(self, view: View) -> Pattern | None:
        """Steps that all operands go through first."""
        most = min(len(view.at[1 << i]) for i in range(view.size))
        if most == 1 or view.size == 1:
            return None
        try:
            each = {view.hops(leaf, view.at[1 << i][most - 1]) for i, leaf in enumerate(view.leaves)}
        except Mismatch:
            return None
        inner = self.pattern(view.root, [view.at[1 << i][most - 1] for i in range(view.size)])
        if len(each) > 1 or is_irregular(inner):
            return None
        after, inner = (inner.hops, inner.inner) if isinstance(inner, Then) else ((), inner)
        found = wrapped(Before(each.pop(), inner), after)
        return found if view.gives(found) else None

    def _grouped(self, view: View) -> Pattern | None:
        """The simplest grouping."""
        if not view.whole:
            return None
        best: tuple[tuple[int, int], Pattern] | None = None
        for proposal in groupings(view):
            for found in self._filled(view, proposal):
                cost = cost_of(found)
                if (best is None or cost < best[0]) and view.gives(found):
                    best = cost, found
            if best is not None and best[0] <= (0, 3):
                break
        for found in self._halved(view):
            cost = cost_of(found)
            if (best is None or cost < best[0]) and view.gives(found):
                best = cost, found
        return best[1] if best is not None else None

    def _filled(self, view: View, proposal: Proposal) -> Iterator[Pattern]:
        """A grouping with its inner and outer patterns; the inner one is read off the second, first or last group."""
        outer = self.pattern(proposal.root, proposal.nodes)
        hops, outer = (outer.hops, outer.inner) if isinstance(outer, Then) else ((), outer)
        if proposal.root != view.root:
            hops = view.peeled(view.root)[1]
        split = self._split(proposal.nodes)
        tried: set[Pattern] = set()
        for number in (1, 0, -1):
            inner = self.pattern(proposal.nodes[number], [view.leaves[i] for i in proposal.groups[number]])
            bad = [p for p in (inner, outer) if is_irregular(p)]
            if inner in tried or isinstance(inner, One) or len(bad) > 1 or 4 * sum(_sizes(bad)) > view.size:
                continue
            tried.add(inner)
            yield wrapped(replace(proposal.grouping, inner=inner, outer=outer, split=split), hops)

    def _split(self, nodes: Sequence[int]) -> bool:
        """Whether each node is computed by another program instance."""
        notes = [self.table.notes.get(node) for node in nodes]
        places = {note.where for note in notes if note is not None}
        return None not in notes and len(places) == len(nodes)

    def _halved(self, view: View) -> Iterator[Pattern]:
        """Halving down to groups that have a pattern of their own."""
        base, hops = view.peeled(view.root)
        if view.node(base)[0] != "add":
            return
        for split in SPLITS:
            for halving, sizes in halvings(view, Pairwise(view.node(base)[1], split)):
                ends = [(0, sizes[0]), (view.size - sizes[-1], view.size)]
                for start, end in ends:
                    mask = (1 << end) - (1 << start)
                    if mask not in view.at:
                        continue
                    inner = self.pattern(view.at[mask][0], view.leaves[start:end])
                    if not is_irregular(inner) and not isinstance(inner, One | Pairwise):
                        yield wrapped(replace(halving, inner=inner), hops)


def wrapped(pattern: Pattern, hops: Sequence[Hop]) -> Pattern:
    """A pattern and the steps after it."""
    return Then(pattern, tuple(hops)) if hops else pattern


def is_irregular(pattern: Pattern) -> bool:
    """Whether a copy is part of a pattern."""
    return any(isinstance(p, Irregular) for p in pattern.walk())


def _sizes(patterns: Sequence[Pattern]) -> Iterator[int]:
    for pattern in patterns:
        yield from (p.size for p in pattern.walk() if isinstance(p, Irregular))


def cost_of(pattern: Pattern) -> tuple[int, int]:
    """Copies in a pattern, then its parts: fewer is simpler, and groups by index bits are the last resort."""
    parts = list(pattern.walk())
    return sum(isinstance(p, Irregular) for p in parts), len(parts) + 2 * sum(isinstance(p, ByBits) for p in parts)


def _simple(view: View, base: int, hops: tuple[Hop, ...]) -> Iterator[Pattern]:
    how, dtype, _, _ = view.node(base)
    if how in FLAT:
        yield wrapped(Flat(how, dtype, view.by(base)), hops)
    if how in FOLDED:
        yield from _folds(view, base, hops)
    if how == "add":
        yield wrapped(Pairwise(dtype), hops)
        yield from (wrapped(Pairwise(dtype, split), hops) for split in SPLITS[1:3])
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


def irregular(view: View) -> Irregular:
    """The copy of a view."""
    below = view.table.below(view.root, frozenset(view.leaves))
    steps = [n for n in below if n not in view.place and view.node(n)[0] not in LEAVES]
    index = {number: k for k, number in enumerate(steps)} | {leaf: ~i for leaf, i in view.place.items()}
    depth: dict[int, int] = {}
    nodes: list[tuple[str, str, tuple[int, ...], str]] = []
    for n in steps:
        how, dtype, children, _ = view.node(n)
        cost = len(children) - 1 if how in ("open", "racing") else how not in UNARY
        depth[n] = cost + max(depth.get(c, 0) for c in children)
        nodes.append((how, dtype, tuple(index.get(c, 0) for c in children), view.by(n)))
    names = {leaf: f"operand {i}".encode() for leaf, i in view.place.items()}
    digest = view.table.digests(view.root, names)[view.root].hex()[:16]
    used = len(set(below) & view.place.keys())
    base = view.peeled(view.root)[0]
    dtype = "" if base in view.place else view.node(base)[1]
    size = view.size if view.whole else -1  # what has other terms too cannot be copied
    return Irregular(size, used, depth.get(view.root, 0), dtype, digest, tuple(nodes))
