"""What one lane adds up: the plan of a single sum, before sums are put together.

Takes a Graph; gives Sums, which says for an additive lane how its children are combined.  Must not know regions or
trees (extract.py).
"""

from __future__ import annotations

import numpy as np

from equivalence.order.compensated import Compensated, recognise
from equivalence.order.lanes import Graph, Made
from lowering.ir.types import DTYPES

NAMES = {np.dtype(d.numpy): d.name for d in DTYPES.values() if d.is_float}
_UPDATES = ("atomic_rmw", "scatter")
Child = tuple[str, int]  # ("lane" | "product", number): a lane, or the number of a pair of factors


def additive(graph: Graph, made: Made) -> bool:
    """Whether a lane is itself a sum (of floats)."""
    if made.application.data.dtype not in NAMES:
        return False
    if made.name in ("reduce", "scan"):
        return made.application.attrs["combine"] == "add"
    return made.name in ("add", "sub", "fma", "dot")


class Sums:
    """Plans of additive lanes; ``pairs`` are the factors of products that were met, by number."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.compensated: dict[int, Compensated] = {}
        self.pairs: list[tuple[int, int]] = []
        self._plans: dict[int, tuple[str, list[Child]]] = {}

    def plan(self, lane: int) -> tuple[str, list[Child]]:
        """(how, children) of an additive lane; children that are the literal zero are left out."""
        if lane not in self._plans:
            how, children = self._plan(self.graph.at(lane))
            self._plans[lane] = how, [c for c in children if not self.is_zero(c)]
        return self._plans[lane]

    def _plan(self, made: Made) -> tuple[str, list[Child]]:
        exact = recognise(self.graph, made)
        if exact is not None:
            self.compensated[made.number] = exact
            return "compensated", [self.lane(t) for t in exact.terms]
        colliding = self._colliding(made)
        if colliding is not None:
            return colliding
        attrs = made.application.attrs
        match made.name:
            case "add" | "sub":
                return made.name, [self.lane(made.given(0)), self.lane(made.given(1))]
            case "fma":
                return "fma", [self._pair(made.given(0), made.given(1)), self.lane(made.given(2))]
            case "reduce" | "scan":
                lanes = made.axis_lanes()
                if made.name == "scan":
                    at = made.place[int(attrs["axis"]) + 1]
                    lanes = (
                        lanes[: at - 1 : -1]
                        if attrs["reverse"] and at
                        else lanes[::-1]
                        if attrs["reverse"]
                        else lanes[: at + 1]
                    )
                how = str(attrs["order"]) if attrs["order"] in ("sequential", "pairwise", "racing") else "open"
                return how, [self.lane(i) for i in lanes]
            case "dot":
                products = [self._pair(a, b) for a, b in made.factors()]
                extra = [self.lane(made.given(i)) for i in range(2, len(made.application.operands))]
                return "open", [*extra, *products]
        return "term", []

    def _colliding(self, made: Made) -> tuple[str, list[Child]] | None:
        """Additions that one atomic or scatter, or one generic combiner, makes in an open order, as one step."""
        op = made.op
        if made.name != "add":
            return None
        outer = self.graph.regions.get(id(op)) if op is not None else None
        opened = op is not None and op.name in _UPDATES
        if not opened and (outer is None or outer.attrs["order"] == "sequential"):
            return None
        children: list[Child] = []
        waiting = [made.number]
        while waiting:
            inner = self.graph.at(waiting.pop())
            if inner.name == "add" and inner.op is op:
                waiting.extend(self.graph.source(inner.given(i)) for i in (1, 0))
            else:
                children.append(self.lane(inner.number))
        order = op.attrs.get("order", "racing") if opened and op is not None else "unordered"
        return ("racing" if order == "racing" else "sequential" if order == "sequential" else "open"), children

    def lane(self, number: int) -> Child:
        return "lane", self.graph.source(number)

    def _pair(self, a: int, b: int) -> Child:
        self.pairs.append((self.graph.source(a), self.graph.source(b)))
        return "product", len(self.pairs) - 1

    def is_zero(self, child: Child) -> bool:
        lanes = self.pairs[child[1]] if child[0] == "product" else (child[1],)
        return any(self.graph.literal(lane) == 0 for lane in lanes)
