"""The bound of a product along an axis: every order stays inside it, beyond the range of normal numbers too."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np

from equivalence.evaluator import Machine
from equivalence.interpretations.error import Error
from lowering.ir.types import F32, TensorType
from tests.interpretations.real_runs import program


def bounds(x: np.ndarray) -> np.ndarray:
    p = program([TensorType(F32, x.shape)], lambda kit, a: kit.b("reduce", a, axis=1, combine="mul"))
    out = Machine(p, [Error()]).run({p.input_names[0]: x}).outputs["out"]
    assert out.planes is not None
    return np.broadcast_to(out.planes["bound"], (1, len(x)))[0]


def left_to_right(row: np.ndarray) -> np.float32:
    total = np.float32(1)
    for value in row:
        total = np.float32(total * value)
    return total


def test_partial_products_may_vanish_in_some_orders() -> None:
    """1e-30 * 1e-30 is 0, though the factors behind bring the product back: ascending orders lose it, others do not."""
    rng = np.random.default_rng(11)
    small, large = rng.uniform(1, 3, (20, 3)) * 1e-15, rng.uniform(1, 3, (20, 3)) * 1e9
    x = np.concatenate([small, large], axis=1).astype(np.float32)
    bound = bounds(x)
    exact = [prod((Fraction(float(v)) for v in row), start=Fraction(1)) for row in x]
    for order in (np.sort(x, axis=1), np.sort(x, axis=1)[:, ::-1], x[:, ::-1], x[:, [0, 3, 1, 4, 2, 5]]):
        errors = [float(abs(Fraction(float(left_to_right(row))) - e)) for row, e in zip(order, exact, strict=True)]
        assert (np.array(errors) <= bound).all()
    assert np.isfinite(bound).all()


def test_products_that_end_at_zero_have_a_bound() -> None:
    x = np.full((2, 40), 1e-2, np.float32)
    x[1, 7] = 0
    bound = bounds(x)
    assert 1e-80 < bound[0] < 1e-42 and bound[1] == 0


def test_products_that_may_overflow_have_none() -> None:
    assert np.isinf(bounds(np.array([[1e30, 1e30, 1e-30]], np.float32))).all()
