"""Rules about the steps of a computation: another function, a conversion, an order, a step that is missing.

Each rule takes a Context and gives an Explanation or None.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from equivalence.divergence.finding import Context, Explanation, Rule, nodes, number, said
from equivalence.divergence.node import Node
from equivalence.divergence.operands import about, pairs, parted, same, single, user_of, word, words
from equivalence.divergence.repair import grafted
from equivalence.divergence.trace import Trace
from lowering.errors import Span
from lowering.ir.program import Op, Value

_COMMUTE = frozenset(("add", "mul", "max", "min", "and", "or", "xor"))


def functions(c: Context) -> Explanation | None:
    """Another function, or another flavour of one: erf against tanh, floor division against truncation."""
    for a, b in pairs(c):
        differing = {
            k for k in a.application.attrs if k in _FLAVOURS and a.application.attrs[k] != b.application.attrs.get(k)
        }
        if differing and len(single(a)) == len(single(b)) and all(map(same, single(a), single(b))):
            key = sorted(differing)[0]
            what = f"A's {words(a)} has {key} {a.application.attrs[key]!r}, B's {b.application.attrs.get(key)!r}"
            return said("function", a.span, b.span, what)
    return None


def other_operation(c: Context) -> Explanation | None:
    """Another operation on the very same operands."""
    for b in c.front_b:
        mine = _given(b)
        for a in c.front_a:
            kinds = [n.application.data.dtype.kind == "b" for n in (a, b)]
            if a.fn != b.fn and kinds[0] == kinds[1] and mine and mine == _given(a):
                return said(
                    "function",
                    a.span,
                    b.span,
                    f"A takes the {words(a)} where B takes the {words(b)} of the same values",
                )
    return None


def _given(node: Node) -> list[list[int]]:
    """The words an operation is given; literals among many lanes are left out, they may be padding."""
    return [
        sorted(word(n.source()) for n in operand if len(operand) == 1 or not n.literal) for operand in node.operands
    ]


def other_function(c: Context) -> Explanation | None:
    """A function that no algebra turns into A's: erf against tanh; or, where the values agree, another way to one."""
    mine, theirs = (_maths(s) for s in (c.b, c.a))
    used_a, used_b = ({n.fn for n in nodes(s, ~s.leaf) if n.name == "math"} for s in (c.a, c.b))
    for a in (n for n in theirs if n.fn not in used_b):
        for b in (n for n in mine if n.fn not in used_a):
            families = _FAMILY.get(a.fn, a.fn), _FAMILY.get(b.fn, b.fn)
            near = c.gap < APPROXIMATION or a.number in {n.number for n in c.front_a}
            if a.fn != b.fn and (not c.by_value or (families[0] != families[1] and near)):
                return said("function", a.span, b.span, f"B computes with {words(b)} where A applies {words(a)}")
    return None


def implementations(c: Context) -> Explanation | None:
    """The same function from another library, or with another accuracy."""
    for a, b in pairs(c):
        mine, theirs = (_implementation(n) for n in (b, a))
        if mine != theirs and all(map(same, single(a), single(b))):
            return said("function", a.span, b.span, f"A's {words(a)} is {theirs}, B's {mine}")
    return None


def _implementation(node: Node) -> str:
    attrs = node.application.attrs
    if attrs.get("accuracy") == "exact":
        return "correctly rounded"
    return f"{attrs.get('impl') or 'the compiler'}'s, of declared accuracy"


APPROXIMATION = 2e-2  # relative distance within which one function stands in for another
_FAMILY = dict.fromkeys(
    [f"math {fn}" for fn in ("exp", "exp2", "expm1", "tanh", "sinh", "cosh")], "exp"
) | dict.fromkeys([f"math {fn}" for fn in ("log", "log2", "log10", "log1p")], "log")
_FLAVOURS = ("rounding", "nan", "unordered", "mode", "tie")


def _maths(side: object) -> list[Node]:
    return [n for n in nodes(side, side.bad) if n.name == "math" and n.application.attrs["fn"] not in ("sqrt", "rsqrt")]  # type: ignore[arg-type,attr-defined]


def ties(c: Context) -> Explanation | None:
    """An index of an extremum: which of several equal ones."""
    extremes = [n for s in (c.a, c.b) for n in nodes(s, s.cone) if n.fn in ("reduce argmax", "reduce argmin")]
    if not extremes or c.root_b.application.data.dtype.kind not in "iu":
        return None
    picks = [n for n in nodes(c.b, c.b.bad) if n.name == "reduce" and n.application.data.dtype.kind in "iu"]
    b = picks[0] if picks else c.first_b() or c.root_b
    what = f"among equal extrema A names {number(c.root_a.value)}, B {number(c.root_b.value)}: {about(b.span)}"
    return said("order", (c.first_a() or c.root_a).span, b.span, what)


