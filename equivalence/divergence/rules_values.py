"""Rules about single values: NaN, what stands in masked-off lanes, constants, eps.

Each rule takes a Context and gives an Explanation or None.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from equivalence.divergence.buffers import enclosing, masked_off
from equivalence.divergence.cone import reached
from equivalence.divergence.finding import Context, Explanation, Rule, nodes, number, said
from equivalence.divergence.node import MOVES, Node
from equivalence.divergence.operands import about, near, pairs, same, single, word, words
from equivalence.divergence.repair import agrees
from equivalence.divergence.source import argument, constant
from lowering.errors import Span
from lowering.ir.program import Op


def born_not_finite(c: Context) -> Explanation | None:
    """As ``not_finite``, where what goes into that operation is still right: a wrong value can become NaN later."""
    front = {n.number for n in c.front_b}
    return _not_finite(c, lambda node: node.number in front)


def not_finite(c: Context) -> Explanation | None:
    """B's result is NaN or infinite where A's is finite: the first operation that makes it so."""
    return _not_finite(c, lambda node: True)


def _not_finite(c: Context, counts: Callable[[Node], bool]) -> Explanation | None:
    if not np.isfinite(c.root_a.value) or np.isfinite(c.root_b.value):
        return None
    for node in nodes(c.b, ~np.isfinite(c.b.values)):
        if not node.operands or node.name in MOVES:
            continue
        operands = [n for operand in node.operands for n in operand]
        born = np.isnan(node.value) and not any(np.isnan(n.value) for n in operands)
        overflow = np.isinf(node.value) and all(np.isfinite(n.value) for n in operands)
        if not counts(node):
            continue
        if overflow or (born and not any(np.isinf(n.value) and not _sentinel(n) for n in operands)):
            given = " and ".join(f"{n.value:.9g}" for n in operands[:2])
            what = f"B's {words(node)} of {given} gives {number(node.value)} at {about(node.span)}; A stays finite"
            return said("nan", near(c, node), node.span, what)
    return None


def _sentinel(node: Node) -> bool:
    """An infinity that comes from a literal, not from overflow."""
    if node.literal or node.source().literal:
        return True
    return bool(node.operands) and any(np.isinf(n.value) and _sentinel(n) for o in node.operands for n in o)


def padding_values(c: Context) -> Explanation | None:
    """The value that stands in masked-off lanes takes part as if it were an element."""
    padded = _padded(c)
    if not padded.any():
        return None
    for node in c.front_b:
        lanes = [n for operand in node.operands for n in operand if padded[n.number] and not _neutral(node, n)]
        if lanes:
            return _padding(c, node, lanes[0], padded)
    return None


def _padded(c: Context) -> np.ndarray:
    """Masked-off lanes of loads, and what is computed from literals and them alone."""
    flags = np.zeros(c.b.cone.shape, bool)
    for application in c.b.trace.log:
        part = slice(application.first, application.first + application.size)
        if not (application.operands and c.b.cone[part].any()):
            continue
        if application.name == "load":
            lanes = [Node(c.b, application.first + int(i)) for i in np.flatnonzero(c.b.literal[part] & c.b.cone[part])]
            flags[[n.number for n in lanes if masked_off(n)]] = True
        else:
            flags[part] |= reached(application, flags).ravel() & c.b.literal[part]
    return flags


def _neutral(node: Node, lane: Node) -> bool:
    """Whether the lane's value changes nothing in that accumulation."""
    return {"reduce add": 0.0, "dot": 0.0, "reduce max": -np.inf, "reduce min": np.inf}.get(node.fn) == lane.value


def _padding(c: Context, node: Node, lane: Node, padded: np.ndarray) -> Explanation:
    """The load is to blame where its own filling is no neutral element, else the step that made it none."""
    taken = f"the {number(lane.value)} that stands in masked-off lanes"
    what = f"B's {words(node)} takes in {taken}; A uses the elements alone"
    if node.name not in ("reduce", "dot", "scan"):
        return said("mask", near(c, node), node.span, what)
    own = next((n for n in lane.chain() if n.name == "load"), None)
    made = own or next((n for n in nodes(c.b, padded) if n.name != "load" and n.number <= lane.number), lane)
    return said("mask" if own is None else "padding", near(c, node), made.span, what)


def first_value(c: Context) -> Explanation | None:
    """A running sum that starts from something else than zero."""
    for b in c.front_b:
        starts = [n for n in (o[0].source() for o in b.operands if len(o) == 1) if n.literal]
        if b.fn in ("add", "dot") and starts and (b.name == "dot" or _enclosed(c, b)) and np.isfinite(starts[0].value):
            if starts[0].value and not any(n.fn == b.fn and any(o.literal for o in single(n)) for n in c.front_a):
                what = f"B's running sum starts from {number(starts[0].value)}, A's from zero"
                return said("accumulator", near(c, b), written(starts[0], b), what)
    return None


def _enclosed(c: Context, node: Node) -> bool:
    return node.op is not None and enclosing(c.b.trace, node.op) is not None


def constants(c: Context) -> Explanation | None:
    """The same operation with another constant; with A's constant B would agree."""
    for a, b in pairs(c):
        found = _constant_pair(single(a), single(b))
        if found is not None and (_mended(c, *found) or _nothing_else(c)):
            ca, cb = found
            kind = "eps" if b.name == "add" and max(abs(ca.value), abs(cb.value)) < SMALL else "constant"
            verb = {"add": "adds", "mul": "multiplies by", "div": "divides by", "sub": "subtracts"}.get(
                b.name, f"uses in {words(b)}"
            )
            return said(
                kind, written(ca, a), written(cb, b), f"A {verb} {number(ca.value)} where B {verb} {number(cb.value)}"
            )
    return None


