"""Rules about which elements reach the result, on one-dimensional kernels: where each speaks and where not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from equivalence.divergence import explain, rules_reads, rules_undefined, rules_values
from lowering.ir.builder import Builder
from lowering.ir.program import Program, Value
from lowering.ir.types import F32, I32, TensorType
from tests.divergence.programs import context, drawn, kernel, load, store, tensors

N, BLOCK = 13, 8
INF = float("inf")


def copies(*, grid: int, shift: int = 0, bound: int = N, pred: str = "lt", low: int = 0) -> Program:
    """out[i] = x[i + shift] for low <= i < bound, in blocks of 8."""

    def build(b: Builder, x: Value, out: Value, *_: Value) -> None:
        start = b("mul", b("program_id", axis=0), b.constant(BLOCK, I32))
        index = b("add", b.broadcast(start, (BLOCK,)), b.index((BLOCK,), 0, I32))
        inside = b.cmp(pred, index, b.like(bound, index))
        place = b("add", index, b.like(shift, index))
        store(
            b,
            out,
            index,
            load(b, x, place, b("and", inside, b.cmp("ge", place, b.like(low, place))), 0.0),
            b.cmp("lt", index, b.like(N, index)),
        )

    return kernel("b.py", build, N, N, grid=grid)


def total(
    file: str = "b.py",
    other: float | None = 0.0,
    combine: str = "add",
    *,
    centre: bool = False,
    pred: str = "lt",
    bound: int = N,
) -> Program:
    """out[0] = the sum of x[0:13], padded to 16; of (x - 1)^2 when ``centre``."""

    def build(b: Builder, x: Value, out: Value, *_: Value) -> None:
        index = b.index((16,), 0, I32)
        value = load(b, x, index, b.cmp(pred, index, b.like(bound, index)), other)
        if centre:
            value = b("sub", value, b.like(1.0, value))
            value = b("mul", value, value)
        store(b, out, b.constant(0, I32), b("reduce", value, axis=0, combine=combine))

    return kernel(file, build, N, 1)


def reference(combine: str = "add", *, centre: bool = False) -> Program:
    def build(b: Builder, x: Value) -> Value:
        x = b("sub", x, b.like(1.0, x)) if centre else x
        return b.reshape(b("reduce", b("mul", x, x) if centre else x, axis=0, combine=combine), (1,))

    return tensors("a.py", build, {"x": (F32, (N,))})


def chunks(last: int, *, atomic: bool = False, plain: bool = False, clear: bool = True) -> Program:
    """out[0] = the sum of x[0:last] in steps of 4, by a loop; or by instances that add, or store, into out[0]."""

    def part(b: Builder, x: Value, start: Value) -> Value:
        index = b("add", b.broadcast(start, (4,)), b.index((4,), 0, I32))
        return b("reduce", load(b, x, index, b.cmp("lt", index, b.like(N, index)), 0.0), axis=0, combine="add")

    def build(b: Builder, x: Value, out: Value, *_: Value) -> None:
        if atomic or plain:
            piece = part(b, x, b("mul", b("program_id", axis=0), b.constant(4, I32)))
            address = b("addptr", out, b.constant(0, I32), bytes=4)
            b.op("atomic_rmw" if atomic else "store", [address, piece], **({"combine": "add"} if atomic else {}))
            return
        low, high, step, start = b.constant(0, I32), b.constant(last, I32), b.constant(4, I32), b.constant(0.0, F32)
        body = b.region([TensorType(I32), start.type], lambda i, acc: [b("add", acc, part(b, x, i))])
        store(b, out, b.constant(0, I32), b.op("for", [low, high, step, start], [body]).result)

    return kernel("b.py", build, N, 1, grid=4 if atomic or plain else 1, clear=clear)


def identity() -> Program:
    return tensors("a.py", lambda b, x: b("neg", b("neg", x)), {"x": (F32, (N,))})


def shifted() -> Program:
    """out[i] = x[i + 1], 0 at the end: a copy that leaves out no element but the first."""
    return copies(grid=2, shift=1, bound=N - 1)


def padded(clear: bool) -> Program:
    def build(b: Builder, x: Value) -> Value:
        filling = b.constant(0.0, F32) if clear else b("undefined", to="f32")
        return b.reshape(
            b("reduce", b("pad", x, filling, low=(0,), high=(3,), interior=(0,)), axis=0, combine="add"), (1,)
        )

    return tensors("b.py", build, {"x": (F32, (N,))})


Case = tuple[Callable[..., Any], Program, Program, str, str]
SPEAKS: dict[str, Case] = {
    "unwritten": (rules_undefined.unwritten, identity(), copies(grid=1), "missing-term", "grid (1, 1, 1)"),
    "uninitialised": (
        rules_undefined.uninitialised,
        reference(),
        chunks(N, atomic=True, clear=False),
        "other",
        "never cleared",
    ),
    "masked undefined": (rules_undefined.masked_undefined, reference(), total(other=None), "mask", "no value"),
    "padding undefined": (rules_undefined.undefined_padding, reference(), padded(False), "padding", "padding"),
    "too much": (
        rules_reads.too_much,
        copies(grid=2, bound=N - 1),
        copies(grid=2, bound=N - 1, pred="le"),
        "mask",
        "x[12]",
    ),
    "out of bounds": (rules_reads.too_much, reference(), total(pred="le"), "mask", "outside its buffer"),
    "overwritten": (rules_reads.overwritten, reference(), chunks(N, plain=True), "accumulator", "overwritten"),
    "loop": (rules_reads.never_reached, reference(), chunks(N // 4 * 4), "missing-term", "x[12]"),
    "index": (rules_reads.wrong_index, copies(grid=2), copies(grid=2, shift=1), "index", "where A reads"),
    "neutral": (rules_values.padding_values, reference("min"), total(other=-9.0, combine="min"), "padding", "-9"),
    "padding": (rules_values.padding_values, reference(centre=True), total(centre=True), "mask", "masked-off"),
}
SILENT = {
    "unwritten": "index",
    "uninitialised": "masked undefined",
    "masked undefined": "uninitialised",
    "padding undefined": "masked undefined",
    "too much": "index",
    "out of bounds": "loop",
    "overwritten": "loop",
    "loop": "overwritten",
    "index": "too much",
    "neutral": "loop",
    "padding": "index",
}


@pytest.mark.parametrize("name", SPEAKS)
def test_speaks(name: str) -> None:
    rule, a, b, kind, words = SPEAKS[name]
    found = rule(context(a, b))
    assert found is not None and found.kind == kind
    assert words in found.what


@pytest.mark.parametrize("name", SILENT)
def test_silent(name: str) -> None:
    _, a, b, *_ = SPEAKS[SILENT[name]]
    assert SPEAKS[name][0](context(a, b)) is None


@pytest.mark.parametrize("name", SPEAKS)
def test_explain_takes_the_same_rule(name: str) -> None:
    """No rule of higher priority speaks first."""
    _, a, b, kind, _ = SPEAKS[name]
    given = drawn(a)
    assert explain(a, b, given, given).kind == kind


def masked_scores(keep: str) -> Program:
    """The largest x[j] with j ``keep`` 6."""

    def build(b: Builder, x: Value) -> Value:
        index = b.index((N,), 0, I32)
        mask = b.cmp(keep, index, b.like(6, index))
        return b.reshape(b("reduce", b("select", mask, x, b.like(-INF, x)), axis=0, combine="max"), (1,))

    return tensors("b.py", build, {"x": (F32, (N,))})


@pytest.mark.parametrize(("a", "b", "rule"), [("le", "lt", rules_reads.too_little), ("lt", "le", rules_reads.too_much)])
def test_masks_name_the_comparison(a: str, b: str, rule: Any) -> None:
    x = {"x": np.arange(N, dtype=np.float32)}
    found = rule(context(masked_scores(a), masked_scores(b), inputs=x))
    assert found is not None and found.kind == "mask" and found.b.line == 3
    assert "x[6]" in found.what


def test_the_comparison_nearest_to_its_edge_is_blamed() -> None:
    """Of 0 <= i and i <= 12, the second is off by one at element 12."""
    found = rules_reads.too_much(context(copies(grid=2, bound=N - 1), copies(grid=2, bound=N - 1, pred="le")))
    assert found is not None and "12 against 12" in found.what
