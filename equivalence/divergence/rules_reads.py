"""Rules about which elements reach the result: masks, indices, lost and overwritten terms.

Each rule takes a Context and gives an Explanation or None; RULES is their order.
"""

from __future__ import annotations

import numpy as np

from equivalence.divergence.buffers import conjuncts_of, enclosing, facts_of, made_by, mask_of, out_of_bounds
from equivalence.divergence.cone import reached
from equivalence.divergence.finding import Context, Explanation, Rule, nodes, said
from equivalence.divergence.index import Fact, facts, margin, suspects
from equivalence.divergence.node import MOVES, Node
from equivalence.divergence.operands import about, same_in_a, words
from equivalence.divergence.repair import scalar_repairs
from equivalence.divergence.source import argument, line_text
from equivalence.divergence.trace import Stored, Trace
from lowering.errors import Span
from lowering.ir.program import Op, Value


def _blame(c: Context, node: Node, fact: Fact | None) -> Span:
    return fact.op.span if fact is not None and fact.op is not None else node.span


def too_much(c: Context) -> Explanation | None:
    """B's result depends on elements that A's does not, and lacks none: a mask lets them through."""
    if c.missing or not (c.extra or out_of_bounds(c)):
        return None
    loads = [n for n in nodes(c.b, c.b.cone) if n.name == "load" and n.source().number in {e.number for e in c.extra}]
    loads = sorted([*loads, *out_of_bounds(c)], key=lambda n: n.number)
    selects = _selects_over(c, [e.number for e in c.extra])
    found = _least_margin(c, selects) or (_least_margin(c, loads[:1]) if loads else None)
    if found is None and not loads:
        return None
    node, fact = found or (loads[0], None)
    host = _host_scalar(c, node)
    if host is not None:
        return host
    what = c.extra[0].element() if c.extra else "a lane outside its buffer"
    sentence = f"B's mask lets {what} into {c.name}{list(c.element)}, which A leaves out: {_condition(node, fact)}"
    return said("mask", _mask_in_a(c), _blame(c, node, fact), sentence)


def _host_scalar(c: Context, node: Node) -> Explanation | None:
    """A launch argument behind a load's address or mask, if another value for it alone makes the two agree."""
    held = mask_of(node)
    known = [facts_of(node), *([facts(c.b.trace, *held, node.lane)] if held is not None else [])]
    for fact in (f for one in known for f in one.values() if f.op is None):
        span = _host_span(c, node, fact)
        if span is not None:
            what = f"the host passes {fact.value}, `{line_text(span)}`; with another value for it B agrees with A"
            return said("index", c.root_a.made, span, what)
    return None


def _condition(node: Node, fact: Fact | None) -> str:
    if fact is None or fact.op is None:
        return f"{about(node.span)} has no mask against it"
    values = f", here {fact.operands[0]} against {fact.operands[1]}" if len(fact.operands) == 2 else ""
    return f"`{line_text(fact.op.span) or fact.op.name}`{values}"


def _selects_over(c: Context, numbers: list[int]) -> list[Node]:
    """Selects of the cone that took a side computed from these lanes."""
    flags = np.zeros(c.b.cone.shape, bool)
    flags[numbers] = True
    found = []
    for application in c.b.trace.log:
        part = slice(application.first, application.first + application.size)
        hit = reached(application, flags).ravel() if application.operands else np.zeros(application.size, bool)
        flags[part] |= hit
        if application.name == "select" and application.choice is not None:
            found.extend(Node(c.b, application.first + int(i)) for i in np.flatnonzero(hit & c.b.cone[part]))
    return found


def _least_margin(c: Context, candidates: list[Node]) -> tuple[Node, Fact] | None:
    """The comparison nearest to turning over: the one that is off by little is the one that is off."""
    best: tuple[int, Node, Fact] | None = None
    for node in candidates:
        for fact in conjuncts_of(c, node):
            if fact.op is not None and (best is None or margin(fact) < best[0]):
                best = (margin(fact), node, fact)
    return None if best is None else (best[1], best[2])


def _mask_in_a(c: Context) -> Span | None:
    for node in nodes(c.a, c.a.cone):
        if node.name == "select" or node.name == "load":
            return node.span
    return c.root_a.made


