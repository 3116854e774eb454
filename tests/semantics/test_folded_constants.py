"""Constants that one host has folded, roots of literal factors, and results that cancel to zero."""

from __future__ import annotations

import numpy as np
import pytest

from tests.semantics.programs import EQUAL, Body, Level, arrays, judged, level

X, V = "f32[5,7]", "f32[37]"


def adam(folded: bool, step: int = 3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8) -> Body:
    """One step; ``folded``: the host has prepared the step size and the root of the second correction."""

    def body(k, p, g, m, v):
        one = k.lit(1.0, p)
        first, second = 1 - beta1**step, 1 - beta2**step
        squared = k.mul(g, g)
        if folded:
            m = k.add(m, k.mul(k.sub(g, m), k.sub(one, k.lit(beta1, p))))
            v = k.add(k.mul(v, beta2), k.mul(squared, k.sub(one, k.lit(beta2, p))))
            below = k.add(k.div(k.fn("sqrt", v), second**0.5), eps)
            return [k.sub(p, k.div(k.mul(m, 1e-3 / first), below)), m, v]
        m = k.add(k.mul(m, beta1), k.mul(g, 1 - beta1))
        v = k.add(k.mul(v, beta2), k.mul(squared, 1 - beta2))
        ratio = k.div(k.div(m, first), k.add(k.fn("sqrt", k.div(v, second)), eps))
        return [k.sub(p, k.mul(ratio, 1e-3)), m, v]

    return body


def adam_inputs() -> dict[str, np.ndarray]:
    made = arrays(1, V, V, V, V)
    made["x3"] = made["x3"] ** 2
    return made


@pytest.mark.parametrize("step", [1, 3, 10, 11])
def test_adam_with_folded_corrections_is_one_function(step: int) -> None:
    report = judged(adam(False, step), adam(True, step), V, V, V, V, data=adam_inputs())
    assert report.verdict.level is Level.REAL


@pytest.mark.parametrize(
    "other", [{"beta1": 0.9001}, {"beta2": 0.9990001}, {"step": 4}, {"eps": 1.1e-8}, {"beta2": 0.99900001}]
)
def test_adam_with_another_constant_is_not(other: dict[str, float]) -> None:
    assert level(adam(False), adam(True, **other), V, V, V, V, data=adam_inputs()) not in EQUAL  # type: ignore[arg-type]


def root(inside: float, outside: float) -> Body:
    return lambda k, x: k.mul(k.fn("sqrt", k.mul(k.mul(x, x), inside)), outside)


@pytest.mark.parametrize("n", [3, 5, 6, 7, 11, 13])
def test_a_factor_can_leave_a_root(n: int) -> None:
    assert level(root(float(n * n), 1.0), root(1.0, float(n)), X) is Level.REAL
    assert level(root(1.0 / n**2, 1.0), root(1.0, 1.0 / n), X) is Level.REAL
    assert level(root(float(n * n), 1.0), root(1.0, -float(n)), X) is Level.DIFFERENT
    assert level(root(float(n * n), 1.0), root(1.0, n + 1e-6), X) not in EQUAL


def cosine(rooted: bool) -> Body:
    """1 - cos(x, x), by square roots or reciprocal ones: 0 in the reals."""

    def body(k, x):
        inner = k.sum(k.mul(x, x))
        size = k.fn("sqrt", inner)
        inverse = k.fn("rsqrt", inner)
        share = k.div(inner, k.mul(size, size)) if rooted else k.mul(k.mul(inner, inverse), inverse)
        return k.sub(k.lit(1.0, size), share)

    return body


def test_a_result_that_is_zero_in_the_reals() -> None:
    assert level(cosine(True), cosine(False), X) is Level.REAL


def test_a_small_result_is_not_zero() -> None:
    off: Body = lambda k, x: k.add(cosine(False)(k, x), k.mul(k.sum(x), 1e-9))  # type: ignore[arg-type]  # noqa: E731
    assert level(cosine(True), off, X) not in EQUAL
