"""What is said is confirmed: constants, roundings and comparisons that repair B; pairs that do not are not named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equivalence.divergence import NOTHING, explain
from equivalence.divergence.explain import ask
from equivalence.divergence.operands import alike
from equivalence.divergence.repair import grafted
from equivalence.divergence.rules_rounding import accumulators
from equivalence.divergence.rules_steps import other_function, other_operand
from equivalence.judge import scope
from equivalence.judge.runs import Pair
from equivalence.verdicts import Level, Report, Verdict
from lowering.ir.builder import Builder
from lowering.ir.program import Program, Value
from lowering.ir.types import F16, F32, I32, I64, U8, TensorType
from tests.divergence.programs import Build, context, drawn, kernel, load, store, tensors

X = {"x": (F32, (3, 5))}


def said(a: Build, b: Build, shapes: Any, inputs: Any = None, level: Any = "ieee") -> Any:
    programs = tensors("a.py", a, shapes), tensors("b.py", b, shapes)
    given = inputs or drawn(programs[0])
    return explain(*programs, given, given, level_wanted=level)


def row(b: Builder, x: Value, combine: str = "add") -> Value:
    return b("reduce", x, axis=1, combine=combine)


def normed(eps: float, by: str) -> Build:
    """x rsqrt(mean(x²) + eps); the mean as a quotient or a product."""

    def build(b: Builder, x: Value) -> Value:
        total = row(b, b("mul", x, x))
        mean = b("div", total, b.like(5.0, total)) if by == "div" else b("mul", total, b.like(0.2, total))
        root = b("math", b("add", mean, b.like(eps, mean)), fn="rsqrt")
        return b("mul", x, b.broadcast(root, (3, 5), (0,)))

    return build


def test_an_eps_that_hardly_moves_what_it_is_added_to() -> None:
    """The sum with it is near enough to A's mean to be taken for it; the constant repairs B all the same."""
    inputs = {"x": (0.3 * np.random.default_rng(1).standard_normal((3, 5))).astype(np.float32)}
    inputs["x"][0] *= 0.05
    found = said(normed(1e-5, "div"), normed(1e-6, "mul"), X, inputs)
    assert found.kind == "eps" and found.what == "A adds 1e-05 where B adds 1e-06"
    assert found.a.file == "a.py" and found.b.file == "b.py"


def product(narrow: bool) -> Build:
    def build(b: Builder, x: Value, w: Value) -> Value:
        zero = b.constant(0.0, F32, (8, 4))
        if narrow:
            part = b("dot", x, w, b.constant(0.0, F16, (8, 4)), acc="f16")
            acc = b("add", zero, b.cast(part, F32))
        else:
            acc = b("dot", x, w, zero, acc="f32")
        gate = b("add", b("math", b("mul", acc, b.like(0.7071, acc)), fn="erf"), b.like(1.0, acc))
        return b("mul", acc, gate)

    return build


def test_a_matrix_product_in_f16() -> None:
    """Behind a gelu the values part a hundred lines later; the dtype of the product is named."""
    shapes = {"x": (F16, (8, 32)), "w": (F16, (32, 4))}
    rng = np.random.default_rng(2)
    inputs = {name: (12 * rng.standard_normal(shape)).astype(np.float16) for name, (_, shape) in shapes.items()}
    found = said(product(False), product(True), shapes, inputs)
    assert found.kind == "accumulator" and "float32" in found.what and "float16" in found.what
    b = tensors("b.py", product(True), shapes)
    assert found.b.line == next(op.span.line for op in b.body.ops if op.name == "dot")


def extremum(b: Builder, x: Value) -> Value:
    return b.op("reduce", [x, b.index((3, 2), 1, I32)], axis=1, combine="argmax").results[1]


