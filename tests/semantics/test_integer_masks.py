"""Integer inputs of zeros and ones are masks; other integers used as numbers hold only for the given values."""

from __future__ import annotations

import numpy as np

from tests.semantics.programs import EQUAL, Body, Level, arrays, judged, level

X, M = "f32[5,7]", "i64[5,7]"


def data(values: np.ndarray) -> dict[str, np.ndarray]:
    return {"x0": arrays(1, X)["x0"], "x1": values.astype(np.int64)}


MASK = data(np.random.default_rng(3).integers(0, 2, (5, 7)))
LABELS = data(np.random.default_rng(3).integers(0, 4, (5, 7)))


def multiplied(k, x, m):
    return k.sum(k.mul(k.mul(k.mul(x, x), 3.0), k.cast(m, "f32")))


def selected(k, x, m):
    return k.sum(k.where(k.cmp("ne", k.cast(m, "f32"), 0.0), k.mul(x, k.mul(x, 3.0)), 0.0))


def test_a_mask_of_integers_is_a_mask_and_listed() -> None:
    report = judged(multiplied, selected, X, M, data=MASK)
    assert report.verdict.level is Level.REAL
    assert any("mask" in line for line in report.assumptions)


def test_the_negated_mask_is_another() -> None:
    negated: Body = lambda k, x, m: k.sum(  # noqa: E731
        k.where(k.cmp("eq", k.cast(m, "f32"), 0.0), k.mul(x, k.mul(x, 3.0)), 0.0)
    )
    assert level(multiplied, negated, X, M, data=MASK) is Level.DIFFERENT


def test_other_integers_hold_for_the_given_values_only() -> None:
    assert level(multiplied, selected, X, M, data=LABELS) not in EQUAL

    def scaled(k, x, m):
        return k.mul(k.sum(k.mul(k.mul(x, x), k.cast(m, "f32"))), 3.0)

    assert level(multiplied, scaled, X, M, data=LABELS) is Level.REAL  # a factor, whatever it is
    assert level(multiplied, scaled, X, M, data=MASK) is Level.REAL


def test_a_mask_that_repeats_itself_hides_nothing() -> None:
    """Every row has the same mask; one side reads the first row's everywhere."""
    same = data(np.tile(np.random.default_rng(3).integers(0, 2, 7), (5, 1)))

    def first_row(k, x, m):
        row = k.b.broadcast(k.b("slice", m, start=[0, 0], limit=[1, 7], step=[1, 1]), (5, 7), [0, 1])
        return k.sum(k.mul(k.mul(k.mul(x, 3.0), x), k.cast(row, "f32")))

    assert level(multiplied, first_row, X, M, data=same) not in EQUAL
    assert level(multiplied, selected, X, M, data=same) is Level.REAL
