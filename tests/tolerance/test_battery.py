"""Planted mistakes against what each of them computes, in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import erf

from equivalence.mutants.draw import Mutant, mutate, text
from equivalence.mutants.planted import PLANTED
from equivalence.tolerance.battery import battery
from equivalence.tolerance.orders import run, values
from lowering.ir.program import Program
from tests.tolerance.programs import GELU, NORMED, normal, stored, total


def planted(program: Program, operator: str, number: int = 0) -> Mutant:
    found = mutate(program, operator, number, PLANTED)
    assert found is not None
    return found


def result(program: Program, inputs: dict[str, np.ndarray]) -> np.ndarray:
    return values(run(program, inputs, None, math.inf))[0].astype(np.float64)


def test_terms_left_out() -> None:
    program = total(9)
    inputs = normal(program)
    x = inputs["x"].astype(np.float64)
    for number, kept in ((0, x[:, 1:]), (1, x[:, :-1])):
        mutant = planted(program, "term dropped from a sum", number)
        assert np.allclose(result(mutant.program, inputs), kept.sum(1), rtol=1e-5, atol=1e-6)


def test_epsilons() -> None:
    inputs = {"x": normal(NORMED)["x"] * np.float32(1e-2)}
    x = inputs["x"].astype(np.float64)
    square = (x * x).sum(1, keepdims=True)
    assert np.allclose(result(NORMED, inputs), x / np.sqrt(square + 1e-3), rtol=1e-5)
    dropped, moved = planted(NORMED, "epsilon dropped"), planted(NORMED, "epsilon moved")
    assert np.allclose(result(dropped.program, inputs), x / np.sqrt(square), rtol=1e-5)
    assert np.allclose(result(moved.program, inputs), x / (np.sqrt(square) + 1e-3), rtol=1e-5)


def test_gelu() -> None:
    x = np.linspace(-4, 4, 64).astype(np.float32)
    wide = x.astype(np.float64)
    exact = 0.5 * wide * (1 + erf(wide / np.sqrt(2)))
    tanh = 0.5 * wide * (1 + np.tanh(np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3)))
    assert np.allclose(result(GELU, {"x": x}), exact, atol=1e-6)
    mutant = planted(GELU, "tanh approximation of erf")
    assert np.allclose(result(mutant.program, {"x": x}), tanh, atol=1e-6)
    assert np.abs(tanh - exact).max() > 1e-4


def test_bf16_results_and_accumulators() -> None:
    program = stored("softmax")
    inputs = normal(program)
    found = result(planted(program, "result rounded to bf16").program, inputs)
    assert (found == found.astype("bfloat16").astype(np.float64)).all()
    assert (result(program, inputs) != found).any()
    loop = stored("sum_f16")
    assert planted(loop, "accumulator of a loop in bf16").program is not loop


def test_a_battery_is_various_and_leaves_the_original_alone() -> None:
    for name, kinds in (
        (
            "rms_norm",
            {"bf16 accumulator", "result in bf16", "term of a sum missing", "epsilon dropped", "epsilon moved"},
        ),
        ("attention", {"TF32 operands", "term of a sum missing", "constant changed"}),
        ("softmax", {"mask dropped", "tail block missing", "bf16 accumulator"}),
    ):
        program = stored(name)
        before = text(program)
        found = list(battery(program, 24, 0))
        assert kinds <= {m.operator for m in found} and len(found) == 24
        assert len({text(m.program) for m in found} | {before}) == 25
        assert text(program) == before


@pytest.mark.parametrize("operator", PLANTED)
def test_no_place_no_mutant(operator: str) -> None:
    assert operator == "result rounded to bf16" or not list(PLANTED[operator](stored("clamp")))
