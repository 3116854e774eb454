"""The bound of a remainder: every real remainder in reach is inside, exact operands have none, and it is no wider."""

from __future__ import annotations

from fractions import Fraction
from math import floor, trunc

import numpy as np
import pytest

from equivalence.evaluator import Machine
from equivalence.interpretations.error import Error
from equivalence.interpretations.error_math import remainder
from lowering.ir.types import F32, TensorType
from tests.interpretations.real_runs import program

WHOLE = {"trunc": trunc, "floor": floor}


def real(a: float, b: float, rounding: str) -> Fraction:
    x, y = Fraction(a), Fraction(b)
    return x - y * WHOLE[rounding](x / y)


@pytest.mark.parametrize("rounding", WHOLE)
def test_every_remainder_in_reach_is_inside(rounding: str) -> None:
    """Dividends at and near multiples of their divisors, and near zero."""
    rng = np.random.default_rng(3)
    b = rng.choice([-1, 1], 400) * rng.uniform(0.3, 3, 400)
    a = b * rng.integers(-4, 5, 400) + rng.choice([0, 1e-5, 1e-3, 0.2], 400) * rng.uniform(-1, 1, 400)
    e = [rng.choice([0, 1e-6, 1e-4, 1e-2], 400) for _ in range(2)]
    found = remainder(a, b, e, floor=rounding == "floor")
    for s in (-1, -0.3, 0, 0.6, 1):
        for t in (-1, -0.7, 0, 0.2, 1):
            moved = [real(x, y, rounding) for x, y in zip(a + s * e[0], b + t * e[1], strict=True)]
            here = [real(x, y, rounding) for x, y in zip(a, b, strict=True)]
            apart = [float(abs(x - y)) for x, y in zip(moved, here, strict=True)]
            assert (np.array(apart) <= found * (1 + 1e-9) + 1e-15).all()


def test_certain_whole_parts_charge_no_step() -> None:
    """7.5 = 3 * 2.25 + 0.75; at 6.75 the remainder is 0 or nearly 2.25."""
    a, b, e = np.array([7.5, 6.75]), np.array([2.25, 2.25]), [np.full(2, 1e-6), np.full(2, 1e-7)]
    for by_floor in (False, True):
        found = remainder(a, b, e, floor=by_floor)
        assert found[0] == pytest.approx(1.3e-6) and found[1] == pytest.approx(2.25)


def test_a_divisor_that_may_be_zero_is_unknown() -> None:
    assert np.isinf(remainder(np.array([1.0]), np.array([0.1]), [np.array([0.0]), np.array([0.1])], floor=True)).all()


@pytest.mark.parametrize("rounding", WHOLE)
def test_exact_operands(rounding: str) -> None:
    """fmod is exact; the floor's remainder of operands of opposite signs is rounded once."""
    types = [TensorType(F32, (60, 7))] * 2
    p = program(types, lambda kit, x, y: kit.b("rem", x, y, rounding=rounding))
    rng = np.random.default_rng(5)
    x, y = (rng.standard_normal((60, 7)).astype(np.float32) * scale for scale in (9, 1))
    out = Machine(p, [Error()]).run(dict(zip(p.input_names, (x, y), strict=True))).outputs["out"]
    bound = np.broadcast_to(out.planes["bound"], out.data.shape)[0]
    wanted = np.vectorize(lambda a, b: real(a, b, rounding))(x.astype(np.float64), y.astype(np.float64))
    off = np.abs(np.vectorize(Fraction)(out.data[0].astype(np.float64)) - wanted).astype(np.float64)
    assert (off <= bound).all()
    same = (x > 0) == (y > 0)
    assert not bound[same].any() and bound[~same].any() == (rounding == "floor")
    assert bound.max() <= 2.0**-23 * np.abs(y).max()