def _rejected(node: Node, numbers: np.ndarray) -> np.ndarray:
    """What this lane of a select did not take; all of it where one lane stands for many."""
    shape = node.application.shape
    one_each = np.broadcast_shapes(numbers.shape, shape) == shape
    return np.atleast_1d(np.broadcast_to(numbers, shape)[node.lane] if one_each else numbers.ravel())


def too_little(c: Context) -> Explanation | None:
    """A's result depends on elements that a select or mask of B throws away."""
    if not c.missing or c.extra:
        return None
    tainted = _forward(c, _in_b(c))
    for node in nodes(c.b, c.b.cone):
        choice = node.application.choice
        if node.name == "select" and choice is not None and choice.rejected is not None:
            if tainted[_rejected(node, choice.rejected)].any():
                return _strict(c, node)
    return None


def _strict(c: Context, node: Node) -> Explanation:
    false = [f for f in conjuncts_of(c, node) if not f.value]
    fact = min(false, key=margin, default=None)
    sentence = (
        f"B's mask keeps {c.missing[0].element()} out of {c.name}{list(c.element)}, which A lets in: "
        f"{_condition(node, fact)}"
    )
    return said("mask", _mask_in_a(c), _blame(c, node, fact), sentence)


def _in_b(c: Context) -> np.ndarray:
    """B's lanes that hold the elements B's result lacks."""
    wanted = np.isin(c.b.words, [c.a.words[n.number] for n in c.missing])
    return wanted & (made_by(c.b.trace) == "input")


def _forward(c: Context, flags: np.ndarray) -> np.ndarray:
    """All lanes of B computed from the flagged ones."""
    flags = flags.copy()
    for application in c.b.trace.log:
        if application.operands:
            part = slice(application.first, application.first + application.size)
            flags[part] |= reached(application, flags).ravel()
    return flags


def overwritten(c: Context) -> Explanation | None:
    """The missing terms were computed, and then replaced instead of added to."""
    if not c.missing:
        return None
    tainted = _forward(c, _in_b(c))
    store = _lost_store(c, tainted)
    if store is not None:
        what = f"B computes the terms of {c.missing[0].element()} but this store is overwritten by another instance's"
        return said("accumulator", c.root_a.made, store.op.span, f"{what}; A adds them up")
    for node in c.front_b:
        if node.fn in ("reduce add", "dot", "add", "scan add") and _lost_turn(c, node, tainted):
            first_turn = _first_turn(c.b.trace, node.op)
            if first_turn is not None:
                lost = c.missing[0].element()
                what = f"B starts the sum afresh in every turn, so {lost} is lost: {about(first_turn.span)}"
                return said("accumulator", same_in_a(c, node), first_turn.span, what)
            what = (
                f"B's {words(node)} replaces what the turn before left, so {c.missing[0].element()} is lost; A adds up"
            )
            return said("accumulator", same_in_a(c, node), node.span, what)
    return None


def _lost_store(c: Context, tainted: np.ndarray) -> Stored | None:
    own = {n.number for n in c.root_b.chain()}
    for last in c.b.trace.stores:
        hit = last.inside & np.isin(last.nodes, list(own))
        if hit.any():
            address = last.address[hit][0]
            for store in c.b.trace.stores:
                lost = store.inside & (store.address == address) & tainted[store.nodes]
                if (lost & ~np.isin(store.nodes, list(own))).any():
                    return store
    return None


def _first_turn(trace: Trace, op: Op | None) -> Op | None:
    """The condition under which a sum starts afresh, when the op's result is added to what an `if` chose."""
    for user in trace.program.walk() if op is not None else ():
        if user.name == "add" and any(_moved_from(trace, v) is op for v in user.operands):
            for chosen in (trace.definers.get(v) for v in user.operands):
                if chosen is not None and chosen.name == "if":
                    return trace.definers.get(chosen.operands[0], chosen)
    return None


def _moved_from(trace: Trace, value: Value) -> Op | None:
    op = trace.definers.get(value)
    while op is not None and op.name in ("broadcast", "reshape", "transpose"):
        op = trace.definers.get(op.operands[0])
    return op


def _lost_turn(c: Context, node: Node, tainted: np.ndarray) -> bool:
    for application in c.b.trace.log:
        if application.op is node.op and application is not node.application and application.operands:
            part = slice(application.first, application.first + application.size)
            if tainted[part].any() and not c.b.cone[part].any():
                return True
    return False