def chosen(b: Builder, x: Value) -> Value:
    left, right = (b.reshape(b("slice", x, start=(0, at), limit=(3, at + 1), step=(1, 1)), (3,)) for at in (0, 1))
    later = b.cmp("ge", right, left)
    return b("select", later, b.constant(1, I32, (3,)), b.constant(0, I32, (3,)))


def test_a_comparison_that_counts_ties() -> None:
    inputs = {"x": np.array([[1, 1], [2, 1], [3, 3]], np.float32)}
    found = said(extremum, chosen, {"x": (F32, (3, 2))}, inputs)
    assert found.kind == "order" and "`>=`" in found.what
    b = tensors("b.py", chosen, {"x": (F32, (3, 2))})
    assert found.b.line == next(op.span.line for op in b.body.ops if op.name == "cmp")


def softmax(b: Builder, x: Value) -> Value:
    weights = b("math", b("sub", x, b.broadcast(row(b, x, "max"), (3, 5), (0,))), fn="exp")
    return row(b, weights)


def online(rescale: bool) -> Build:
    def build(b: Builder, x: Value) -> Value:
        low, high, step = (b.constant(n, I32) for n in (0, 5, 1))
        starts = [b.constant(-np.inf, F32, (3,)), b.constant(0.0, F32, (3,))]

        def turn(i: Value, m: Value, total: Value) -> list[Value]:
            here = b.reshape(b("dynamic_slice", x, b.constant(0, I32), i, shape=(3, 1)), (3,))
            new = b("max", m, here, nan="number")
            term = b("math", b("sub", here, new), fn="exp")
            kept = b("mul", total, b("math", b("sub", m, new), fn="exp")) if rescale else total
            return [new, b("add", kept, term)]

        body = b.region([TensorType(I32), *(v.type for v in starts)], turn)
        return b.op("for", [low, high, step, *starts], [body]).results[1]

    return build


def test_the_only_running_sum_is_not_rescaled() -> None:
    """An element of another turn is not said to be the wrong one."""
    found = said(softmax, online(False), X)
    assert found.kind == "missing-term" and "not rescaled" in found.what
    b = tensors("b.py", online(False), X)
    assert found.b.line == [op.span.line for op in b.walk() if op.name == "add"][-1]


def test_another_element_is_named_only_where_it_mends() -> None:
    a, b = tensors("a.py", softmax, X), tensors("b.py", online(False), X)
    assert other_operand(context(a, b)) is None


def in_place(twice: bool) -> Program:
    """out = x; the kernel writes x back over x, doubled or not, then reads it."""

    def build(b: Builder, x: Value, out: Value, *_: Value) -> None:
        index = b.index((7,), 0, I32)
        value = load(b, x, index)
        if twice:
            value = b("mul", value, b.like(2.0, value))
            store(b, x, index, value)
        store(b, out, index, value)

    return kernel("b.py", build, 7, 7)


def test_results_come_before_what_is_written() -> None:
    """A wrong result is explained as such, though an input is overwritten too."""
    a, b = in_place(False), in_place(True)
    found = explain(a, b, drawn(a), drawn(a), 0, (2,), level_wanted="ieee")
    assert "over its" not in found.what and found.b is not None and found.b.line < 100


def mean_of_kept(step: bool) -> Build:
    def build(b: Builder, x: Value, labels: Value) -> Value:
        keep = b.cmp("ge", labels, b.like(0, labels))
        count = b.cast(b("reduce", b.cast(keep, I64), axis=0, combine="add"), F32)
        total = b("reduce", b("math", x, fn="exp"), axis=0, combine="add")
        return b("div", b("math", total, fn="log") if step else total, count)

    return build


def test_a_count_is_not_paired_with_a_sum() -> None:
    shapes = {"x": (F32, (7,)), "labels": (I64, (7,))}
    a, b = tensors("a.py", mean_of_kept(True), shapes), tensors("b.py", mean_of_kept(False), shapes)
    found = context(a, b)
    sums = [node for side in (found.a, found.b) for node in _sums(side)]
    assert len(sums) >= 3 and not alike(sums[0], sums[-1])
    found.front_a, found.front_b, found.by_value = [sums[0]], [sums[-1]], False
    assert accumulators(found) is None
    found.front_a = [sums[1]]
    assert accumulators(found) is None  # one dtype