def casts(c: Context) -> Explanation | None:
    """A conversion to a narrower type that A prepares otherwise: a clamp or a rounding is missing before it."""
    for a in c.front_a:
        cast = _next_cast(a)
        if cast is None or len(single(a)) not in (1, 2):
            continue
        given = next((n for n in single(a) if not n.literal), None)
        b = next((n for n in c.front_b if given is not None and any(same(given, o) for o in single(n))), None)
        if given is None or b is None or not _next_cast(b):
            continue
        step = "rounds" if a.name == "round" else "clamps" if a.name in ("max", "min") else None
        if (step is not None and step == "rounds") or (step == "clamps" and b.name == "cast"):
            made = _made(next(o for o in single(b) if same(given, o))) if step == "rounds" else b
            kept = f"B converts {number(given.value)} as it is"
            what = f"A {step} ({words(a)}) before the conversion to {cast.dtype}, {kept}"
            return said("cast", a.span, made.span, what)
    return None


def _made(node: Node) -> Node:
    """Where the value came up: before the clamps and choices that left it as it was."""
    while node.name in ("max", "min", "select"):
        kept = [o for operand in node.operands for o in operand if o.value == node.value and not o.literal]
        if not kept:
            break
        node = kept[0].source()
    return node


def _next_cast(node: Node) -> Node | None:
    """The float-to-integer conversion that the lane ends in, if any."""
    found = [n for n in nodes(node.side, node.side.cone) if n.name == "cast" and n.number >= node.number]
    return next((n for n in found if n.application.data.dtype.kind in "iu"), None)


def swapped(c: Context) -> Explanation | None:
    """The operands of an operation that does not commute, the other way round."""
    for a, b in pairs(c):
        x, y = single(a), single(b)
        if (
            len(x) == len(y) == 2
            and b.name not in _COMMUTE
            and same(x[0], y[1])
            and same(x[1], y[0])
            and not same(x[0], x[1])
        ):
            return said("order", a.span, b.span, f"the operands of {words(b)} are swapped: {about(b.span)}")
    return None


def moved_step(c: Context) -> Explanation | None:
    """Both sides scale the same input, and use it at another point of the computation."""
    for a, b in pairs(c):
        x, y = single(a), single(b)
        if len(x) == len(y) == 2 and b.name == "mul" and any(n.literal for n in x) and any(n.literal for n in y):
            given_a, given_b = (next((n for n in v if not n.literal), None) for v in (x, y))
            if given_a is None or given_b is None or given_a.name != "input" or word(given_a) != word(given_b):
                continue
            users = [user_of(n) for n in (a, b)]
            if users[0] is not None and users[1] is not None and users[0].fn != users[1].fn:
                uses = f"uses it in {words(users[1])}, A in {words(users[0])}"
                what = f"B scales {given_b.element()} and {uses}: another order of steps"
                return said("order", a.span, b.span, what)
    return None


def other_operand(c: Context) -> Explanation | None:
    """The same operation on another element of the same input: the wrong part was read."""
    found = list(_other_elements(c))
    first = {b.number: (a, b) for a, b, _, _ in found[::-1]}
    together = c.by_value and len(first) > 1 and grafted(c, *zip(*[(b, a) for a, b in first.values()], strict=True))
    for a, b, x, y in found:
        if not c.by_value or together or grafted(c, [b], [a]):
            reads = [n for n in y.chain() if n.name != "input" and n.span.line]
            span = reads[-1].span if reads else b.span
            taken, right = y.source().element(), x.source().element()
            return said("index", a.span, span, f"B takes {taken} where A takes {right} for the same {words(b)}")
    return None


def _other_elements(c: Context) -> Iterator[tuple[Node, Node, Node, Node]]:
    """Pairs of the same operation with the operands that are different elements of the inputs."""
    for a, b in pairs(c):
        for x, y in zip(a.operands, b.operands, strict=False) if single(a) and single(b) else ():
            given = x[0].source(), y[0].source()
            if given[0].name == given[1].name == "input" and word(given[0]) != word(given[1]):
                yield a, b, x[0], y[0]


def unscaled_carry(c: Context) -> Explanation | None:
    """A loop rescales one running sum by a factor and forgets another; or its only one, under a running maximum."""
    bad = {id(n.op) for n in c.front_b}
    for loop in (o for o in c.b.trace.program.walk() if o.name == "for"):
        body = loop.regions[0]
        ended = body.ops[-1].operands
        defined = {value: op for op in body.walk() for value in op.results}
        kinds = [_carried(defined, carry, end) for carry, end in zip(body.args[1:], ended, strict=True)]
        scaled = [op for kind, op in filter(None, kinds) if kind == "scaled"]
        plain = [op for kind, op in filter(None, kinds) if kind == "plain"]
        if not plain:
            continue
        first = parted(c.a, c.first_a())
        if scaled and any(id(op) in bad for op in [plain[0], *_behind(defined, plain[0])]):
            what = f"B rescales one running sum ({about(scaled[0].span)}) and not the other: {about(plain[0].span)}"
            return said("missing-term", first, plain[0].span, what)
        carries = [*zip(body.args[1:], ended, strict=True)]
        inside = any(id(op) in bad for op in defined.values())
        if not scaled and inside and _under_maximum(defined, plain[0], carries):
            what = f"B's running sum is not rescaled where its running maximum grows: {about(plain[0].span)}"
            return said("missing-term", first, plain[0].span, what)
    return None


