"""How one output element is added up: the accumulations in its cone, each as an OrderTree.

Takes a Trace and an output lane; gives Accumulations, the outermost first.  An accumulation is a largest connected part
of the cone made of additions, fused products, reductions, scans, dots and colliding updates, with the conversions and
rescalings between them; what is added is a term.  Must not name trees (naming.py) nor compare them (relation.py).
"""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from equivalence.divergence.trace import Trace
from equivalence.evaluator.frame import DEADLINE, OutOfTime
from equivalence.interpretations.exact import contains
from equivalence.order.lanes import Graph, Made
from equivalence.order.places import labels, ordered
from equivalence.order.sums import NAMES, Child, Sums, additive
from equivalence.order.tree import OrderTree, Step
from lowering.errors import Span, Unsupported

MOST_TERMS = 1 << 16


@dataclass(frozen=True, slots=True)
class Accumulation:
    """One accumulation of an output element.

    ``tree`` with its terms in the order of their places; ``terms[i]`` the lane of term i, or the lanes of the two
    factors of a product; ``root`` the lane of the result; ``count`` how many of the same kind the element has.
    """

    tree: OrderTree
    terms: tuple[tuple[int, ...], ...]
    root: int
    span: Span
    count: int = 1

    def values(self, graph: Graph) -> list[np.ndarray | tuple[np.ndarray, np.ndarray]]:
        """The traced values of the terms, as ``tree.evaluate`` takes them."""
        found: list[np.ndarray | tuple[np.ndarray, np.ndarray]] = []
        for lanes in self.terms:
            parts = [np.array([_datum(graph, lane)]) for lane in lanes]
            found.append((parts[0], parts[1]) if len(parts) == 2 else parts[0])
        return found


def accumulations(trace: Trace, root: int) -> list[Accumulation]:
    """Every accumulation of three terms or more, or in an open order, behind lane ``root``; like ones are counted.

    Raises OutOfTime past the deadline of runs: behind an element of a chain of products lie all elements of the others.
    """
    graph = Graph(trace)
    sums = Sums(graph)
    seen: set[int] = set()
    kinds: dict[tuple[object, ...], list[Accumulation]] = {}
    waiting = [graph.source(root)]
    while waiting:
        lane = waiting.pop()
        if lane in seen:
            continue
        seen.add(lane)
        made = graph.at(lane)
        if time.monotonic() > DEADLINE.get():
            raise OutOfTime(made.span)
        if not additive(graph, made):
            waiting.extend(reversed([graph.source(i) for i in _operands(made)]))
            continue
        region = Region(graph, made, sums)
        waiting.extend(graph.source(i) for lanes in reversed(region.terms) for i in lanes)
        found = region.accumulation()
        if found.tree.size > 2 or found.tree.open_steps():
            kinds.setdefault((id(made.op), found.tree.steps, found.tree.size), []).append(found)
    return [_counted(same) for same in kinds.values()]


def _counted(same: Sequence[Accumulation]) -> Accumulation:
    first = same[0]
    return Accumulation(first.tree, first.terms, first.root, first.span, len(same))


def _operands(made: Made) -> Iterator[int]:
    if made.name in ("reduce", "scan", "sort"):
        for operand in range(len(made.application.operands)):
            yield from made.axis_lanes(operand)
    elif made.name == "dot":
        for a, b in made.factors():
            yield from (a, b)
        yield from (made.given(i) for i in range(2, len(made.application.operands)))
    else:
        yield from (made.given(i) for i in range(len(made.application.operands)))


def _datum(graph: Graph, lane: int) -> object:
    made = graph.at(lane)
    data = made.application.data
    return data[tuple(0 if e == 1 else i for e, i in zip(data.shape, made.place, strict=True))]