def _sums(side: Any) -> list[Any]:
    from equivalence.divergence.finding import nodes

    return sorted((n for n in nodes(side, side.cone) if n.fn == "reduce add"), key=lambda n: n.dtype != "int64")


def exp_then(fn: str) -> Build:
    return lambda b, x: b("math", b("add", b("math", b("abs", x), fn="exp"), b.like(1.0, x)), fn=fn)


def test_a_function_that_both_use_is_not_the_difference() -> None:
    """exp and log occur on both sides; which of them parts says nothing."""

    def logs(first: bool) -> Build:
        def build(b: Builder, x: Value) -> Value:
            e = b("math", b("abs", x), fn="exp")
            return b("math", b("add", e, b.like(1.0 if first else 2.0, e)), fn="log")

        return build

    a, b = tensors("a.py", logs(True), X), tensors("b.py", logs(False), X)
    found = context(a, b)
    found.by_value = False
    assert other_function(found) is None
    other = context(tensors("a.py", exp_then("erf"), X), tensors("b.py", exp_then("tanh"), X))
    assert other_function(other) is not None


def test_a_graft_mends_or_does_not() -> None:
    a = tensors("a.py", lambda b, x: b("math", b("mul", x, x), fn="exp"), X)
    b = tensors("b.py", lambda b, x: b("math", b("abs", x), fn="exp"), X)
    found = context(a, b)
    right, wrong = found.front_a[0], found.front_b[0]
    assert grafted(found, [wrong], [right])
    assert not grafted(found, [wrong], [wrong])


def test_a_value_that_no_dtype_of_b_holds_mends_nothing() -> None:
    """A's difference is -240; B's is unsigned."""
    shapes = {"x": (U8, (40,)), "y": (U8, (40,))}
    f32 = lambda b, x: b("cast", x, to="f32")  # noqa: E731
    a = tensors("a.py", lambda b, x, y: b("abs", b("sub", f32(b, x), f32(b, y))), shapes)
    b = tensors("b.py", lambda b, x, y: b("abs", f32(b, b("sub", x, y))), shapes)
    rng = np.random.default_rng(1)
    inputs = {name: rng.integers(0, 256, 40).astype(np.uint8) for name in shapes}
    assert explain(a, b, inputs, inputs, level_wanted="ieee").b is not None
    found = context(a, b, "ieee", inputs)
    wrong = next(n for n in found.front_b if n.op is not None and n.op.results[0].type.dtype is U8)
    assert not grafted(found, [wrong], [n for n in found.front_a if n.value < 0][:1])


def test_where_nothing_is_sure_little_is_said() -> None:
    """Two unrelated formulas: both lines, and no story."""
    a = lambda b, x: b("sub", b("mul", x, x), b("math", x, fn="erf"))  # noqa: E731
    b = lambda b, x: b("add", b("abs", x), b("mul", row_of(b, b("neg", x)), b("math", x, fn="erf")))  # noqa: E731
    found = said(a, b, X)
    assert found.a is not None and found.b is not None
    assert "from these lines on" in found.what or "with A's value B agrees" in found.what


def row_of(b: Builder, x: Value) -> Value:
    return b.broadcast(row(b, x), (3, 5), (0,))


