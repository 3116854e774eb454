"""The judge's use of enclosures: `close`, each side within its bound, and contradictions that must be seen."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from equivalence.interpretations import error
from equivalence.judge import judge, truth
from equivalence.verdicts import Check, Level, Report
from lowering.ir.program import Value
from lowering.ir.types import BF16, F16, F32, DType, TensorType
from tests.interpretations.real_runs import Kit, inputs, program

OPTIONS: Any = SimpleNamespace(seed=0, special="ignore", tolerance=None, timeout=60.0, target=None, inputs=())
Body = Callable[[Kit, Value], Value]


def compared(a: Body, b: Body, dt: DType = F32, shape: tuple[int, ...] = (7, 40)) -> Report:
    types = [TensorType(dt, shape)]
    return judge([program(types, a)], [program(types, b)], [inputs(types)], OPTIONS)


def check(report: Report) -> Check:
    return next(c for c in report.checks if c.name == truth.CHECK)


def softmax(log2e: float = 1.4426950408889634, eps: float | None = None) -> Body:
    """A row softmax through exp2 in f32, whatever the inputs' dtype."""

    def body(k: Kit, x: Value) -> Value:
        wide = k.b.cast(x, F32)
        shifted = k.b("sub", wide, k.c.spread(k.c.reduce("max", wide, 1), wide, 1))
        e = k.fn("exp2", k.c.scale(shifted, log2e))
        under = k.c.reduce("add", e, 1)
        under = under if eps is None else k.c.plus(under, eps)
        return k.b.cast(k.b("div", e, k.c.spread(under, e, 1)), x.type.dtype)

    return body


def test_a_rounded_constant_below_the_format_is_close() -> None:
    verdict = compared(softmax(), softmax(1.4427), F16).verdict
    assert verdict.level is Level.CLOSE and verdict.delta is not None and 1e-8 < verdict.delta < 1e-4


def test_an_eps_below_the_format_is_close() -> None:
    verdict = compared(softmax(), softmax(eps=1e-10)).verdict
    assert verdict.level is Level.CLOSE and verdict.delta is not None and 1e-13 < verdict.delta < 1e-10


def test_tiny_eps_under_a_root_is_close() -> None:
    """SEMANTICS 0: rsqrt(x + 1e-12) against rsqrt(x + 1e-13)."""

    def norm(eps: float) -> Body:
        return lambda k, x: k.fn("rsqrt", k.c.plus(k.c.plus(k.b("mul", x, x), 1.0), eps))

    verdict = compared(norm(1e-12), norm(1e-13)).verdict
    assert verdict.level is Level.CLOSE and verdict.delta is not None and 0 < verdict.delta < 1e-12


def test_equal_real_functions_are_never_close() -> None:
    """The root of a square is the absolute value, which the fields do not see."""
    report = compared(lambda k, x: k.fn("sqrt", k.b("mul", x, x)), lambda k, x: k.b("abs", x))
    assert report.verdict.level is not Level.CLOSE and check(report).passed


def test_a_mismatch_with_opaque_operations_names_the_first() -> None:
    """sin(x + x) is 2 sin x cos x: equal, and beyond the fields."""

    def product(k: Kit, x: Value) -> Value:
        return k.c.scale(k.b("mul", k.fn("sin", x), k.fn("cos", x)), 2.0)

    verdict = compared(lambda k, x: k.fn("sin", k.b("add", x, x)), product).verdict
    assert verdict.level is Level.UNDECIDED and "opaque: sin" in verdict.reason


def test_both_sides_are_within_their_bounds() -> None:
    report = compared(softmax(), lambda k, x: k.c.softmax(x, 1))
    assert report.verdict.level is Level.REAL
    assert check(report).passed and "of its bound" in check(report).detail


def test_a_bound_that_is_too_small_is_a_contradiction(monkeypatch: pytest.MonkeyPatch) -> None:
    real = error.rounding
    monkeypatch.setattr(error, "rounding", lambda data, dt: real(data, dt) * 1e-3)
    same = compared(lambda k, x: k.c.scale(x, 0.1), lambda k, x: k.c.scale(x, 0.1))
    assert check(same).passed is False and same.verdict.level is Level.UNDECIDED


def test_equal_words_with_disjoint_enclosures_are_a_contradiction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(truth, "gap", lambda a, b: 1.0)
    report = compared(softmax(), softmax())
    assert report.verdict.level is Level.UNDECIDED and "contradicts itself" in report.verdict.reason


def test_control_that_follows_float_data_is_not_judged() -> None:
    """Another path would have been another function: nothing is shown."""
    assert truth.steered(SimpleNamespace(path_sites=[object()]))  # type: ignore[arg-type]
    assert not truth.steered(SimpleNamespace(path_sites=[]))  # type: ignore[arg-type]


def test_a_sum_close_to_cancelling_stays_within_its_bound() -> None:
    def total(k: Kit, x: Value) -> Value:
        y = k.c.spread(k.c.reduce("add", x, 1), x, 1)
        return k.b("sub", k.b("add", x, y), y)

    report = compared(total, lambda k, x: x)
    assert check(report).passed and np.isfinite(report.outputs[0].bound_a or 0.0)


@pytest.mark.parametrize("dt", [BF16, F16])
def test_a_coarse_constant_counts_from_the_number_it_stands_for(dt: DType) -> None:
    """0.1 rounded to bf16 is off by up to 2^-9 of itself: its bound says so, and the two are one real function."""

    def wide(k: Kit, x: Value) -> Value:
        return k.b.cast(k.c.scale(k.b.cast(x, F32), 0.1), dt)

    report = compared(lambda k, x: k.c.scale(x, 0.1), wide, dt)
    assert report.verdict.level is Level.REAL and check(report).passed


def test_an_array_of_constants_is_no_obstacle() -> None:
    values = np.linspace(0, 1, 280).reshape(7, 40).astype(np.float32)

    def body(k: Kit, x: Value) -> Value:
        return k.b("add", x, k.b.constant(values, F32))

    assert check(compared(body, body)).passed


@pytest.mark.parametrize("mode", ["rtz", "rtp", "rtn", "rna"])
def test_directed_casts_are_within_their_bounds(mode: str) -> None:
    def body(k: Kit, x: Value) -> Value:
        return k.b.cast(k.c.scale(k.b.cast(x, F32), 0.3), BF16, rounding=mode)

    assert check(compared(body, body, BF16)).passed
