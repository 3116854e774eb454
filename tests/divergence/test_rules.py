"""Each rule about steps and values has a pair where it speaks, and one where it is silent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from equivalence.divergence import rules_rounding, rules_steps, rules_values
from lowering.ir.builder import Builder
from lowering.ir.program import Value
from lowering.ir.types import BF16, F16, F32, I8, I32, I64, DType, TensorType
from tests.divergence.programs import Build, context, tensors

X: dict[str, tuple[DType, tuple[int, ...]]] = {"x": (F32, (3, 5)), "y": (F32, (3, 5))}


@dataclass(frozen=True)
class Pair:
    """Two programs; ``line`` is B's guilty op, counted from 1."""

    a: Build
    b: Build
    line: int = 0
    kind: str = ""
    level: str = "real"
    shapes: Any = None
    scale: float = 1.0
    words: str = ""

    def context(self) -> Any:
        shapes = self.shapes or X
        rng = np.random.default_rng(3)
        normal = rng.standard_normal
        made = {
            name: (self.scale * normal(shape) if dt.is_float else rng.integers(-9, 9, shape)).astype(dt.numpy)
            for name, (dt, shape) in shapes.items()
        }
        a, b = tensors("a.py", self.a, shapes), tensors("b.py", self.b, shapes)
        return context(a, b, self.level, made)


def row_sum(b: Builder, x: Value) -> Value:
    return b("reduce", x, axis=1, combine="add")


def times(factor: float) -> Build:
    return lambda b, x, y: b("mul", x, b.like(factor, x))


def plus(eps: float) -> Build:
    return lambda b, x, y: b("math", b("add", row_sum(b, b("mul", x, x)), b.constant(eps, F32, (3,))), fn="sqrt")


def eps_outside(b: Builder, x: Value, y: Value) -> Value:
    root = b("math", row_sum(b, b("mul", x, x)), fn="sqrt")
    return b("add", root, b.like(1e-3, root))


def gelu(fn: str, inner: float) -> Build:
    def build(b: Builder, x: Value, y: Value) -> Value:
        return b("mul", x, b("add", b("math", b("mul", x, b.like(inner, x)), fn=fn), b.like(1.0, x)))

    return build


def largest(tie_low: bool) -> Build:
    def build(b: Builder, x: Value, y: Value) -> Value:
        x = b("round", x, mode="even")
        places = b.index((3, 5), 1)
        if tie_low:
            return b.op("reduce", [x, places], axis=1, combine="argmax").results[1]
        best = b.broadcast(b("reduce", x, axis=1, combine="max"), (3, 5), (0,))
        chosen = b("select", b.cmp("eq", x, best), places, b.like(-1, places))
        return b("reduce", chosen, axis=1, combine="max")

    return build


def to_i8(*steps: str) -> Build:
    def build(b: Builder, x: Value, y: Value) -> Value:
        x = b("add", x, b.like(0.5, x))
        if "floor" in steps:
            x = b("round", x, mode="floor")
        if "clamp" in steps:
            x = b("max", x, b.like(-4.0, x), nan="number")
        return b.cast(x, I8, overflow="wrap")

    return build


def gate(first: bool) -> Build:
    def build(b: Builder, x: Value, y: Value) -> Value:
        halves = [b("slice", x, start=(0, at), limit=(3, at + 2), step=(1, 1)) for at in (0, 3)]
        gate_, up = halves if first else halves[::-1]
        return b("mul", b("neg", gate_), b("math", up, fn="exp"))

    return build


def decay(early: bool) -> Build:
    def build(b: Builder, x: Value, y: Value) -> Value:
        scaled = b("mul", x, b.like(0.1 if early else 0.9, x))
        if early:
            y = b("add", y, scaled)
            return b("sub", x, b("mul", y, y))
        return b("sub", scaled, b("mul", y, y))

    return build


