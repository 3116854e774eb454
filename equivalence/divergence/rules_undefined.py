"""Rules about lanes of no particular value: unwritten outputs, uncleared memory, masked-off lanes, padding.

Each rule takes a Context and gives an Explanation or None; RULES is their order.
"""

from __future__ import annotations

import numpy as np

from equivalence.divergence.buffers import alloc_span, masked_off, undefined
from equivalence.divergence.cone import reached
from equivalence.divergence.finding import Context, Explanation, Rule, said
from equivalence.divergence.node import MOVES, Node
from equivalence.divergence.operands import about, same_in_a, words
from equivalence.divergence.trace import BUFFER_BITS, Trace
from lowering.ir.program import Op


def unwritten(c: Context) -> Explanation | None:
    """The output element is a lane that nothing ever wrote."""
    node = c.root_b.source()
    if node.name != "undefined" or any(n.name == "load" for n in c.root_b.chain()):
        return None
    launch = _writing_launch(c)
    span = launch.span if launch is not None else node.span
    grid = f" (grid {tuple(launch.attrs['grid'])})" if launch is not None else ""
    what = f"B never writes {c.name}{list(c.element)}: no program instance{grid} reaches it, so it is undefined"
    return said("missing-term", c.root_a.made, span, what)


def _writing_launch(c: Context) -> Op | None:
    launches = [s.choice.launch for s in c.b.trace.stores if s.choice.launch is not None]
    return launches[-1] if launches else next((o for o in c.b.trace.program.body.ops if o.name == "launch"), None)


def uninitialised(c: Context) -> Explanation | None:
    """A buffer's first contents, which nobody set, take part in the result."""
    for node in undefined(c):
        number = _buffer(node)
        if number is not None and number in c.b.trace.allocs:
            span = alloc_span(c.b.trace, number)
            verb = "adds to" if node.op is not None and node.op.name == "atomic_rmw" else "reads"
            what = f"B {verb} memory that was never cleared: its first contents join {c.name}{list(c.element)}"
            return said("other", c.root_a.made, span, what)
    return None


def _buffer(node: Node) -> int | None:
    """The buffer whose own undefined contents this lane takes; None for masked-off and out-of-bounds lanes."""
    op = node.op
    leaf = next(n for operand in node.operands for n in operand if n.name == "undefined")
    if op is None or leaf.op is None or len(leaf.application.shape) != 2 or leaf.application.shape[0] != 1:
        return None
    for number, alloc in node.side.trace.allocs.items():
        if (
            leaf.application.shape[1]
            and alloc.attrs["bytes"] == leaf.application.shape[1] * leaf.application.data.itemsize
        ):
            if op.name in ("atomic_rmw", "read") or (node.name == "load" and _address(node) >> BUFFER_BITS == number):
                if not masked_off(node) and _is_written(node.side.trace, op, number):
                    return number
    return None


def _is_written(trace: Trace, op: Op, number: int) -> bool:
    """Whether the atomic or load can be about that buffer: it is no input's."""
    alloc = trace.allocs[number]
    inputs = {o.operands[0] for o in trace.program.body.ops if o.name == "write"}
    return alloc.result not in inputs


def _address(node: Node) -> int:
    choice = node.application.choice
    assert choice is not None and choice.address is not None
    return int(choice.address.full(choice.address.data, node.application.shape[0])[node.lane])


def masked_undefined(c: Context) -> Explanation | None:
    """Masked-off lanes of a load without `other` reach the result."""
    for node in undefined(c):
        if masked_off(node):
            what = f"{about(node.span)} gives masked-off lanes no value, and {c.name}{list(c.element)} uses them"
            what += " (naming an sm_* target makes them 0, as on NVIDIA)"
            return said("mask", c.root_a.made, node.span, what)
    return None


def undefined_padding(c: Context) -> Explanation | None:
    """Padding of unspecified contents reaches an operation."""
    for node in undefined(c):
        if node.name in MOVES:
            user = _first_user(c, node)
            if user is not None and node.name == "pad":
                what = f"B's {words(user)} takes in padding whose contents are unspecified; A uses the elements alone"
                return said("padding", same_in_a(c, user), user.span, what)
    return None


def _first_user(c: Context, node: Node) -> Node | None:
    """The first operation in the cone that uses the lane, looking through moves."""
    flags = np.zeros(c.b.cone.shape, bool)
    flags[node.number] = True
    for application in c.b.trace.log:
        part = slice(application.first, application.first + application.size)
        if application.first + application.size <= node.number or not application.operands or not c.b.cone[part].any():
            continue
        hit = reached(application, flags).ravel() & c.b.cone[part]
        if hit.any():
            if application.name not in MOVES:
                return Node(c.b, application.first + int(np.flatnonzero(hit)[0]))
            flags[part] |= hit
    return None


RULES: list[Rule] = [unwritten, uninitialised, masked_undefined, undefined_padding]
