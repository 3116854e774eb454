"""Rules about what is computed: NaN, padding values, constants, eps, functions, casts, order, missing terms.

Each rule takes a Context and gives an Explanation or None; RULES is their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from equivalence.divergence.cone import reached
from equivalence.divergence.finding import Context, Explanation, Rule, nodes, number, said
from equivalence.divergence.node import MOVES, Node
from equivalence.divergence.repair import agrees
from equivalence.divergence.rules_memory import enclosing, masked_off, words
from equivalence.divergence.source import argument, constant, line_text
from lowering.errors import Span
from lowering.ir.program import Op, Value

SMALL = 1e-2  # an added constant below this is an eps
_COMMUTE = frozenset(("add", "mul", "max", "min", "and", "or", "xor"))

# -- pairs of frontier lanes ------------------------------------------------------------------------------------------


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
    text = line_text(span)
    return f"`{text}` ({span.file.rsplit('/', 1)[-1]}:{span.line})" if text else str(span)


# -- NaN -------------------------------------------------------------------------------------------------------------


def born_not_finite(c: Context) -> Explanation | None:
    """As ``not_finite``, where what goes into that operation is still right: a wrong value can have become NaN later."""
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
            given = " and ".join(number(n.value) for n in operands[:2])
            what = f"B's {words(node)} of {given} gives {number(node.value)} at {about(node.span)}; A stays finite"
            return said("nan", _near(c, node), node.span, what)
    return None


def _sentinel(node: Node) -> bool:
    """An infinity that comes from a literal, not from overflow."""
    if node.literal or node.source().literal:
        return True
    return bool(node.operands) and any(np.isinf(n.value) and _sentinel(n) for o in node.operands for n in o)


def _near(c: Context, node: Node) -> Span | None:
    """Where A does the same operation, else where A parts from B, else where A's result is made."""
    for other in nodes(c.a, ~c.a.leaf):
        if other.fn == node.fn:
            return other.span
    first = c.first_a()
    return first.span if first is not None else c.root_a.source().span


# -- padding values ----------------------------------------------------------------------------------------------------


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
    what = f"B's {words(node)} takes in the {number(lane.value)} that stands in masked-off lanes; A uses the elements alone"
    accumulates = node.name in ("reduce", "dot", "scan")
    load = next((n for n in nodes(c.b, padded) if n.name == "load"), lane)
    return said("padding" if accumulates else "mask", _near(c, node), load.span if accumulates else node.span, what)


def first_value(c: Context) -> Explanation | None:
    """A running sum that starts from something else than zero."""
    for b in c.front_b:
        starts = [n for n in (o[0].source() for o in b.operands if len(o) == 1) if n.literal]
        if b.fn in ("add", "dot") and starts and (b.name == "dot" or _enclosed(c, b)) and np.isfinite(starts[0].value):
            if starts[0].value and not any(n.fn == b.fn and any(o.literal for o in single(n)) for n in c.front_a):
                what = f"B's running sum starts from {number(starts[0].value)}, A's from zero"
                return said("accumulator", _near(c, b), written(c, starts[0]), what)
    return None


def _enclosed(c: Context, node: Node) -> bool:
    return node.op is not None and enclosing(c.b.trace, node.op) is not None


# -- constants ---------------------------------------------------------------------------------------------------------


def constants(c: Context) -> Explanation | None:
    """The same operation with another constant; with A's constant B would agree."""
    for a, b in pairs(c):
        found = _constant_pair(single(a), single(b))
        if found is not None and (_mended(c, *found) or (len(c.front_a) == len(c.front_b) == 1 and found[1].literal)):
            ca, cb = found
            kind = "eps" if b.name == "add" and max(abs(ca.value), abs(cb.value)) < SMALL else "constant"
            verb = {"add": "adds", "mul": "multiplies by", "div": "divides by", "sub": "subtracts"}.get(
                b.name, f"uses in {words(b)}"
            )
            return said(kind, a.span, written(c, cb), f"A {verb} {number(ca.value)} where B {verb} {number(cb.value)}")
    return None


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
    op = _constant_op(cb)
    return op is not None and agrees(c, op, value=ca.value)


def _constant_op(node: Node) -> Op | None:
    """The constant behind a literal lane, if it is one constant."""
    while node.name not in ("literal", "input") and len(node.operands) == 1 and len(node.operands[0]) == 1:
        node = node.operands[0][0]
    return node.op if node.name == "literal" and node.op is not None and node.op.name == "constant" else None


def written(c: Context, node: Node) -> Span:
    """Where a literal was written: on the host if a launch passed it in or folded it in."""
    op = _constant_op(node) or node.op
    if op is None:
        return node.span
    launches = [o for o in c.b.trace.program.body.walk() if o.name == "launch"]
    for launch in launches:
        for position, value in enumerate(launch.operands):
            if c.b.trace.definers.get(value) is op:
                return argument(launch.span, position, len(launch.operands))
    in_kernel = any(o is op for k in c.b.trace.program.kernels.values() for o in k.body.walk())
    return constant(op.span, node.value, launches[-1].span if in_kernel and launches else None)


