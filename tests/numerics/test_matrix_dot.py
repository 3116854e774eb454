"""Whole dots as a target evaluates them: operands rounded or split as the precision says."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from equivalence.numerics.matrix_dot import evaluate, part_format, parts, rows
from equivalence.numerics.matrix_units import UNITS, dot
from equivalence.numerics.rounding import cast_float

RNG = np.random.default_rng(2)
A, B = (RNG.standard_normal(shape).astype(np.float32) for shape in ((8, 96), (96, 8)))
C = RNG.standard_normal((8, 8)).astype(np.float32)
F32 = ("f32", "f32")


def found(name: str, precision: str, acc: np.ndarray | None = None) -> np.ndarray:
    result = evaluate(UNITS[name], A, B, acc, F32, "f32", precision)
    assert result is not None
    return result


@pytest.mark.parametrize(("count", "below"), [(1, 2.0**-8), (2, 2.0**-16), (3, 2.0**-24)])
def test_parts_add_up(count: int, below: float) -> None:
    total = sum(part.astype(np.float64) for part in parts(A, "bf16", count))
    assert (np.abs(total - A) <= below * np.abs(A)).all()


def test_tf32_is_one_pass_of_rounded_operands() -> None:
    low, high = (cast_float(x, "f32", "tf32") for x in (A, B))
    assert (found("Ampere", "tf32", C) == dot(low, high, C, UNITS["Ampere"], "tf32", "f32")).all()


@pytest.mark.parametrize("name", ["Ampere", "Hopper", "TPU"])
def test_more_passes_are_closer(name: str) -> None:
    exact = A.astype(np.float64) @ B.astype(np.float64)
    errors = [np.abs(found(name, precision) - exact).max() for precision in ("bf16", "bf16x3", "bf16x6")]
    assert errors[0] > 50 * errors[1] > 100 * errors[2]


def test_passes_start_with_the_smallest_parts_and_the_accumulator_comes_last() -> None:
    (a0, a1), (b0, b1) = parts(A, "bf16", 2), parts(B, "bf16", 2)
    total = None
    for x, y in ((a1, b0), (a0, b1), (a0, b0)):
        total = dot(x, y, total, UNITS["Hopper"], "bf16", "f32")
    assert total is not None
    assert (found("Hopper", "bf16x3", C) == total + C).all()


def test_an_infinity_survives_its_small_parts() -> None:
    a = A.copy()
    a[0, 0] = np.inf
    result = evaluate(UNITS["Hopper"], a, np.abs(B), None, F32, "f32", "bf16x3")
    assert result is not None and np.isinf(result[0]).all()


def test_full_precision_is_a_chain_on_nvidia_and_six_passes_on_a_tpu() -> None:
    assert (found("Ampere", "ieee", C) == found("Hopper", "ieee", C)).all()
    assert (found("TPU", "ieee", C) == found("TPU", "bf16x6", C)).all()
    assert part_format(UNITS["TPU"], "f32", "ieee") == "bf16"
    assert part_format(UNITS["Ampere"], "f32", "ieee") == "f32"


def test_hopper_adds_short_accumulators_of_fp8_products_to_a_full_one() -> None:
    a, b = A.astype(ml_dtypes.float8_e4m3fn), B.astype(ml_dtypes.float8_e4m3fn)
    dtypes = ("f8e4m3fn", "f8e4m3fn")

    def on(impl: str) -> np.ndarray:
        result = evaluate(UNITS["Hopper"], a, b, C, dtypes, "f32", "ieee", impl)
        assert result is not None
        return result

    exact = a.astype(np.float64) @ b.astype(np.float64) + C
    steps = [dot(a[:, i : i + 32], b[i : i + 32], None, UNITS["Hopper"], dtypes, "f32") for i in range(0, 96, 32)]
    assert (on("cuda") == ((C + steps[0]) + steps[1]) + steps[2]).all()
    assert (on("cuda:imprecise=32") == on("cuda")).all()
    assert (on("cuda:imprecise=1073741824") == dot(a, b, C, UNITS["Hopper"], dtypes, "f32")).all()
    assert np.abs(on("cuda") - exact).max() < np.abs(on("cuda:imprecise=1073741824") - exact).max()


@pytest.mark.parametrize(
    ("name", "dtypes", "acc"),
    [("Volta", ("bf16", "bf16"), "f32"), ("TPU", ("f16", "f16"), "f32"), ("Hopper", ("f16", "bf16"), "f16"),
     ("Ampere", ("f8e5m2", "f8e5m2"), "f32"), ("Hopper", ("f8e4m3", "f8e4m3"), "f32")],
)  # fmt: skip
def test_what_is_not_modelled(name: str, dtypes: tuple[str, str], acc: str) -> None:
    assert rows(UNITS[name], dtypes, acc, "ieee") is None
    assert evaluate(UNITS[name], A, B, None, dtypes, acc, "ieee") is None


def test_two_formats_of_one_row_mix() -> None:
    a, b = A.astype(ml_dtypes.float8_e4m3fn), B.astype(ml_dtypes.float8_e5m2)
    result = evaluate(UNITS["Blackwell"], a, b, None, ("f8e4m3fn", "f8e5m2"), "f32", "ieee")
    assert result is not None
    assert np.allclose(result, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-5, atol=1e-5)
