"""Which accumulation of one program answers which of the other, and how their orders are related.

Takes two traces of programs with the same inputs and seed, and an output element; gives Paired.  Terms are the same
where their words are, in which roundings count; else where as many stand in the same places.  Must not judge.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from equivalence.divergence.trace import Trace
from equivalence.fields.mersenne import MASK
from equivalence.order.element import Element, Named, element
from equivalence.order.lanes import Graph
from equivalence.order.relation import Relation, relate
from equivalence.order.tree import OrderTree

Words = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Paired:
    """An accumulation of A and the one of B that answers it; None where there is none.

    ``same_terms``: both add the very same terms.
    """

    a: Named | None
    b: Named | None
    relation: Relation | None
    same_terms: bool = False


def pair(a: Trace, b: Trace, output: int, index: Sequence[int] | None = None) -> tuple[Element, Element, list[Paired]]:
    """The accumulations of one element of an output of both."""
    sides = element(a, output, index), element(b, output, index)
    words = [[_words(Graph(t), n) for n in side.named] for t, side in zip((a, b), sides, strict=True)]
    left = list(range(len(sides[1].named)))
    found: list[Paired] = []
    for exact in (True, False):
        for i, mine in enumerate(sides[0].named):
            if any(p.a is mine for p in found):
                continue
            partner = next((j for j in left if _answer(words[0][i], words[1][j], exact)), None)
            if partner is not None:
                left.remove(partner)
                found.append(_related(mine, sides[1].named[partner], words[0][i], words[1][partner], exact))
    alone = [Paired(n, None, None) for n in sides[0].named if not any(p.a is n for p in found)]
    found.sort(key=lambda p: next(i for i, n in enumerate(sides[0].named) if n is p.a))
    return *sides, [*found, *alone, *(Paired(None, sides[1].named[j], None) for j in left)]


def _words(graph: Graph, named: Named) -> Words:
    """A word for every term: of a product an unordered pair."""
    return tuple(tuple(sorted(_word(graph, lane) for lane in lanes)) for lanes in named.accumulation.terms)


def _word(graph: Graph, lane: int) -> int:
    made = graph.at(lane)
    plane = made.application.planes["reassociated"]
    place = tuple(0 if extent == 1 else i for extent, i in zip(plane.shape, made.place, strict=True))
    return int(plane[place]) & int(MASK)


def _answer(a: Words, b: Words, exact: bool) -> bool:
    return sorted(a) == sorted(b) if exact else len(a) == len(b)


def _related(a: Named, b: Named, mine: Words, theirs: Words, exact: bool) -> Paired:
    """With B's terms numbered as A's, where they are the same ones."""
    tree = b.accumulation.tree
    if exact and mine != theirs:
        tree = _renumbered(tree, _matching(mine, theirs))
    return Paired(a, b, relate(a.accumulation.tree, tree), exact)


def _matching(mine: Words, theirs: Words) -> list[int]:
    """For each term of B the number of A's term with its word."""
    places: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for number, word in enumerate(mine):
        places[word].append(number)
    return [places[word].pop(0) for word in theirs]


def _renumbered(tree: OrderTree, to: Sequence[int]) -> OrderTree:
    def new(child: int) -> int:
        return to[child] if child < tree.size else child

    terms = [""] * tree.size
    for old, label in enumerate(tree.terms):
        terms[to[old]] = label
    steps = tuple(replace(step, children=tuple(map(new, step.children))) for step in tree.steps)
    return OrderTree(tuple(terms), steps, frozenset(map(new, tree.products)), tree.what)
