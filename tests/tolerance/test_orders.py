"""Legal orders: exact sums do not show them, rounded ones do, and all stay within the bounds."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from equivalence.evaluator.lanes import Lanes
from equivalence.interpretations import summation
from equivalence.interpretations.summation import Summation
from equivalence.tolerance import Request, assess, orders
from lowering.ir.types import DTYPES, F32
from tests.tolerance.programs import COUNTED, NORMED, normal, stored, total

EVERY = list(orders.orders(0))
NAMES = [order.name for order in EVERY]
ADD = {"combine": "add", "order": "unordered", "reverse": False}
DOT = {"acc": "f32", "precision": "ieee", "order": "unordered", "product": "open"}


def sums(x: np.ndarray, dtype: str) -> list[float]:
    return [float(summation.reduce(order, ADD, DTYPES[dtype], x, 1)[0]) for order in EVERY]


def test_ones_in_bf16() -> None:
    """256 + 1 is no bf16 and ties to even: a chain stays there, pairs of powers of two are exact."""
    found = dict(zip(NAMES, sums(np.ones((1, 4096), ml_dtypes.bfloat16), "bf16"), strict=True))
    assert found["one after the other"] == 256 and found["in pairs"] == 4096


@pytest.mark.parametrize("order", EVERY, ids=NAMES)
def test_exact_sums_are_the_same_in_every_order(order: Summation) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-99, 99, (2, 5, 77)).astype(np.float32)
    a, b = rng.integers(-9, 9, (1, 4, 77)).astype(np.float32), rng.integers(-9, 9, (1, 77, 3)).astype(np.float32)
    assert (summation.reduce(order, ADD, F32, x, 2) == x.sum(2)).all()
    assert (summation.scan(order, ADD, F32, x, 2) == x.cumsum(2)).all()
    start = Lanes(F32, (4, 3), np.full((1, 4, 3), 5, np.float32))
    found = summation.dot(order, DOT, F32, Lanes(F32, (4, 77), a), Lanes(F32, (77, 3), b), start)
    assert (found == a @ b + 5).all()


def test_rounded_sums_differ_and_stay_within_the_bound() -> None:
    x = np.random.default_rng(1).standard_normal((1, 1000)).astype(np.float32)
    found, exact = sums(x, "f32"), math.fsum(x[0].astype(np.float64))
    assert len(set(found)) >= 4
    assert max(abs(s - exact) for s in found) <= 999 * 2.0**-24 / (1 - 999 * 2.0**-24) * np.abs(x).sum()


def test_dots_differ_by_order_and_by_fusing() -> None:
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((1, 4, 200), (1, 200, 4)))
    found = [summation.dot(order, DOT, F32, Lanes(F32, (4, 200), a), Lanes(F32, (200, 4), b), None) for order in EVERY]
    assert len({x.tobytes() for x in found}) >= 5
    fused = summation.dot(Summation("f", fused=True), DOT, F32, Lanes(F32, (4, 200), a), Lanes(F32, (200, 4), b), None)
    assert (fused != found[0]).any()
    exact = a.astype(np.float64) @ b.astype(np.float64)
    size = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    assert all((np.abs(x - exact) <= 201 * 2.0**-24 * 1.001 * size).all() for x in found)


@pytest.mark.parametrize("fixed", ["sequential", "pairwise"])
def test_a_fixed_order_stays(fixed: str) -> None:
    x = np.random.default_rng(3).standard_normal((1, 500)).astype(np.float32)
    attrs = {**ADD, "order": fixed}
    same = [summation.reduce(order, attrs, F32, x, 1).tobytes() for order in [None, *EVERY]]
    assert len(set(same)) == 1


def test_colliding_additions_are_reordered() -> None:
    rng = np.random.default_rng(4)
    places = rng.integers(0, 4, 64).astype(np.int32)
    for x, distinct in (
        (rng.integers(-9, 9, 64).astype(np.float32), 1),
        (rng.standard_normal(64).astype(np.float32), 3),
    ):
        inputs = {"x": x, "place": places}
        found = [orders.values(orders.run(COUNTED, inputs, order, math.inf))[0] for order in EVERY]
        assert len({y.tobytes() for y in found}) >= distinct
        exact = np.bincount(places, weights=x.astype(np.float64), minlength=4)
        assert all(np.allclose(y, exact, rtol=1e-5, atol=1e-6) for y in found)
        assert distinct > 1 or len({y.tobytes() for y in found}) == 1


def test_which_programs_leave_an_order_open() -> None:
    assert all(orders.leaves_open(p) for p in (NORMED, COUNTED, stored("attention"), total(8)))
    assert not any(orders.leaves_open(p) for p in (total(8, order="sequential"), stored("clamp")))


def test_the_derived_tolerance_passes_every_order() -> None:
    for name in ("rms_norm", "softmax", "attention", "matmul_bf16_hop"):
        program = stored(name)
        report = assess(Request(program, normal(program), mutants=0, seed=11))
        assert report.runs == 24 and not report.broken, name
        hidden = name == "matmul_bf16_hop"  # by the rounding of each dot's result
        assert (report.outputs[0].observed.absolute > 0) is not hidden, name


def test_roundings_that_all_go_one_way_raise_what_is_expected() -> None:
    """A chain of equal terms is off by more than independent roundings are; 0.1 n is known."""
    n = 40_000
    x = np.full((3, n), 0.1, np.float32)
    report = assess(Request(total(n), {"x": x}, mutants=0, draws=1))
    found = report.outputs[0].expected
    exact = n * float(np.float32(0.1))
    chain = float(np.add.accumulate(x[0])[-1])
    assert abs(chain - exact) > 8 * np.sqrt(n) * 2.0**-24 * exact  # beyond twice what is expected
    assert found is not None and abs(chain - exact) <= found.atol + found.rtol * exact
    assert not report.broken and any("go one way" in note for note in report.notes)
