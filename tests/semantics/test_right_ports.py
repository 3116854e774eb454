"""Right ports that were once refused: each has a wrong neighbour that still is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equivalence.verdicts import Level
from lowering.ir.program import Value
from tests.semantics.programs import EQUAL, Body, Kit, judged, level

T = "f32[30,40]"


def sign(k: Kit, x: Value, low: float = -1.0) -> Value:
    return k.where(k.cmp("gt", x, 0.0), k.lit(1.0, x), k.where(k.cmp("lt", x, 0.0), k.lit(low, x), k.lit(0.0, x)))


def step(low: float = -1.0, swapped: bool = False) -> Body:
    """The sign of a sum, whose exact 0 no sample has."""

    def body(k: Kit, x: Value, y: Value) -> Value:
        a, b = k.mul(x, 0.9), k.mul(y, 0.1)
        return sign(k, k.add(b, a) if swapped else k.add(a, b), low)

    return body


def test_a_sign_by_two_comparisons() -> None:
    def summed(k: Kit, x: Value, y: Value) -> Value:  # another formula of the same function
        return sign(k, k.mul(k.add(k.mul(x, 9.0), y), 0.1))

    assert level(step(), summed, T, T) in EQUAL
    assert level(step(), step(-0.5), T, T) is Level.DIFFERENT


def scores(scale: float | None, d: int) -> Body:
    """q k^T / sqrt(d), or with ``scale`` on either factor."""

    def body(k: Kit, q: Value, keys: Value) -> Value:
        if scale is not None:
            q, keys = k.mul(q, scale), k.mul(keys, scale)
        products = k.b("dot", q, k.b("transpose", keys, perm=(1, 0)), acc="f32")
        return products if scale is not None else k.div(products, float(np.float32(math.sqrt(d))))

    return body


@pytest.mark.parametrize("d", [23, 39, 64])
def test_attention_scaled_on_both_factors(d: int) -> None:
    given = f"f32[12,{d}]", f"f32[16,{d}]"
    assert level(scores(None, d), scores(float(np.float32(d**-0.25)), d), *given) in EQUAL
    assert level(scores(None, d), scores(float(np.float32((d + 1) ** -0.25)), d), *given) not in EQUAL


def masked_softmax(factor: float) -> Body:
    """Masked with -inf before the temperature."""

    def body(k: Kit, x: Value) -> Value:
        masked = k.where(k.b.cmp("lt", k.b.index((30, 40), 1), k.b.like(25, k.b.index((30, 40), 1))), x, -math.inf)
        return k.c.softmax(k.b("div", masked, k.lit(factor, masked), accuracy="declared", impl="torch"), 1)

    return body


def test_an_infinity_divided_has_no_error() -> None:
    report = judged(masked_softmax(0.7), masked_softmax(0.7), T)
    assert report.verdict.level in EQUAL and report.exit_code == 0
    assert not [f for f in report.findings if f.severity == "error"]


def padded_variance(clamped: bool, shift: float = 0.0) -> Body:
    """E[x^2] - E[x]^2 over lanes padded with zeros."""

    def body(k: Kit, x: Value) -> Value:
        lanes = k.b.index((30, 64), 1)
        wide = k.b("concat", x, k.b.constant(0.0, x.type.dtype, (30, 24)), axis=1)
        wide = k.where(k.b.cmp("lt", lanes, k.b.like(40, lanes)), wide, 0.0)
        mean, square = k.div(k.sum(wide), 40.0), k.div(k.sum(k.mul(wide, wide)), 40.0)
        v = k.sub(square, k.mul(mean, mean))
        return k.max(v, shift) if clamped else v

    return body


def two_pass(k: Kit, x: Value) -> Value:
    d = k.sub(x, k.c.spread(k.div(k.sum(x), 40.0), x, 1))
    return k.div(k.sum(k.mul(d, d)), 40.0)


def test_a_clamp_of_a_variance_over_padded_lanes() -> None:
    assert level(two_pass, padded_variance(True), T) in EQUAL
    assert level(two_pass, padded_variance(True, 1.0), T) not in EQUAL


def masked_mean(least: float) -> Body:
    def body(k: Kit, x: Value, m: Value) -> Value:
        chosen = k.cast(m, "f32")
        total = k.b("reduce", k.sum(k.mul(x, chosen)), axis=0, combine="add")
        count = k.b("reduce", k.sum(chosen), axis=0, combine="add")
        return k.div(total, k.max(count, least))

    return body


def test_a_guard_against_an_empty_mask() -> None:
    given = "f32[4,6]", "i1[4,6]"
    rng = np.random.default_rng(0)
    data = {"x0": rng.standard_normal((4, 6)).astype(np.float32), "x1": rng.integers(0, 2, (4, 6)).astype(bool)}

    def doubled(k: Kit, x: Value, m: Value) -> Value:
        return k.mul(masked_mean(1.0)(k, k.mul(x, 2.0), m), 0.5)

    def other(k: Kit, x: Value, m: Value) -> Value:
        return k.div(masked_mean(1.0)(k, k.mul(x, 3.0), m), 3.0)

    assert level(masked_mean(1.0), other, *given, data=data) in EQUAL
    assert level(masked_mean(1.0), masked_mean(9.0), *given, data=data) not in EQUAL


def shifted_logsumexp(by_magnitude: bool, less: float = 0.0) -> Body:
    """As jax writes it: the maximum is replaced where it is not finite, the sum's absolute value is taken."""

    def body(k: Kit, x: Value) -> Value:
        top = k.b("reduce", x, axis=1, combine="max")
        if by_magnitude:
            top = k.b("select", k.b.cmp("lt", k.b("abs", top), k.lit(math.inf, top)), top, k.lit(0.0, top))
        total = k.sum(k.b("math", k.sub(x, k.c.spread(top, x, 1)), fn="exp", accuracy="declared", impl="torch"))
        total = k.sub(total, less) if less else total
        total = k.b("abs", total) if by_magnitude else total
        return k.add(k.b("math", total, fn="log", accuracy="declared", impl="torch"), top)

    return body


def test_the_absolute_value_of_what_is_never_negative() -> None:
    assert level(shifted_logsumexp(False), shifted_logsumexp(True), T) in EQUAL
    assert level(shifted_logsumexp(False, 1.5), shifted_logsumexp(True, 1.5), T) not in EQUAL


def running_maximum(start: float | None, magnitude: bool) -> Body:
    """Each row over its largest (absolute) value, which a running maximum finds from ``start`` on."""

    def body(k: Kit, x: Value) -> Value:
        of = k.b("abs", x) if magnitude else x
        most = k.c.reduce("max", of, 1)
        most = most if start is None else k.b("max", k.lit(start, most), most)
        return k.div(x, k.c.spread(most, x, 1))

    return body


def test_a_running_maximum_of_magnitudes_starts_at_zero() -> None:
    """0 is never above a largest magnitude; it may be above a largest value, and 1e-3 above either."""
    assert level(running_maximum(None, True), running_maximum(0.0, True), T) in EQUAL
    assert level(running_maximum(None, False), running_maximum(0.0, False), T) not in EQUAL
    assert level(running_maximum(None, True), running_maximum(1e-3, True), T) not in EQUAL
