"""Finds the pattern of an order: simple ones first, then groups whose parts are again patterns, else a copy.

Takes a Table and a root; gives a Pattern that rebuilds exactly this order: every proposal is checked by emitting it
into the table.  Must not know how a pattern reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from equivalence.order.canonical import LEAVES, UNARY, Table
from equivalence.order.groupings import Before, ByBits, Irregular, Then
from equivalence.order.patterns import Mismatch, One, Pairwise, Pattern
from equivalence.order.proposals import Proposal, groupings, halvings
from equivalence.order.simple import simple, wrapped
from equivalence.order.view import View

SPLITS = ("low", "high", "neighbours", *(f"multiple of {k}" for k in (4, 8, 16, 32)))


class Recogniser:
    """The patterns of one table, each part looked at once."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._known: dict[tuple[int, tuple[int, ...]], Pattern | None] = {}

    def pattern(self, root: int, leaves: Sequence[int]) -> Pattern:
        """The pattern that gives ``root`` from ``leaves``, in the end a copy."""
        return self._regular(root, leaves) or irregular(View(self.table, root, leaves))

    def _regular(self, root: int, leaves: Sequence[int]) -> Pattern | None:
        """The pattern, None where nothing is found."""
        key = root, tuple(leaves)
        if key not in self._known:
            view = View(self.table, root, leaves)
            self._known[key] = self._simple(view) or self._grouped(view)
        return self._known[key]

    def _simple(self, view: View) -> Pattern | None:
        if not view.whole:
            return None
        base, hops = view.peeled(view.root)
        if base in view.place:
            return wrapped(One(), hops) if view.size == 1 else None
        if (before := self._before(view)) is not None:
            return before
        for proposal in simple(view, base, hops):
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
        inner = self._regular(view.root, [view.at[1 << i][most - 1] for i in range(view.size)])
        if len(each) > 1 or inner is None or is_irregular(inner):
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
        for found in self._halved(view, best is None):
            cost = cost_of(found)
            if (best is None or cost < best[0]) and view.gives(found):
                best = cost, found
        return best[1] if best is not None else None

    def _filled(self, view: View, proposal: Proposal) -> Iterator[Pattern]:
        """A grouping with its inner and outer patterns; the inner one is read off the second, first or last group."""
        outer = self._part(view, proposal.root, proposal.nodes)
        if outer is None:
            return
        hops, outer = (outer.hops, outer.inner) if isinstance(outer, Then) else ((), outer)
        if proposal.root != view.root:
            hops = view.peeled(view.root)[1]
        split = self._split(proposal.nodes)
        tried: set[Pattern] = set()
        for number in (1, 0, -1):
            inner = self._part(view, proposal.nodes[number], [view.leaves[i] for i in proposal.groups[number]])
            if inner is None or inner in tried or isinstance(inner, One):
                continue
            if is_irregular(inner) and is_irregular(outer):
                continue
            tried.add(inner)
            yield wrapped(replace(proposal.grouping, inner=inner, outer=outer, split=split), hops)

    def _part(self, view: View, root: int, leaves: Sequence[int]) -> Pattern | None:
        """The pattern of a part of ``view``; a copy only where the part is small."""
        small = 4 * len(leaves) <= view.size
        return self._regular(root, leaves) or (self.pattern(root, leaves) if small else None)

    def _split(self, nodes: Sequence[int]) -> bool:
        """Whether each node is computed by another program instance."""
        notes = [self.table.notes.get(node) for node in nodes]
        places = {note.where for note in notes if note is not None}
        return None not in notes and len(places) == len(nodes)

    def _halved(self, view: View, three: bool) -> Iterator[Pattern]:
        """Halving down to groups that have a pattern of their own; ``three``: (a + b) + c counts too."""
        base, hops = view.peeled(view.root)
        if view.node(base)[0] != "add":
            return
        power = view.size & (view.size - 1) == 0
        for split in SPLITS[:1] if power else SPLITS:
            for halving, sizes in halvings(view, Pairwise(view.node(base)[1], split)):
                if len(sizes) == 3 and not three:  # better read as one after another
                    continue
                ends = [(0, sizes[0]), (view.size - sizes[-1], view.size)]
                for start, end in ends:
                    mask = (1 << end) - (1 << start)
                    if mask not in view.at:
                        continue
                    inner = self._regular(view.at[mask][0], view.leaves[start:end])
                    if inner is not None and not is_irregular(inner) and not isinstance(inner, One | Pairwise):
                        yield wrapped(replace(halving, inner=inner), hops)


def is_irregular(pattern: Pattern) -> bool:
    """Whether a copy is part of a pattern."""
    return any(isinstance(p, Irregular) for p in pattern.walk())


def cost_of(pattern: Pattern) -> tuple[int, int]:
    """Copies in a pattern, then its parts: fewer is simpler, and groups by index bits are the last resort."""
    parts = list(pattern.walk())
    return sum(isinstance(p, Irregular) for p in parts), len(parts) + 2 * sum(isinstance(p, ByBits) for p in parts)


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