class Region:
    """The accumulation that ends in one lane: its steps and terms, collected without recursion.

    ``sums``: the plans of the graph's additive lanes, which overlapping regions share.
    """

    def __init__(self, graph: Graph, root: Made, sums: Sums) -> None:
        self.graph, self.root, self.sums = graph, root, sums
        self.plan = self.sums.plan
        self.order = self._collect()
        self.leaves = self._leaves()
        self.terms = [self._lanes(child) for child in self.leaves]

    # -- the region ----------------------------------------------------------------------------------------------

    def _collect(self) -> list[int]:
        """Additive lanes of the region, operands before users; a lane that is used twice is a term instead.

        Lanes come by falling numbers: all users of one are known when it comes, and nothing below a term is looked at.
        """
        uses: Counter[int] = Counter({self.root.number: 1})
        waiting, inside = [-self.root.number], 0
        self.shared: set[int] = set()
        while waiting:
            lane = -heapq.heappop(waiting)
            if uses[lane] > 1:
                self.shared.add(lane)
                continue
            inside += 1
            if inside > MOST_TERMS:
                raise Unsupported(f"an accumulation of more than {MOST_TERMS} additions", self.root.span)
            for child in self.plan(lane)[1]:
                inner = self.inner(child, lane)
                if inner is not None:
                    if not uses[inner]:
                        heapq.heappush(waiting, -inner)
                    uses[inner] += 1
        return self._postorder()

    def _postorder(self) -> list[int]:
        order: list[int] = []
        waiting: list[tuple[int, bool]] = [(self.root.number, False)]
        while waiting:
            lane, done = waiting.pop()
            if done:
                order.append(lane)
                continue
            waiting.append((lane, True))
            for child in reversed(self.plan(lane)[1]):
                inner = self.inner(child, lane)
                if inner is not None and inner not in self.shared:
                    waiting.append((inner, False))
        return order

    def inner(self, child: Child, user: int) -> int | None:
        """The sum that a child is, below conversions and rescalings; None where it is a term."""
        if child[0] == "product":
            return None
        for made in self._below(child[1], user):
            if additive(self.graph, made):
                return made.number
        return None

    def _below(self, lane: int, user: int) -> Iterator[Made]:
        """A lane and what it converts, negates or rescales, down to a sum or a term."""
        made = self.graph.at(lane)
        while True:
            yield made
            if additive(self.graph, made):
                return
            if made.name in ("cast", "neg") and self._is_float(made):
                made = self.graph.at(self.graph.source(made.given()))
            elif made.name == "mul" and (chain := self._rescaled(made, user)) is not None:
                made = chain
            else:
                return

    def _is_float(self, made: Made) -> bool:
        below = self.graph.at(self.graph.source(made.given()))
        return below.application.data.dtype in NAMES

    def _rescaled(self, made: Made, user: int) -> Made | None:
        """The sum that a product rescales, where the same operation adds to it in every round (online softmax)."""
        op = self.graph.at(user).op
        for i in (0, 1):
            below = self.graph.at(self.graph.source(made.given(i)))
            if op is not None and below.op is op and additive(self.graph, below):
                return below
        return None

    # -- as a tree -----------------------------------------------------------------------------------------------

    def _leaves(self) -> list[Child]:
        found: list[Child] = []
        for lane in self.order:
            for child in self.plan(lane)[1]:
                inner = self.inner(child, lane)
                if inner is None or inner in self.shared:
                    found.append(child)
        return found

    def _lanes(self, child: Child) -> tuple[int, ...]:
        if child[0] == "product":
            return self.sums.pairs[child[1]]
        return (child[1],)

    def accumulation(self) -> Accumulation:
        places = ordered(self.graph, self.terms)
        rank = {int(leaf): position for position, leaf in enumerate(places)}
        terms = [self.terms[leaf] for leaf in places]
        steps: list[Step] = []
        number = {}  # lane -> id
        leaf = iter(range(len(self.leaves)))
        for lane in self.order:
            made = self.graph.at(lane)
            how, children = self.plan(lane)
            ids = []
            for child in children:
                inner = self.inner(child, lane)
                if inner is None or inner in self.shared:
                    ids.append(rank[next(leaf)])
                else:
                    ids.append(self._through(steps, child[1], lane, number[inner], len(terms)))
            number[lane] = self._add(steps, made, how, children, ids, len(terms))
        steps = steps or []
        products = frozenset(i for i, lanes in enumerate(terms) if len(lanes) == 2)
        return Accumulation(
            OrderTree(labels(self.graph, terms), tuple(steps), products, self._what(len(terms))),
            tuple(terms),
            self.root.number,
            self.root.span,
        )

    def _what(self, count: int) -> str:
        return f"sum of {count} terms at {_line(self.root.span)}"

    def _dtype(self, made: Made) -> str:
        return NAMES[made.application.data.dtype]

    def _through(self, steps: list[Step], lane: int, user: int, number: int, terms: int) -> int:
        """The conversions, signs and rescalings between a sum and the addition that uses it."""
        chain = list(self._below(lane, user))
        for made in reversed(chain[:-1]):
            below = chain[chain.index(made) + 1]
            dtype, line = self._dtype(made), _line(made.span)
            if made.name == "cast" and contains(dtype, self._dtype(below)):
                continue  # a wider format holds the same value
            if made.name == "mul":
                factor = next(made.given(i) for i in (0, 1) if self.graph.source(made.given(i)) != below.number)
                steps.append(
                    Step("scale", (number,), dtype, factor=self.graph.at(self.graph.source(factor)).value, line=line)
                )
            else:
                steps.append(Step("cast" if made.name == "cast" else "neg", (number,), dtype, line=line))
            number = terms + len(steps) - 1
        return number

    def _add(
        self, steps: list[Step], made: Made, how: str, children: Sequence[Child], ids: Sequence[int], terms: int
    ) -> int:
        dtype, line = self._dtype(made), _line(made.span)
        where = "" if how == "racing" else self.graph.where(made)
        by = "one dot" if made.name == "dot" else self.graph.level(made)

        def put(step: Step) -> int:
            steps.append(step)
            return terms + len(steps) - 1

        ids = list(ids)
        if how == "sub" and ids and (len(ids) == 2 or self.sums.is_zero(self.sums.lane(made.given(0)))):
            ids[-1] = put(Step("neg", (ids[-1],), dtype, line=line))
        if len(ids) <= 1:
            return ids[0] if ids else put(Step("open", (), dtype, line=line))
        if how == "compensated":
            return put(
                Step("compensated", tuple(ids), dtype, self.sums.compensated[made.number].by, where=where, line=line)
            )
        if how in ("open", "racing"):
            by = "atomics" if how == "racing" else by
            return put(Step(how, tuple(ids), dtype, by, where=where, line=line))
        if how == "fma":
            fused = children[0][0] == "product" and len(children) == 2
            return put(Step("fma" if fused else "add", tuple(ids), dtype, where=where, line=line))
        if how == "pairwise":
            return self._pairwise(put, ids, dtype, where, line)
        total = ids[0]
        for one in ids[1:]:
            total = put(Step("add", (total, one), dtype, where=where, line=line))
        return total

    def _pairwise(self, put: object, ids: list[int], dtype: str, where: str, line: str) -> int:
        while len(ids) > 1:
            pairs = [put(Step("add", (a, b), dtype, where=where, line=line)) for a, b in zip(ids[::2], ids[1::2])]  # type: ignore[operator]
            ids = pairs + ids[len(ids) - len(ids) % 2 :]
        return ids[0]


def _line(span: Span) -> str:
    return f"{Path(span.file).name}:{span.line}" if span.line else ""