def softmax_loop(rescale: bool) -> Build:
    """A running maximum, and two sums under it: the rows' weights and the weighted elements."""

    def build(b: Builder, x: Value, y: Value) -> Value:
        low, high, step = (b.constant(n, I32) for n in (0, 5, 1))
        starts = [b.constant(-np.inf, F32, (3,)), b.constant(0.0, F32, (3,)), b.constant(0.0, F32, (3,))]

        def turn(i: Value, m: Value, total: Value, acc: Value) -> list[Value]:
            zero = b.constant(0, I32)
            here = b.reshape(b("dynamic_slice", x, zero, i, shape=(3, 1)), (3,))
            new = b("max", m, here, nan="number")
            alpha = b("math", b("sub", m, new), fn="exp")
            p = b("math", b("sub", here, new), fn="exp")
            total = b("add", b("mul", total, alpha), p)
            acc = b("add", b("mul", acc, alpha) if rescale else acc, b("mul", p, here))
            return [new, total, acc]

        body = b.region([TensorType(I32), *(v.type for v in starts)], turn)
        _, total, acc = b.op("for", [low, high, step, *starts], [body]).results
        return b("div", acc, total)

    return build


def kept_mean(count: bool) -> Build:
    def build(b: Builder, x: Value, labels: Value) -> Value:
        keep = b.cmp("ge", labels, b.like(0, labels))
        total = b("reduce", b("select", keep, x, b.like(0.0, x)), axis=0, combine="add")
        number = b.cast(b("reduce", b.cast(keep, I64), axis=0, combine="add"), F32)
        return b("div", total, number if count else b.constant(7.0, F32))

    return build


def summed(dt: DType, hop: DType | None = None) -> Build:
    def build(b: Builder, x: Value, y: Value) -> Value:
        total = row_sum(b, b.cast(x, dt))
        return b("math", b.cast(b.cast(total, hop) if hop else total, F32), fn="exp")

    return build


def two_blocks(b: Builder, x: Value, y: Value) -> Value:
    halves = [b("slice", x, start=(0, at), limit=(3, end), step=(1, 1)) for at, end in ((0, 2), (2, 5))]
    return b("add", *(row_sum(b, half) for half in halves))


def start_at(value: float) -> Build:
    def build(b: Builder, x: Value, y: Value) -> Value:
        start = b.constant(value, F32, (3,))
        low, high, step = (b.constant(n, I32) for n in (0, 5, 1))

        def turn(i: Value, total: Value) -> list[Value]:
            here = b("dynamic_slice", x, b.constant(0, I32), i, shape=(3, 1))
            return [b("add", total, b.reshape(here, (3,)))]

        return b.op("for", [low, high, step, start], [b.region([TensorType(I32), start.type], turn)]).result

    return build


LABELS = {"x": (F32, (7,)), "labels": (I64, (7,))}
INTS = {"x": (I32, (3, 5)), "y": (I32, (3, 5))}
HALF = {"x": (F16, (3, 5)), "y": (F16, (3, 5))}

