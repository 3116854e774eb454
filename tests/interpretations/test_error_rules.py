"""Bounds that nothing may inflate: a value compared with itself, an exact zero added."""

from __future__ import annotations

import numpy as np

from equivalence.evaluator import Machine
from equivalence.interpretations.error import Error
from tests.semantics.programs import Body, arrays, program

X = "f32[64]"


def bound(body) -> np.ndarray:
    """Of the first output; float64[64]."""
    lanes = next(iter(Machine(program(body, X), [Error()]).run(arrays(1, X)).outputs.values()))
    assert lanes.planes is not None
    return lanes.full(lanes.planes["bound"], 1)[0]


def test_a_value_compared_with_itself_is_no_straddle() -> None:
    """As in logaddexp: where(d != d, a + b, max + log1p(exp(-|d|)))."""

    def body(k, x):
        scaled = k.mul(x, 0.3)
        return k.where(k.cmp("ne", scaled, scaled), k.mul(x, 1e6), scaled)

    assert bound(body).max() < 1e-6


def test_a_comparison_under_a_mask_is_certain_where_the_mask_is_not() -> None:
    """Of lanes about which nothing is known, too; where the mask holds the doubt stays."""

    def body(holds):
        return lambda k, x: k.cast(
            k.b("and", k.cmp("gt", k.mul(x, 0.3), k.mul(x, 0.1 * 3.0)), k.cmp("lt", k.b("abs", x), 1e9 * holds)), "f32"
        )

    assert bound(body(0)).max() == 0.0
    assert bound(body(1)).max() >= 1.0


def test_another_value_compared_may_straddle() -> None:
    def body(k, x):
        return k.where(k.cmp("lt", k.mul(x, 0.3), k.mul(x, 0.1 * 3.0)), k.mul(x, 1e6), x)

    assert bound(body).max() > 1.0


def test_adding_an_exact_zero_rounds_nothing() -> None:
    assert bound(lambda k, x: k.sub(x, 0.0)).max() == 0.0
    assert bound(lambda k, x: k.sub(x, 1.0)).max() > 0.0


def rescaled(mask: float, start: float) -> Body:
    """One step of an online softmax whose block is masked throughout: exp(m - max(m, s)) times what there was."""

    def body(k, x):
        running = k.lit(mask, x)
        scores = k.where(k.cmp("lt", k.b("abs", x), 1e9), k.lit(-np.inf, x), x)
        return k.mul(k.fn("exp", k.sub(running, k.max(running, scores))), k.lit(start, x))

    return body


def test_a_mask_less_itself_is_zero() -> None:
    """-1e30 of f32 is 1.5e22 from the decimal; were that its error, exp(m - m) would be unknown, and 0 times it."""
    assert bound(rescaled(-1e30, 0.0)).max() < 1e-44 and bound(rescaled(-1e30, 1.0)).max() < 1e-5


def test_a_literal_of_ordinary_size_may_stand_for_another_number() -> None:
    assert bound(lambda k, x: k.mul(k.lit(0.1, x), k.lit(1.0, x))).min() > 0.0