def _under_maximum(defined: dict[Value, Op], total: Op, carries: list[tuple[Value, Value]]) -> bool:
    """Whether the terms of a running sum are exponentials relative to a running maximum's newest value."""
    maxima = {end for carry, end in carries if _is_max(defined.get(end), carry)}
    waiting, seen, exponential = list(total.operands), set(), False
    while waiting:
        value = waiting.pop()
        if value in maxima:
            return exponential
        op = defined.get(value)
        if op is not None and value not in seen:
            seen.add(value)
            exponential |= op.name == "math" and op.attrs["fn"] in ("exp", "exp2")
            waiting.extend(op.operands)
    return False


def _is_max(op: Op | None, carry: Value) -> bool:
    return op is not None and op.name == "max" and carry in op.operands


def _behind(defined: dict[Value, Op], op: Op) -> list[Op]:
    return [defined[v] for v in op.operands if v in defined]


def _carried(defined: dict[Value, Op], carry: Value, end: Value) -> tuple[str, Op] | None:
    """('plain', add) when the new value is the carry plus something; ('scaled', add) when the carry is scaled first."""
    op = defined.get(end)
    if op is None or op.name not in ("add", "dot") or not carry.type.dtype.is_float:
        return None
    for value in op.operands:
        inner = defined.get(value)
        if value is carry:
            return "plain", op
        if inner is not None and inner.name == "mul" and carry in inner.operands:
            return "scaled", op
    return None


def missing_step(c: Context) -> Explanation | None:
    """A does something to a value that B goes on with as it is."""
    a = c.first_a()
    a = user_of(a) if a is not None and a.name == "input" else a
    if a is None:
        return None
    if not c.front_b:
        if a.fn in {n.fn for n in nodes(c.b, ~c.b.leaf)} or (a.name == "reduce" and _reduces(c.b.trace, a)):
            return None
        return said(
            "missing-term",
            a.span,
            _last_step(c),
            f"A goes on with {words(a)} ({about(a.span)}); B has nothing in its place",
        )
    for step in c.front_a:
        user = user_of(step)
        for b in c.front_b if user is not None else []:
            assert user is not None
            others = [n for n in single(user) if n.number != step.number]
            given = [*others, *single(step)]
            related = user.fn == b.fn and step.fn != b.fn and any(same(n, o) for n in given for o in single(b))
            if not related:
                continue
            if _takes(step, c.missing) or not c.by_value or grafted(c, [b], [user]):
                lacks = f"lacks the {words(step)} that A applies first: {about(step.span)}"
                return said("missing-term", step.span, b.span, f"B's {words(b)} ({about(b.span)}) {lacks}")
            later = user_of(b)
            if later is not None and later.fn == step.fn and grafted(c, [later], [user]):
                what = f"A applies {words(step)} before {words(b)} ({about(step.span)}), B after it: {about(b.span)}"
                return said("order", step.span, b.span, what)
    return None


def _reduces(trace: Trace, node: Node) -> bool:
    """Whether a program has that reduction anywhere, be it for an index alone."""
    combine = node.application.attrs["combine"]
    return any(o.name == "reduce" and o.attrs["combine"] in (combine, f"arg{combine}") for o in trace.program.walk())


def _takes(step: Node, lost: list[Node]) -> bool:
    """Whether a step takes elements that B's result does not depend on."""
    taken = {lane.source().number for operand in step.operands for lane in operand}
    return bool(taken & {n.number for n in lost})


def other_value(c: Context) -> Explanation | None:
    """The same operation on two values that are both right, each in its place: B took another one."""
    for step in c.front_a:
        user = user_of(step)
        for b in c.front_b if user is not None else []:
            assert user is not None
            related = user.fn == b.fn and step.number in {n.number for o in user.operands for n in o} and single(b)
            if related and (not c.by_value or grafted(c, [b], [user])):
                taken = next((n for n in single(b) if not n.literal), b)
                what = f"B's {words(b)} takes the {words(taken)} where A's takes the {words(step)}: {about(b.span)}"
                return said("other", user.span, b.span, what)
    return None


def _last_step(c: Context) -> Span:
    """The last thing B does to the result: an operation or choice, else the store of a value as it was read."""
    chain = c.root_b.chain()
    for node in chain:
        if node.name not in ("read", "load", "input", "literal") and node.span.line:
            return node.span
    return stored_span(c) or chain[0].span


def stored_span(c: Context) -> Span | None:
    """The store that made the output element."""
    own = [n.number for n in c.root_b.chain()]
    return next((s.op.span for s in c.b.trace.stores[::-1] if (s.inside & np.isin(s.nodes, own)).any()), None)


RULES: list[Rule] = [ties, functions, other_function, casts, swapped, moved_step, unscaled_carry, other_operand]
