"""Distances against numpy, with what is not finite among them."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.tolerance.metrics import caught_below, distance, outside
from equivalence.tolerance.nulls import nulls
from lowering.ir.types import BF16, F32, I32

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1e-30, 2.0], np.float32)


@pytest.mark.parametrize(("rtol", "atol"), [(0.0, 0.0), (1e-3, 0.0), (0.0, 1e-3), (0.3, 0.1)])
def test_as_numpy_says(rtol: float, atol: float) -> None:
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.standard_normal(500).astype(np.float32), np.repeat(SPECIAL, SPECIAL.size)])
    x = np.concatenate([y[:500] * (1 + rng.normal(0, 1e-3, 500)).astype(np.float32), np.tile(SPECIAL, SPECIAL.size)])
    wide = x.astype(np.float64), y.astype(np.float64)
    wanted = ~np.isclose(*wide, rtol=rtol, atol=atol, equal_nan=True)
    assert (outside(x, y, rtol, atol) == wanted).all()


def test_caught_below() -> None:
    y, x = np.array([1.0, -4.0, 0.0]), np.array([1.1, -4.0, 0.01])
    needed = caught_below(x, y, 0.02)
    assert needed == pytest.approx(0.08)
    assert not outside(x, y, needed * 1.0001, 0.02).any() and outside(x, y, needed * 0.999, 0.02).any()
    assert caught_below(x, y, 0.2) == 0.0
    assert caught_below(x, y, 0.0) == np.inf  # 0.01 for 0 is wrong at any rtol
    assert caught_below(np.array([np.nan]), np.array([1.0]), 1.0) == np.inf


def test_other_metrics() -> None:
    y = np.array([3.0, 4.0, 0.0], np.float32)
    x = np.array([3.0, np.nextafter(np.float32(4), np.float32(9)), 0.0], np.float32)
    every = np.ones(3, bool)
    found = distance(x, y, F32, every)
    assert (found.ulp, found.identical) == (1, False)
    assert found.relative_l2 == pytest.approx(float(x[1] - 4) / 5) and found.cosine == pytest.approx(1)
    assert distance(-y, y, F32, every).cosine == pytest.approx(-1)
    assert distance(x, y, F32, np.array([True, False, True])).identical
    assert distance(np.array([np.nan, 4, 0], np.float32), y, F32, every).ulp == np.inf
    assert np.isnan(distance(np.zeros_like(y), y, F32, every).cosine)
    assert distance(np.array([7], np.int32), np.array([4], np.int32), I32, np.ones(1, bool)).absolute == 3
    one = np.array([1.0], BF16.numpy)
    assert distance(one + np.array([2.0**-7], BF16.numpy), one, BF16, np.ones(1, bool)).ulp == 1


def test_minus_zero_is_not_the_same_bits() -> None:
    zero = np.zeros(1, np.float32)
    assert not distance(-zero, zero, F32, np.ones(1, bool)).identical


def test_null_outputs() -> None:
    y = np.array([[1.0, 3.0]], np.float32)
    inputs = {"x": np.array([[5, 6]], np.int64), "w": np.zeros(2), "keep": np.ones((1, 2), bool)}
    found = dict(nulls(y, inputs, y + 1))
    assert set(found) == {"zeros", "ones", "its mean throughout", "the output for another input", "a copy of x"}
    assert (found["its mean throughout"] == 2).all() and (found["a copy of x"] == [[5, 6]]).all()
    assert all(x.dtype == y.dtype and x.shape == y.shape for x in found.values())
