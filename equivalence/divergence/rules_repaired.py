"""Rules that change one thing in B and speak only where B then agrees with A: constants, strictness, roundings.

Each rule takes a Context and gives an Explanation or None.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from equivalence.divergence.cone import Side
from equivalence.divergence.finding import Context, Explanation, Rule, nodes, number, said
from equivalence.divergence.node import MOVES, Node
from equivalence.divergence.operands import about, parted, words
from equivalence.divergence.repair import agrees, unrounded
from equivalence.divergence.rules_values import SMALL, constant_op, written
from equivalence.divergence.trace import Trace
from lowering.errors import Span
from lowering.ir.program import Op, Value

TRIES = 24  # runs of one rule
_STRICT = {"ge": "gt", "gt": "ge", "le": "lt", "lt": "le"}
_SIGNS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}
_VERBS = {"add": "adds", "mul": "multiplies by", "div": "divides by", "sub": "subtracts"}


def other_constant(c: Context) -> Explanation | None:
    """A constant of B that A does not have; with one that only A has, B agrees."""
    if not c.by_value:
        return None
    mine, theirs = _constants(c.b.trace), _constants(c.a.trace)
    known = [{np.float32(op.attrs["value"]) for op in ops} for ops in (mine, theirs)]
    only_b = [op for op in mine if np.float32(op.attrs["value"]) not in known[1]]
    only_a = [op for op in theirs if np.float32(op.attrs["value"]) not in known[0]]
    tried = 0
    for b, user_b in _used(c.b, only_b):
        for a, user_a in _used(c.a, only_a):
            tried += user_a.fn == user_b.fn
            if user_a.fn == user_b.fn and tried <= TRIES and agrees(c, b, value=a.attrs["value"]):
                return _constant(a, user_a, b, user_b)
    return None


def _constants(trace: Trace) -> list[Op]:
    return [
        op
        for op in trace.program.walk()
        if op.name == "constant" and op.result.type.dtype.is_float and _is_number(op.attrs["value"])
    ]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and bool(np.isfinite(value))


def _used(side: Side, ops: list[Op]) -> list[tuple[Op, Node]]:
    """The constants that some operation takes, each with the first that does."""
    wanted, found = {id(op): op for op in ops}, {}
    for application in side.trace.log:
        if len(application.operands) < 2 or application.name in MOVES or not wanted.keys() - found.keys():
            continue
        for ids in application.operands:
            op = constant_op(Node(side, int(ids.flat[0]))) if ids.size and side.literal[ids.flat[0]] else None
            if id(op) in wanted:
                found.setdefault(id(op), Node(side, application.first))
    return [(wanted[key], node) for key, node in found.items()]


def _constant(a: Op, user_a: Node, b: Op, user_b: Node) -> Explanation:
    values = [float(op.attrs["value"]) for op in (a, b)]
    kind = "eps" if user_b.name == "add" and max(map(abs, values)) < SMALL else "constant"
    verb = _VERBS.get(user_b.name, f"uses in {words(user_b)}")
    spans = [_written(op, user) for op, user in ((a, user_a), (b, user_b))]
    what = f"A {verb} {number(values[0])} where B {verb} {number(values[1])}"
    return said(kind, spans[0], spans[1], what)


def _written(op: Op, user: Node) -> Span:
    for ids in user.application.operands:
        node = Node(user.side, int(ids.flat[0]))
        if user.side.literal[node.number] and constant_op(node) is op:
            return written(node, user)
    return user.span


def strictness(c: Context) -> Explanation | None:
    """A comparison of floats that counts equal values in, or out; the other way B agrees with A."""
    if not c.by_value:
        return None
    compared = [o for o in c.b.trace.program.walk() if o.name == "cmp" and o.operands[0].type.dtype.is_float]
    for op in [o for o in compared if o.attrs["pred"] in _STRICT][:TRIES]:
        other = _STRICT[op.attrs["pred"]]
        if agrees(c, op, pred=other):
            signs = _SIGNS[op.attrs["pred"]], _SIGNS[other]
            what = f"values that are equal: B compares with `{signs[0]}`, with `{signs[1]}` it agrees with A"
            index = c.root_b.application.data.dtype.kind in "iu"
            return said("order" if index else "mask", _compared(c, other), op.span, f"{what}: {about(op.span)}")
    return None


def _compared(c: Context, pred: str) -> Span | None:
    """A's comparison of that kind, else where A parts."""
    turned = {"ge": "le", "gt": "lt", "le": "ge", "lt": "gt"}
    for node in nodes(c.a, ~c.a.leaf):
        if node.name == "cmp" and node.application.attrs.get("pred") in (pred, turned[pred]):
            return node.span
    return parted(c.a, c.first_a())


def narrow(c: Context) -> Explanation | None:
    """A rounding to 16 bits or fewer, in a conversion or a matrix product; without it B agrees with A."""
    if not c.by_value:
        return None
    found = list(_narrow(c.b.trace))
    tried: list[tuple[Op, tuple[Op, ...]]] = [(op, (op,)) for op in found[:TRIES]]
    if found:
        tried.append((found[0], (*found, *_arithmetic(c.b.trace))))
    for op, changed in tried:
        if unrounded(c, *changed):
            dtype = op.result.type.dtype.numpy
            a = next((n.made for n in nodes(c.a, ~c.a.leaf) if n.name == op.name), None) or parted(c.a, c.first_a())
            if op.name == "dot":
                wide = next((str(n.application.data.dtype) for n in nodes(c.a, ~c.a.leaf) if n.name == "dot"), "")
                less = f"A adds up in {wide}, " if wide and wide != str(dtype) else ""
                return said("accumulator", a, op.span, f"{less}B adds up in {dtype}: {about(op.span)}")
            a = parted(c.a, c.first_a())
            given = _given(c, op)
            return said("cast", a, op.span, f"B rounds {given} to {dtype}: {about(op.span)}; A does not")
    return None


def _narrow(trace: Trace) -> Iterator[Op]:
    """Roundings of floats to 16 bits or fewer that are no output."""
    outputs = {_before_moves(trace, value) for _, value in trace.program.outputs}
    for op in trace.program.walk():
        if op.name not in ("cast", "dot") or not op.results or op.result in outputs:
            continue
        dt, given = op.result.type.dtype, op.operands[0].type.dtype
        if dt.is_float and dt.bits <= 16 and (op.name == "dot" or given.bits > dt.bits):
            yield op


def _arithmetic(trace: Trace) -> Iterator[Op]:
    """Elementwise arithmetic in 16 bits or fewer."""
    for op in trace.program.walk():
        if op.name in ("add", "sub", "mul", "div", "neg", "max", "min", "math", "round"):
            if op.result.type.dtype.is_float and op.result.type.dtype.bits <= 16:
                yield op


def _before_moves(trace: Trace, value: Value) -> Value:
    op = trace.definers.get(value)
    while op is not None and op.name in ("reshape", "broadcast", "transpose"):
        value = op.operands[0]
        op = trace.definers.get(value)
    return value


def _given(c: Context, op: Op) -> str:
    made = next((a for a in c.b.trace.log if a.op is op), None)
    if made is None or not made.size:
        return "a value"
    node = Node(c.b, made.first).operands[0][0].source()
    if node.name == "input":
        return str(node.application.label)
    return "a value" if node.name == "literal" else f"the {words(node)}"


RULES: list[Rule] = [other_constant, strictness, narrow]
