"""Rules about roundings and order, where the real functions agree: casts, accumulators, reductions.

Each rule takes a Context and gives an Explanation or None; RULES is their order.
"""

from __future__ import annotations

from equivalence.divergence.cone import Side
from equivalence.divergence.finding import Context, Explanation, Rule, nodes, said
from equivalence.divergence.node import Node
from equivalence.divergence.operands import about, alike, words

_SUMS = ("reduce add", "dot", "scan add", "add")
ROUNDING = 0.1  # relative distance that a narrow accumulator alone can explain
_ORDERS = {"sequential": "one after the other", "pairwise": "pairwise", "racing": "in racing order"}


def accumulators(c: Context) -> Explanation | None:
    """The same sum in another dtype."""
    if c.by_value and c.gap > ROUNDING:
        return None
    for b in c.front_b:
        for a in c.front_a:
            if a.fn in _SUMS and b.fn in _SUMS and a.dtype != b.dtype and alike(a, b):
                return said("accumulator", a.span, b.span, f"A adds up in {a.dtype}, B adds up in {b.dtype}")
    return None


def rounding(c: Context) -> Explanation | None:
    """One side rounds a value to a narrower dtype that the other keeps.

    Where the values differ only the frontier counts; where they agree, any rounding on the way does.
    """
    sides = (c.b, c.front_b, c.first_a(), "B", "A"), (c.a, c.front_a, c.first_b(), "A", "B")
    for (mine, front, partner, who, other), (theirs, *_) in zip(sides, sides[::-1], strict=True):
        known = {n.dtype for n in _roundings(nodes(theirs, theirs.bad))}
        for node in _roundings(front if c.by_value else nodes(mine, mine.bad)):
            if node.dtype not in known:
                span = partner.span if partner is not None else None
                spans = (span, node.span) if who == "B" else (node.span, span)
                return said(
                    "cast", *spans, f"{who} rounds {_given(node)} to {node.dtype}: {about(node.span)}; {other} does not"
                )
    return None


def _roundings(found: list[Node]) -> list[Node]:
    """Conversions to a narrower dtype; of a conversion back, the one before it."""
    casts = [n for n in found if n.name == "cast"]
    casts += [before for n in casts for before in (n.operands[0][0].source(),) if before.name == "cast"]
    narrower = [
        n
        for n in casts
        if n.operands[0][0].application.data.dtype.kind not in "iub"
        and n.application.data.dtype.itemsize < n.operands[0][0].application.data.dtype.itemsize
    ]
    return sorted(narrower, key=lambda n: n.number)


def _given(node: Node) -> str:
    given = node.operands[0][0].source()
    return given.element() if given.name == "input" else f"the {words(given)}"


def orders(c: Context) -> Explanation | None:
    """The same terms added in another order."""
    if c.by_value:
        return None
    for b in c.front_b:
        for a in c.front_a:
            if a.fn in _SUMS and b.fn in _SUMS and alike(a, b):
                return said("order", a.span, b.span, f"A {_order(c.a, a)}; B {_order(c.b, b)}")
    return None


def _order(side: Side, node: Node) -> str:
    """How a sum is put together: in one reduction, or block by block."""
    turns = sum(1 for a in side.trace.log if a.op is node.op and side.cone[a.first : a.first + a.size].any())
    if node.name == "add":
        racing = node.op is not None and node.op.name == "atomic_rmw"
        return f"adds {turns + 1} terms {'in racing order' if racing else 'one after the other'}"
    terms = sum(not n.literal for n in node.operands[0])
    impl = node.application.attrs.get("impl") or "its compiler"
    order = _ORDERS.get(node.application.attrs["order"], f"in one reduction whose order {impl} chooses")
    return f"adds {turns} blocks of {terms} one after the other" if turns > 1 else f"adds {terms} terms {order}"


RULES: list[Rule] = [accumulators, rounding, orders]
