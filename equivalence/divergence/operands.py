"""How rules compare operands of two programs, and say operations in words.

Takes Nodes and a Context; gives pairs, sameness and phrases.  Holds no rule.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from equivalence.divergence.cone import reached
from equivalence.divergence.finding import Context, nodes
from equivalence.divergence.node import MOVES, Node
from equivalence.divergence.source import line_text
from lowering.errors import Span


def pairs(c: Context) -> Iterator[tuple[Node, Node]]:
    """Frontier lanes of A and B that are the same operation, B's order first."""
    for b in c.front_b:
        for a in c.front_a:
            if a.fn == b.fn:
                yield a, b


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
    for other in nodes(c.a, ~c.a.leaf):
        if other.fn == node.fn:
            return other.span
    first = c.first_a()
    return first.span if first is not None else c.root_a.made


def same_in_a(c: Context, node: Node) -> Span | None:
    """Where A does the same kind of operation, else where its result is made."""
    for other in nodes(c.a, np.ones(c.a.cone.shape, bool)):
        if other.fn == node.fn:
            return other.span
    return c.root_a.made