@pytest.mark.parametrize(("level", "verdict"), [("real", Level.REAL), ("exact", Level.REASSOCIATED)])
def test_the_pair_that_parts_is_explained(level: str, verdict: Level) -> None:
    """At one column there is no order to differ; at five there is."""

    def halves(b: Builder, x: Value) -> Value:
        n = x.type.shape[1]
        if n == 1:
            return row(b, x)
        parts = [b("slice", x, start=(0, at), limit=(3, end), step=(1, 1)) for at, end in ((0, 2), (2, n))]
        sums = [b("mul", row(b, p), b.like(0.3, row(b, p))) if level == "real" else row(b, p) for p in parts]
        return b("add", *sums)

    def whole(b: Builder, x: Value) -> Value:
        total = row(b, x)
        return b("mul", total, b.like(0.3, total)) if level == "real" and x.type.shape[1] > 1 else total

    pairs = []
    for n in (1, 5):
        shapes = {"x": (F32, (3, n))}
        programs = tensors("a.py", whole, shapes), tensors("b.py", halves, shapes)
        pairs.append(Pair(*programs, drawn(programs[0])))
    found = scope.divergence(pairs[:1], Report(Verdict(verdict)), None, [])
    assert found is not None and found.what == NOTHING
    found = scope.divergence(pairs, Report(Verdict(verdict)), None, [])
    assert found is not None and found.a is not None and found.b is not None and found.what != NOTHING


def test_random_streams_are_named_by_their_draws() -> None:
    def noisy(stream: int) -> Build:
        def build(b: Builder, x: Value) -> Value:
            noise = b("random", dist="uniform", stream=stream, to="f32", shape=(3, 5))
            return b("mul", x, noise)

        return build

    programs = tensors("a.py", noisy(0), X), tensors("b.py", lambda b, x: noisy(1)(b, b("abs", x)), X)
    verdict = Verdict(Level.UNDECIDED, reason="random streams: the numbers that the two sides draw cannot be matched")
    found = scope.divergence([Pair(*programs, drawn(programs[0]))], Report(verdict), None, [])
    assert found is not None and found.a is not None and found.b is not None
    assert (found.a.line, found.b.line) == (1, 2) and "random" in found.what


def test_rules_are_asked_by_what_the_verdict_says() -> None:
    """Under `real` nothing is missing anywhere: a formula is only another one."""
    a = tensors("a.py", lambda b, x: b("sub", x, row_of(b, x)), X)
    b = tensors("b.py", lambda b, x: b("add", b("neg", row_of(b, x)), b("add", x, b.like(1e-3, x))), X)
    found = context(a, b, "reassociated")
    assert found.same_function
    spoken = ask(found)
    assert spoken is None or "adds 0.001" not in spoken.what


def test_a_constant_of_another_function_is_not_the_difference() -> None:
    """gelu by erf and by tanh: the first constants differ too, but neither would do in the other's place."""

    def by_erf(b: Builder, x: Value) -> Value:
        return b("mul", x, b("math", b("mul", x, b.like(0.70710678, x)), fn="erf"))

    def by_tanh(b: Builder, x: Value) -> Value:
        cubed = b("mul", b("mul", b("mul", x, b.like(0.044715, x)), x), x)
        return b("mul", x, b("math", b("mul", b("add", cubed, x), b.like(0.79788456, x)), fn="tanh"))

    found = said(by_erf, by_tanh, X)
    assert found.kind == "function" and "tanh" in found.what and "erf" in found.what


def test_an_integer_made_a_float_is_no_rounding() -> None:
    def counted(b: Builder, x: Value, labels: Value) -> Value:
        count = b.cast(b("reduce", labels, axis=0, combine="add"), F32)
        return b("div", b("reduce", x, axis=0, combine="add"), count)

    def halves(b: Builder, x: Value, labels: Value) -> Value:
        parts = [b("slice", x, start=(at,), limit=(end,), step=(1,)) for at, end in ((0, 3), (3, 7))]
        total = b("add", *(b("reduce", part, axis=0, combine="add") for part in parts))
        return b("div", total, b.cast(b.cast(b("reduce", labels, axis=0, combine="add"), I32), F32))

    found = said(counted, halves, {"x": (F32, (7,)), "labels": (I64, (7,))}, level="exact")
    assert "rounds" not in found.what
