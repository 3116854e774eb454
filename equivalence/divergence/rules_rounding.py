"""Rules about roundings and order, where the real functions agree: casts, accumulators, contraction, reductions.

Each rule takes a Context and gives an Explanation or None; RULES is their order.
"""

from __future__ import annotations

from equivalence.divergence.finding import Context, Explanation, Rule, said
from equivalence.divergence.node import Node
from equivalence.divergence.rules_memory import words

_SUMS = ("reduce add", "dot", "scan add")


def rounding(c: Context) -> Explanation | None:
    """One side rounds a value to a narrower dtype that the other keeps."""
    for mine, theirs, who, other in ((c.front_b, c.front_a, "B", "A"), (c.front_a, c.front_b, "A", "B")):
        for node in mine:
            if node.name == "cast" and node.application.data.dtype.itemsize < _width(node):
                given = node.operands[0][0].source()
                partner = theirs[0] if theirs else (c.root_a if who == "B" else c.root_b)
                spans = (partner.span, node.span) if who == "B" else (node.span, partner.span)
                what = f"{who} rounds {_named(given)} to {node.dtype} ({node.span.file.rsplit('/', 1)[-1]}:{node.span.line}); {other} does not"
                return said("cast", *spans, what)
    return None


def _width(node: Node) -> int:
    return node.operands[0][0].application.data.dtype.itemsize


def _named(node: Node) -> str:
    return node.element() if node.name == "input" else f"the {words(node)}"


def accumulators(c: Context) -> Explanation | None:
    """The same sum in another dtype."""
    for b in c.front_b:
        for a in c.front_a:
            if _sums(a) and _sums(b) and a.dtype != b.dtype:
                return said("accumulator", a.span, b.span, f"A adds up in {a.dtype}, B in {b.dtype}")
    return None


def _sums(node: Node) -> bool:
    return node.fn in _SUMS or node.name == "add"


def orders(c: Context) -> Explanation | None:
    """The same terms added in another order."""
    for b in c.front_b:
        for a in c.front_a:
            if _sums(a) and _sums(b) and not c.by_value:
                return said("order", a.span, b.span, f"A {_order(a)}, B {_order(b)}")
    return None


def _order(node: Node) -> str:
    count = max((len(o) for o in node.operands), default=1)
    if node.name == "add":
        return "adds terms one after the other"
    order = {"sequential": "one after the other", "pairwise": "pairwise"}.get(
        node.application.attrs["order"], "in one reduction of open order"
    )
    return f"adds {count} terms {order}"


RULES: list[Rule] = [accumulators, rounding, orders]
