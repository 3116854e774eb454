"""What large arrays go through: compiled loops against numpy, and how long a mutant is tried."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from equivalence.evaluator.lanes import Lanes
from equivalence.interpretations import summation
from equivalence.interpretations.summation import Summation
from equivalence.tolerance import derive, judge, measure
from equivalence.tolerance.measure import Asked
from equivalence.tolerance.references import Reference
from lowering.ir.types import BF16, F32, F64, DType

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, 1e-30, 2.0, -3.0])


def reference(dt: DType, size: int = 700) -> tuple[Reference, np.ndarray]:
    """Every pair of special values, then values a little apart; masks that leave some out."""
    rng = np.random.default_rng(0)
    y = np.concatenate([np.repeat(SPECIAL, SPECIAL.size), rng.standard_normal(size)]).astype(dt.numpy)
    near = y[SPECIAL.size**2 :].astype(np.float64) * (1 + rng.normal(0, 1e-2, size))
    x = np.concatenate([np.tile(SPECIAL, SPECIAL.size), near]).astype(dt.numpy)
    counts = rng.random(y.size) < 0.9
    known = counts & np.isfinite(y.astype(np.float64))
    errors = {kind: rng.random(y.size) * 0.02 for kind in ("worst", "expected")}
    return Reference("out0", dt, y, errors, errors, known, counts), x


@pytest.mark.parametrize("dt", [F32, BF16])
@pytest.mark.parametrize("shown", ["all", "finite"])
def test_the_loop_says_what_numpy_says(dt: DType, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, x = reference(dt)
    if shown == "finite":
        both = np.isfinite(x.astype(np.float64)) & np.isfinite(one.value.astype(np.float64))
        one = replace(one, counts=one.counts & both, known=one.known & both)
    asked = [Asked(1e-2, 0.0, True), Asked(0.0, 1e-3, False), Asked(3e-3, 1e-2, True)]
    wanted = measure.measure(one, x, asked, 1e-3)
    monkeypatch.setattr(measure, "FROM", 0)
    monkeypatch.setattr(measure, "BLOCK", 100)
    found = measure.measure(one, x, asked, 1e-3)
    assert (found.refused, found.beyond) == (wanted.refused, wanted.beyond) and min(found.refused) > 0
    assert found.needed == wanted.needed and found.distance.identical == wanted.distance.identical
    for name in ("absolute", "ulp", "cosine", "relative_l2"):
        one_way, other = getattr(found.distance, name), getattr(wanted.distance, name)
        assert one_way == pytest.approx(other, rel=1e-12, nan_ok=True), name


def test_the_loop_sees_one_bit_and_no_nan_of_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "FROM", 0)
    y = np.array([1.0, np.nan, 0.0], np.float32)
    every, zero = np.ones(3, bool), {kind: np.zeros(3) for kind in ("worst", "expected")}
    one = Reference("out0", F32, y, zero, zero, every, every)
    other_nan = y.copy()
    other_nan.view(np.uint32)[1] ^= 1
    assert measure.measure(one, other_nan, [], 0.0).distance.identical
    for changed in (np.array([np.nextafter(np.float32(1), np.float32(2)), np.nan, 0.0], np.float32),
                    np.array([1.0, np.nan, -0.0], np.float32)):  # fmt: skip
        assert not measure.measure(one, changed, [], 0.0).distance.identical


def lanes(x: np.ndarray, dt: DType) -> Lanes:
    return Lanes(dt, x.shape, x[None])


@pytest.mark.parametrize("order", [
    Summation("given"), Summation("back", "reversed"), Summation("pairs", pairs=True),
    Summation("any", "random", seed=3), Summation("fused", "random", pairs=True, fused=True, seed=4),
])  # fmt: skip
def test_a_dot_by_the_loop_has_the_bits_of_the_other(order: Summation, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    a, b, c = (rng.standard_normal(s).astype(np.float32) for s in ((13, 37), (37, 301), (13, 301)))
    attrs = {"precision": "ieee", "product": "open"}
    job = order, attrs, F32, lanes(a, F32), lanes(b, F32), lanes(c, F32)
    wanted = summation.dot(*job)
    monkeypatch.setattr(summation, "_COMPILED_FROM", 0)
    assert np.array_equal(summation.dot(*job).view(np.uint32), wanted.view(np.uint32))
    plain = summation.dot(Summation("given"), *job[1:])
    assert order.name == "given" or (plain != wanted).any()


def test_operands_wider_than_the_sum_are_not_rounded_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """f64 operands of an f32 dot: each product is rounded once."""
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((5, 9)), rng.standard_normal((9, 4))
    job = Summation("given"), {"precision": "ieee", "product": "open"}, F32, lanes(a, F64), lanes(b, F64), None
    wanted = summation.dot(*job)
    monkeypatch.setattr(summation, "_COMPILED_FROM", 0)
    assert np.array_equal(summation.dot(*job), wanted)


def test_elements_that_bind_are_found_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    sizes, errors = np.round(rng.random(5000), 2), np.round(rng.random(5000), 2)
    whole = derive._binding(sizes, errors)
    monkeypatch.setattr(derive, "_AT_ONCE", 64)
    parts = derive._binding(sizes, errors)
    assert all(np.array_equal(x, y) for x, y in zip(whole, parts)) and 1 < whole[0].size < 100
    for x, y in zip(*whole):
        assert not ((sizes < x) & (errors >= y)).any() and not ((sizes == x) & (errors > y)).any()


def test_a_large_mutant_that_everything_refuses_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.tolerance.test_assess import checked, stored

    every = checked(stored("rms_norm"), 1e-2, 1e-2)
    runs: list[object] = []
    real = judge.orders.run
    monkeypatch.setattr(judge, "LARGE", 0)
    monkeypatch.setattr(judge.orders, "run", lambda *job: runs.append(job[0]) or real(*job))
    first = checked(stored("rms_norm"), 1e-2, 1e-2)
    assert [(t.name, t.what, t.status, t.passes) for t in every.trials] == [
        (t.name, t.what, t.status, t.passes) for t in first.trials
    ]
    mutants = [t for t in first.trials if t.kind == "mutant" and t.status != "not run"]
    of_mutants = len(runs) - first.runs
    assert len(mutants) < of_mutants < 3 * len(mutants)