def _nothing_else(c: Context) -> bool:
    """Whether a constant is all that is known to part, and no function is applied by one side alone."""
    applied = [{n.fn for n in nodes(s, ~s.leaf) if n.name == "math"} for s in (c.a, c.b)]
    return len(c.front_a) == len(c.front_b) == 1 and applied[0] == applied[1]


def _constant_pair(a: list[Node], b: list[Node]) -> tuple[Node, Node] | None:
    """The literals that differ, when all other operands are the same values."""
    if len(a) != len(b) or len(a) < 2:
        return None
    rest_a, rest_b = [n for n in a if not n.literal], [n for n in b if not n.literal]
    lits_a, lits_b = [n for n in a if n.literal], [n for n in b if n.literal]
    if len(lits_a) != 1 or len(lits_b) != 1 or not all(map(same, rest_a, rest_b)) or word(lits_a[0]) == word(lits_b[0]):
        return None
    return lits_a[0], lits_b[0]


def _mended(c: Context, ca: Node, cb: Node) -> bool:
    op = constant_op(cb)
    return op is not None and agrees(c, op, value=ca.value)


def constant_op(node: Node) -> Op | None:
    """The constant behind a literal lane, if it is one constant."""
    while node.name not in ("literal", "input") and len(node.operands) == 1 and len(node.operands[0]) == 1:
        node = node.operands[0][0]
    return node.op if node.name == "literal" and node.op is not None and node.op.name == "constant" else None


def written(node: Node, user: Node) -> Span:
    """Where a literal was written: on the host if a launch passed it in or folded it in; else where it is used."""
    span = _written(node)
    return span if span.line else user.span


def _written(node: Node) -> Span:
    trace, op = node.side.trace, constant_op(node) or node.op
    if op is None:
        return node.span
    launches = [o for o in trace.program.body.walk() if o.name == "launch"]
    for launch in launches:
        for position, value in enumerate(launch.operands):
            if trace.definers.get(value) is op:
                return argument(launch.span, position, len(launch.operands))
    in_kernel = any(o is op for k in trace.program.kernels.values() for o in k.body.walk())
    return constant(op.span, node.value, launches[-1].span if in_kernel and launches else None)


def counted(c: Context) -> Explanation | None:
    """A divides by a count of kept elements, B by a constant."""
    for b in (n for n in c.front_b if n.name in ("div", "mul") and any(o.literal for o in single(n))):
        given = next((n for n in single(b) if not n.literal), b)
        for a in (n for n in nodes(c.a, c.a.bad) if n.name == "div" and len(single(n)) == 2):
            over, by = single(a)
            if same(over, given) and not by.literal and _counts(by):
                count = f"how many elements count, here {number(by.value)}"
                what = f"A divides by {count}; B's divisor is fixed: {about(b.span)}"
                return said("mask", a.span, b.span, what)
    return None


def _counts(node: Node) -> bool:
    """Whether a value follows from comparisons of integers alone: a sum of a mask."""
    numbers = {node.number}
    waiting = [node]
    while waiting and len(numbers) < 4096:
        for operand in waiting.pop().operands:
            fresh = [n for n in operand if n.number not in numbers and not n.literal]
            numbers.update(n.number for n in fresh)
            waiting.extend(fresh)
    leaves = [Node(node.side, n) for n in numbers if Node(node.side, n).name == "input"]
    return bool(leaves) and all(leaf.application.data.dtype.kind in "iub" for leaf in leaves)


SMALL = 1e-2  # an added constant below this is an eps


def eps_place(c: Context) -> Explanation | None:
    """Both sides add the same small constant, to different values."""
    for b in _adds_small(c.front_b):
        for a in _adds_small(nodes(c.a, c.a.bad)):
            eps_a, eps_b = (next(n for n in single(x) if n.literal) for x in (a, b))
            if np.isclose(eps_a.value, eps_b.value, rtol=1e-6):
                after, before = (_operand_in_words(x) for x in (a, b))
                return said("eps", a.span, b.span, f"A adds {number(eps_a.value)} to {after}, B to {before}")
    return None


def _adds_small(found: list[Node]) -> list[Node]:
    return [n for n in found if n.name == "add" and any(o.literal and 0 < abs(o.value) < SMALL for o in single(n))]


def _operand_in_words(node: Node) -> str:
    other = next((n for n in single(node) if not n.literal), node)
    return f"the {words(other)}" if other.name != "input" else other.element()


def extra_eps(c: Context) -> Explanation | None:
    """Only one side adds a small constant."""
    for mine, theirs, who, other in ((c.front_b, c.a, "B", "A"), (c.front_a, c.b, "A", "B")):
        for node in _adds_small(mine):
            if not _adds_small(nodes(theirs, theirs.cone)):
                eps = next(n for n in single(node) if n.literal)
                rest = c.first_a() if who == "B" else c.first_b()
                span = rest.span if rest is not None else None
                spans = (span, node.span) if who == "B" else (node.span, span)
                return said(
                    "eps", *spans, f"{who} adds {number(eps.value)} to {_operand_in_words(node)}; {other} does not"
                )
    return None


RULES: list[Rule] = [padding_values, first_value, constants, counted, eps_place]
