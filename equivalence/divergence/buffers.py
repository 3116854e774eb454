"""The memory behind lanes: where a buffer was made, what a load or select went by, which lanes are undefined.

Takes a Trace or Nodes; gives facts that the rules about memory share.  Holds no rule.
"""

from __future__ import annotations

import numpy as np

from equivalence.divergence.cone import reached
from equivalence.divergence.finding import Context
from equivalence.divergence.index import Fact, conjuncts, facts
from equivalence.divergence.node import Node
from equivalence.divergence.source import argument
from equivalence.divergence.trace import Choice, Trace
from lowering.errors import Span
from lowering.ir.program import Op, Value


def alloc_span(trace: Trace, number: int) -> Span | None:
    """Where the buffer was made: the host's own line if a launch got it, since buffers are made on first use."""
    op = trace.allocs.get(number)
    if op is None:
        return None
    launches = [o for o in trace.program.body.ops if o.name == "launch" and o.span == op.span]
    for launch in launches:
        for position, value in enumerate(launch.operands):
            if _base(trace, value) is op:
                return argument(launch.span, position, len(launch.operands))
    return op.span


def _base(trace: Trace, value: Value) -> Op | None:
    op = trace.definers.get(value)
    while op is not None and op.name == "addptr":
        op = trace.definers.get(op.operands[0])
    return op


def mask_of(node: Node) -> tuple[Choice, Value] | None:
    """What a load or select went by, and the SSA value of its condition."""
    choice, op = node.application.choice, node.op
    if choice is None or op is None or choice.condition is None:
        return None
    return choice, op.operands[0 if node.name == "select" else 1]


def masked_off(node: Node) -> bool:
    """Whether the load's mask is false at this lane."""
    choice = node.application.choice
    if node.name != "load" or choice is None or choice.condition is None:
        return False
    mask, (instance, *lane) = choice.condition.full(choice.condition.data), node.lane
    return not mask[(min(instance, len(mask) - 1), *lane)]  # one mask for all instances, or those still running


def undefined(c: Context) -> list[Node]:
    """Lanes of the cone, in order, that take an undefined lane as it is."""
    names = made_by(c.b.trace)
    flags = names == "undefined"
    found = []
    for application in c.b.trace.log:
        part = slice(application.first, application.first + application.size)
        if application.operands and c.b.cone[part].any():
            hit = reached(application, flags & c.b.cone).ravel() & c.b.cone[part]
            found.extend(Node(c.b, application.first + int(i)) for i in np.flatnonzero(hit))
    return found


def made_by(trace: Trace) -> np.ndarray:
    return np.repeat(np.array([a.name for a in trace.log]), [a.size for a in trace.log])


def out_of_bounds(c: Context) -> list[Node]:
    return [n for n in undefined(c) if n.name == "load" and not masked_off(n)]


def facts_of(node: Node) -> dict[Value, Fact]:
    choice, op = node.application.choice, node.op
    if choice is None or op is None or choice.address is None:
        return {}
    return facts(node.side.trace, choice, op.operands[0], node.lane)


def conjuncts_of(c: Context, node: Node) -> list[Fact]:
    held = mask_of(node)
    return [] if held is None else conjuncts(c.b.trace, *held, node.lane)


def enclosing(trace: Trace, op: Op) -> Op | None:
    """The innermost loop around an op."""
    found = [
        o
        for o in trace.program.walk()
        if o.name in ("for", "while") and any(i is op for r in o.regions for i in r.walk())
    ]
    return found[-1] if found else None