def never_reached(c: Context) -> Explanation | None:
    """Some elements of an input that B does use are never read on the way: the loop or the grid ends early."""
    if not c.missing or c.extra:
        return None
    label = c.missing[0].application.label
    partial = any(n.application.label == label for n in nodes(c.b, c.b.leaf) if n.name == "input")
    first = c.first_b()
    if not partial or first is None or first.op is None or _forward(c, _in_b(c))[_compute(c)].any():
        return None
    loop = enclosing(c.b.trace, first.op)
    if loop is None:
        return None
    what = f"B's loop ends before {c.missing[0].element()}, which A's result includes: `{line_text(loop.span)}`"
    return said("missing-term", same_in_a(c, first), loop.span, what)


def _compute(c: Context) -> np.ndarray:
    """Lanes that some arithmetic made."""
    return ~np.isin(made_by(c.b.trace), [*MOVES, "input", "literal", "undefined"])


def wrong_index(c: Context) -> Explanation | None:
    """Each side reads elements that the other does not: an address is off."""
    outside = {n.number for n in out_of_bounds(c)}
    if not c.missing or not (c.extra or outside):
        return None
    extra = {n.number for n in c.extra}
    reads = [n for n in nodes(c.b, c.b.cone) if n.application.choice is not None and n.name != "select"]
    wrong = [n for n in reads if n.source().number in extra or n.number in outside]
    right = [n for n in reads if n.source().name == "input" and n.source().number not in extra]
    if not wrong:
        return None
    host = _host_scalar(c, wrong[0])
    span = host.b if host is not None and host.b is not None else _index_span(c, wrong, right)
    kind = "padding" if any(n.name == "pad" for n in nodes(c.a, c.a.cone)) else "index"
    label = c.extra[0].application.label if c.extra else ""
    lacking = next((m for m in c.missing if m.application.label == label), c.missing[0])
    got = c.extra[0].element() if c.extra else "outside its buffer"
    what = f"for {c.name}{list(c.element)} B reads {got} where A reads {lacking.element()}"
    return said(kind, _address_in_a(c) or _read_in_a(c, lacking), span, what)


def _address_in_a(c: Context) -> Span | None:
    """The index that only A's reads of those elements use, where A computes one."""
    wanted = {n.number for n in c.missing}
    reads = [n for n in nodes(c.a, c.a.cone) if n.application.choice is not None and n.name != "select"]
    other = [n for n in reads if n.source().number in wanted]
    alike = [n for n in reads if n.source().name == "input" and n.source().number not in wanted]
    guilty = suspects(c.a.trace, [facts_of(n) for n in other], [facts_of(n) for n in alike])
    return next((f.op.span for f in guilty if f.op is not None and f.op.name in ("div", "rem", "mul")), None)


def _read_in_a(c: Context, leaf: Node) -> Span | None:
    for node in nodes(c.a, c.a.cone):
        if (
            node.number != leaf.number
            and node.operands
            and any(leaf.number == n.number for o in node.operands for n in o)
        ):
            return node.span
    return c.root_a.made


def _index_span(c: Context, wrong: list[Node], right: list[Node]) -> Span:
    guilty = suspects(c.b.trace, [facts_of(n) for n in wrong], [facts_of(n) for n in right])
    return next((f.op.span for f in guilty if f.op is not None), _last_arithmetic(c, wrong[0]))


def _last_arithmetic(c: Context, node: Node) -> Span:
    """Where everything behind the address is also behind a right one: the line that puts the offset together."""
    ops = [
        f.op for f in facts_of(node).values() if f.op is not None and f.op.name in ("add", "sub", "mul", "div", "rem")
    ]
    ops.sort(key=lambda op: c.b.trace.order[id(op)])
    return ops[-1].span if ops else node.span


def _host_span(c: Context, node: Node, fact: Fact) -> Span | None:
    """The launch argument, if another value for it alone makes the two agree."""
    choice = node.application.choice
    launch = choice.launch if choice is not None else None
    if launch is None:
        return None
    params = c.b.trace.program.kernels[launch.attrs["kernel"]].params
    if fact.value_of not in params:
        return None
    position = params.index(fact.value_of)
    if not scalar_repairs(c, launch, position, fact.value):
        return None
    return argument(launch.span, position, len(launch.operands))


RULES: list[Rule] = [too_much, too_little, overwritten, never_reached, wrong_index]