SPEAKS: dict[str, tuple[Any, Pair]] = {
    "constant": (rules_values.constants, Pair(times(0.01), times(0.1), 1, "constant", words="0.01")),
    "eps": (rules_values.constants, Pair(plus(1e-3), plus(2e-3), 3, "eps", scale=1e-2)),
    "eps place": (rules_values.eps_place, Pair(eps_outside, plus(1e-3), 4, "eps", scale=1e-2, words="sqrt")),
    "one-sided eps": (
        rules_values.extra_eps,
        Pair(
            lambda b, x, y: b("math", x, fn="exp"),
            lambda b, x, y: b("add", b("math", x, fn="exp"), b.like(3e-3, x)),
            3,
            "eps",
        ),
    ),
    "count": (rules_values.counted, Pair(kept_mean(True), kept_mean(False), 10, "mask", shapes=LABELS)),
    "start": (
        rules_values.first_value,
        Pair(lambda b, x, y: row_sum(b, x), start_at(0.5), 1, "accumulator", words="0.5"),
    ),
    "nan": (
        rules_values.born_not_finite,
        Pair(lambda b, x, y: x, lambda b, x, y: b("sub", b("add", x, b.like(np.inf, x)), b.like(np.inf, x)), 4, "nan"),
    ),
    "overflow": (
        rules_values.not_finite,
        Pair(lambda b, x, y: b("neg", x), lambda b, x, y: b("math", b("neg", x), fn="exp"), 2, "nan", scale=900.0),
    ),
    "flavour": (
        rules_steps.functions,
        Pair(
            lambda b, x, y: b("div", x, b.like(8, x), rounding="floor"),
            lambda b, x, y: b("div", x, b.like(8, x), rounding="trunc"),
            2,
            "function",
            shapes=INTS,
        ),
    ),
    "function": (rules_steps.other_function, Pair(gelu("erf", 0.7071), gelu("tanh", 0.83), 3, "function", words="erf")),
    "operation": (
        rules_steps.other_operation,
        Pair(lambda b, x, y: b("add", x, y), lambda b, x, y: b("mul", x, y), 1, "function"),
    ),
    "ties": (rules_steps.ties, Pair(largest(True), largest(False), 8, "order")),
    "rounds first": (rules_steps.casts, Pair(to_i8("floor"), to_i8(), 2, "cast", words="rounds")),
    "clamps first": (
        rules_steps.casts,
        Pair(to_i8("floor", "clamp"), to_i8("floor"), 4, "cast", scale=40.0, words="clamps"),
    ),
    "swapped": (rules_steps.swapped, Pair(lambda b, x, y: b("sub", x, y), lambda b, x, y: b("sub", y, x), 1, "order")),
    "moved": (rules_steps.moved_step, Pair(decay(False), decay(True), 2, "order")),
    "other part": (rules_steps.other_operand, Pair(gate(True), gate(False), 2, "index")),
    "carry": (rules_steps.unscaled_carry, Pair(softmax_loop(True), softmax_loop(False), 18, "missing-term")),
    "step": (
        rules_steps.missing_step,
        Pair(
            lambda b, x, y: b("mul", x, b("add", y, b.like(1.0, y))), lambda b, x, y: b("mul", x, y), 1, "missing-term"
        ),
    ),
    "nothing": (
        rules_steps.missing_step,
        Pair(lambda b, x, y: b("min", b("abs", x), b.like(0.5, x)), lambda b, x, y: b("abs", x), 1, "missing-term"),
    ),
    "implementation": (
        rules_steps.implementations,
        Pair(
            lambda b, x, y: b("math", x, fn="exp", impl="cuda"),
            lambda b, x, y: b("math", x, fn="exp", impl="xla"),
            1,
            "function",
            level="exact",
            words="xla",
        ),
    ),
    "rounding": (
        rules_rounding.rounding,
        Pair(summed(F32), summed(F32, BF16), 2, "cast", level="reassociated", words="bfloat16"),
    ),
    "accumulator": (
        rules_rounding.accumulators,
        Pair(summed(F32), summed(F16), 1, "accumulator", shapes=HALF, level="reassociated"),
    ),
    "order": (
        rules_rounding.orders,
        Pair(lambda b, x, y: row_sum(b, x), two_blocks, 3, "order", level="exact", words="5 terms"),
    ),
}

#: Rule -> a pair of SPEAKS that another rule explains.
SILENT = {
    "constant": "moved",
    "eps": "eps place",
    "eps place": "eps",
    "one-sided eps": "eps",
    "count": "constant",
    "start": "order",
    "nan": "constant",
    "overflow": "constant",
    "flavour": "operation",
    "function": "constant",
    "operation": "swapped",
    "ties": "swapped",
    "rounds first": "constant",
    "clamps first": "step",
    "swapped": "operation",
    "moved": "constant",
    "other part": "constant",
    "carry": "start",
    "step": "constant",
    "nothing": "swapped",
    "implementation": "order",
    "rounding": "order",
    "accumulator": "order",
    "order": "constant",
}


@pytest.mark.parametrize("name", SPEAKS)
def test_speaks(name: str) -> None:
    rule, pair = SPEAKS[name]
    found = rule(pair.context())
    assert found is not None
    assert (found.kind, found.b.line if found.b else 0) == (pair.kind, pair.line)
    assert pair.words in found.what


@pytest.mark.parametrize("name", SILENT)
def test_silent(name: str) -> None:
    rule, other = SPEAKS[name][0], SPEAKS[SILENT[name]][1]
    assert rule(other.context()) is None
