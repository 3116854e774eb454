"""How rules compare operands of two programs, and say operations in words.

Takes Nodes and a Context; gives pairs, sameness and phrases.  Holds no rule.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from equivalence.divergence.cone import Side, labels, reached
from equivalence.divergence.finding import Context, nodes
from equivalence.divergence.node import MOVES, Node
from equivalence.divergence.source import line_text
from equivalence.divergence.trace import Stored
from lowering.errors import Span


def pairs(c: Context) -> Iterator[tuple[Node, Node]]:
    """Frontier lanes of A and B that are the same operation, B's order first."""
    for b in c.front_b:
        for a in c.front_a:
            if a.fn == b.fn:
                yield a, b


MOST_PARTNERS = 24


def alike(a: Node, b: Node) -> bool:
    """Whether two lanes can play one part: both truth values, integers or floats, from the same inputs."""
    kinds = [{"b": "b", "i": "i", "u": "i"}.get(n.application.data.dtype.kind, "f") for n in (a, b)]
    return kinds[0] == kinds[1] and labels(a.side.trace, a.number) == labels(b.side.trace, b.number)


def partners(c: Context) -> list[tuple[Node, Node]]:
    """Computed lanes of A that can stand for B's frontier, the same operation on the same elements first."""
    found = []
    for b in [n for n in c.front_b if n.name not in MOVES and n.name != "input"][:4]:
        seen: set[float] = set()
        for a in nodes(c.a, ~c.a.leaf & ~c.a.literal):
            if a.name in MOVES or a.value == b.value or a.value in seen or not alike(a, b):
                continue
            seen.add(a.value)
            touch = bool(a.side.touch[a.number] == b.side.touch[b.number])
            found.append(((a.fn != b.fn) + 2 * (not touch), a, b))
    found.sort(key=lambda one: one[0])
    return [(a, b) for _, a, b in found[:MOST_PARTNERS]]


def single(node: Node) -> list[Node]:
    """The operand lanes of an elementwise operation, before they were moved."""
    lanes = node.operands
    return [operand[0].source() for operand in lanes] if all(len(o) == 1 for o in lanes) else []


def word(node: Node) -> int:
    return int(node.side.words[node.number])


def same(a: Node, b: Node) -> bool:
    """One value on both sides: by word, or as near as f32 rounding leaves it."""
    return word(a) == word(b) or (
        not a.literal and not b.literal and bool(np.isclose(a.value, b.value, rtol=1e-4, atol=0))
    )


def about(span: Span) -> str:
    """The line in backquotes with its place."""
    text, place = line_text(span), f"{span.file.rsplit('/', 1)[-1]}:{span.line}"
    return f"`{text}` ({place})" if text else place


def words(node: Node) -> str:
    """The operation in words."""
    names = {"reduce add": "sum", "reduce max": "maximum", "reduce min": "minimum", "dot": "matrix product"}
    return names.get(node.fn, node.fn.removeprefix("math "))


def user_of(node: Node) -> Node | None:
    """The first lane of the cone computed from this one."""
    flags = np.zeros(node.side.cone.shape, bool)
    flags[node.number] = True
    for application in node.side.trace.log:
        part = slice(application.first, application.first + application.size)
        if not application.operands or not node.side.cone[part].any() or part.stop <= node.number:
            continue
        hit = reached(application, flags).ravel() & node.side.cone[part]
        if hit.any() and application.name not in MOVES:
            return Node(node.side, application.first + int(np.flatnonzero(hit)[0]))
        flags[part] |= hit
    return None


def near(c: Context, node: Node) -> Span | None:
    """Where A does the same operation, else where A parts from B, else where A's result is made."""
    found = [other for other in nodes(c.a, ~c.a.leaf) if other.fn == node.fn and other.span.line]
    alike = [other for other in found if other.dtype == node.dtype]
    if found:
        return (alike or found)[0].span
    first = c.first_a()
    return first.span if first is not None else c.root_a.made


def parted(side: Side, front: Node | None) -> Span | None:
    """Where a side parts, or the last step to its result that has a place in the source."""
    node = front or Node(side, side.root)
    if node.made.line:
        return node.made
    made = (n.span for n in reversed(nodes(side, ~side.leaf)) if n.span.line)
    return next(made, None) or (stored.op.span if (stored := _store(side)) is not None else None)


def _store(side: Side) -> Stored | None:
    own = [n.number for n in Node(side, side.root).chain()]
    return next((s for s in side.trace.stores[::-1] if (s.inside & np.isin(s.nodes, own)).any()), None)


def same_in_a(c: Context, node: Node) -> Span | None:
    """Where A does the same kind of operation, else where its result is made."""
    for other in nodes(c.a, np.ones(c.a.cone.shape, bool)):
        if other.fn == node.fn:
            return other.span
    return c.root_a.made