def counted(c: Context) -> Explanation | None:
    """A divides by a count of kept elements, B by a constant."""
    for b in (n for n in c.front_b if n.name in ("div", "mul") and any(o.literal for o in single(n))):
        given = next((n for n in single(b) if not n.literal), b)
        for a in (n for n in nodes(c.a, c.a.bad) if n.name == "div" and len(single(n)) == 2):
            over, by = single(a)
            if same(over, given) and not by.literal and _counts(by):
                what = f"A divides by how many elements count, here {number(by.value)}; B's divisor is fixed: {about(b.span)}"
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


# -- functions, casts, order -------------------------------------------------------------------------------------------


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
            if a.fn != b.fn and mine and mine == _given(a):
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
    for a in theirs:
        for b in mine:
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
        if step is not None and step == "rounds" or (step == "clamps" and b.name == "cast"):
            made = _made(next(o for o in single(b) if same(given, o))) if step == "rounds" else b
            what = f"A {step} ({words(a)}) before the conversion to {cast.dtype}, B converts {number(given.value)} as it is"
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
            users = [_user(n) for n in (a, b)]
            if users[0] is not None and users[1] is not None and users[0].fn != users[1].fn:
                what = f"B scales {given_b.element()} and uses it in {words(users[1])}, A in {words(users[0])}: another order of steps"
                return said("order", a.span, b.span, what)
    return None


def _user(node: Node) -> Node | None:
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


def other_operand(c: Context) -> Explanation | None:
    """The same operation on another element of the same input: the wrong part was read."""
    for a, b in pairs(c):
        for x, y in zip(a.operands, b.operands, strict=False) if single(a) and single(b) else ():
            source_x, source_y = x[0].source(), y[0].source()
            if source_x.name == source_y.name == "input" and word(source_x) != word(source_y):
                reads = [n for n in y[0].chain() if n.name != "input" and n.span.line]
                span = reads[-1].span if reads else b.span
                what = f"B takes {source_y.element()} where A takes {source_x.element()} for the same {words(b)}"
                return said("index", a.span, span, what)
    return None


# -- missing terms -----------------------------------------------------------------------------------------------------


def unscaled_carry(c: Context) -> Explanation | None:
    """A loop rescales one running sum by a factor and forgets another."""
    for loop in (o for o in c.b.trace.program.walk() if o.name == "for"):
        body = loop.regions[0]
        ended = body.ops[-1].operands
        defined = {value: op for op in body.walk() for value in op.results}
        kinds = [_carried(defined, carry, end) for carry, end in zip(body.args[1:], ended, strict=True)]
        scaled = [k for k in kinds if k is not None and k[0] == "scaled"]
        plain = [k for k in kinds if k is not None and k[0] == "plain"]
        bad = {id(n.op) for n in c.front_b}
        if scaled and plain and any(id(op) in bad for op in [plain[0][1], *_behind(defined, plain[0][1])]):
            what = (
                f"B rescales one running sum ({about(scaled[0][1].span)}) and not the other: {about(plain[0][1].span)}"
            )
            first = c.first_a() or c.root_a
            return said("missing-term", first.span, plain[0][1].span, what)
    return None


def _behind(defined: dict[Value, Op], op: Op) -> list[Op]:
    return [defined[v] for v in op.operands if v in defined]


def _carried(defined: dict[Value, Op], carry: Value, end: Value) -> tuple[str, Op] | None:
    """('plain', add) when the new value is the carry plus something; ('scaled', add) when the carry is multiplied first."""
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


def missing_step(c: Context) -> Explanation | None:
    """A does something to a value that B goes on with as it is."""
    a = c.first_a()
    if a is None:
        return None
    if not c.front_b:
        return said(
            "missing-term",
            a.span,
            _last_step(c),
            f"A goes on with {words(a)} ({about(a.span)}); B has nothing in its place",
        )
    for step in c.front_a:
        user = _user(step)
        for b in c.front_b if user is not None else []:
            assert user is not None
            others = [n for n in single(user) if n.number != step.number]
            given = [*others, *single(step)]
            if user.fn == b.fn and step.fn != b.fn and any(same(n, o) for n in given for o in single(b)):
                what = (
                    f"B's {words(b)} ({about(b.span)}) lacks the {words(step)} that A applies first: {about(step.span)}"
                )
                return said("missing-term", step.span, b.span, what)
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


#: In order of trust.  FIRST: what only the frontier shows; LAST: what other rules say better if they can.
FIRST: list[Rule] = [born_not_finite, other_operation]
RULES: list[Rule] = [
    ties, padding_values, first_value, constants, counted, eps_place, functions, other_function, casts, swapped,
    moved_step, other_operand, unscaled_carry,
]  # fmt: skip
#: Those that make sense where the values agree and only the fingerprints differ.
BY_WORD: list[Rule] = [other_operation, constants, eps_place, functions, other_function, implementations]
LAST: list[Rule] = [extra_eps, missing_step, not_finite]
