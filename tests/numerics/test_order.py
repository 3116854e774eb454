"""min, max and clamp at NaN and signed zeros, every pair of special values; sign operations on bits."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from equivalence.numerics import order
from equivalence.numerics.formats import codes, format_of, isnan, same_bits, ulp_distance

from .reference import differing, hard_values

SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan]
DTYPES = ["f64", "f32", "f16", "bf16", "f8e5m2"]


def model(a: float, b: float, largest: bool, nan: str, signed_zero: bool) -> float:
    """The rule in words, one pair at a time."""
    if math.isnan(a) or math.isnan(b):
        return math.nan if nan == "propagate" else (b if math.isnan(a) else a)
    if a == b and signed_zero:
        return min(a, b, key=lambda v: math.copysign(1, v) * (-1 if largest else 1))
    if a == b:
        return a
    return max(a, b) if largest else min(a, b)


@pytest.mark.parametrize("signed_zero", [True, False])
@pytest.mark.parametrize("nan", ["number", "propagate"])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_pair_of_specials(dtype: str, largest: bool, nan: str, signed_zero: bool) -> None:
    pairs = list(itertools.product(SPECIAL, SPECIAL))
    a, b = (np.array(side).astype(format_of(dtype).storage) for side in zip(*pairs, strict=True))
    got = (order.maximum if largest else order.minimum)(a, b, dtype, nan, signed_zero)
    want = np.array([model(x, y, largest, nan, signed_zero) for x, y in pairs])
    assert got.dtype == format_of(dtype).storage
    assert differing(got, want, dtype).size == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_values(dtype: str) -> None:
    a, b = hard_values(dtype, 3000, 1), hard_values(dtype, 3000, 2)
    with np.errstate(invalid="ignore"):
        pairs = list(zip(a.astype(np.float64).tolist(), b.astype(np.float64).tolist(), strict=True))
    want = np.array([model(x, y, True, "propagate", True) for x, y in pairs])
    assert differing(order.maximum(a, b, dtype), want, dtype).size == 0


def test_broadcast_and_fnuz() -> None:
    a = np.array([[1.0], [3.0]]).astype(format_of("f8e4m3fnuz").storage)
    b = np.array([2.0, np.nan]).astype(format_of("f8e4m3fnuz").storage)
    got = order.maximum(a, b, "f8e4m3fnuz", "number").astype(float)
    assert got.tolist() == [[2.0, 1.0], [3.0, 3.0]]


@pytest.mark.parametrize("nan", ["number", "propagate"])
def test_clamp(nan: str) -> None:
    x = np.array([-5.0, 0.5, 5.0, np.nan, 0.5, 0.5], np.float32)
    low = np.array([0.0, 0.0, 0.0, 0.0, np.nan, 3.0], np.float32)
    high = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0], np.float32)
    want = [0.0, 0.5, 1.0, *([0.0, 0.5] if nan == "number" else [np.nan, np.nan]), 1.0]
    assert differing(order.clamp(x, low, high, "f32", nan), np.array(want), "f32").size == 0


@pytest.mark.parametrize("dtype", [*DTYPES, "f8e4m3fn"])
def test_signs_on_bits(dtype: str) -> None:
    fmt = format_of(dtype)
    x = hard_values(dtype, 2000, 3)
    x = x[~isnan(x)]
    top, code = 1 << (fmt.bits - 1), codes(x, dtype).astype(np.uint64)
    assert (codes(order.neg(x, dtype), dtype) == code ^ np.uint64(top)).all()
    assert (codes(order.absolute(x, dtype), dtype) == (code & np.uint64(top - 1))).all()
    other = np.roll(x, 1)
    want = (code & np.uint64(top - 1)) | (codes(other, dtype).astype(np.uint64) & np.uint64(top))
    assert (codes(order.copysign(x, other, dtype), dtype) == want).all()


@pytest.mark.parametrize("dtype", [*DTYPES, "f8e4m3fn", "tf32"])
def test_nextafter_moves_one_code(dtype: str) -> None:
    x, target = hard_values(dtype, 2000, 4), hard_values(dtype, 2000, 5)
    got = order.nextafter(x, target, dtype)
    with np.errstate(invalid="ignore"):
        equal, number = np.asarray(x == target), ~isnan(x) & ~isnan(target)
    assert (ulp_distance(x, got, dtype)[number & ~equal] == 1).all()
    assert same_bits(got, target, dtype)[number & equal].all()
    assert isnan(got)[~number].all()
    if dtype in ("f32", "f64"):
        with np.errstate(all="ignore"):
            assert same_bits(got, np.nextafter(x, target), dtype).all()
