"""What the front end declares about accuracy, order and precision, and the notes it leaves."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from lowering.frontends.stablehlo import lower_module
from lowering.ir.program import Op, Program
from tests.frontends.stablehlo.support import evaluate, integers, lower, normal

A, B = normal(3, 5), normal(5, 7)


def _one(program: Program, name: str) -> Op:
    (op,) = [op for op in program.walk() if op.name == name]
    return op


@pytest.mark.parametrize("fn", [jnp.sqrt, lax.rsqrt, jnp.exp, jnp.log, jnp.sin, jnp.tanh, lax.erf, lax.erf_inv])
def test_intrinsics_are_the_backend_s(fn: Any) -> None:
    op = _one(lower(fn, abs(A)), "math")
    assert (op.attrs["accuracy"], op.attrs["impl"]) == ("declared", "xla")


def test_float_division_is_the_backend_s_and_integer_division_is_exact() -> None:
    assert _one(lower(lambda x, y: x / y, A, A + 9), "div").attrs["accuracy"] == "declared"
    assert _one(lower(lax.div, integers(5), integers(5) + 1), "div").attrs["accuracy"] == "exact"


def test_extrema_propagate_nan() -> None:
    assert _one(lower(jnp.maximum, A, A), "max").attrs["nan"] == "propagate"
    assert _one(lower(lambda x: jnp.argmax(x, 0), A), "reduce").attrs["nan"] == "propagate"


def test_reductions_and_dots_leave_their_order_open() -> None:
    assert _one(lower(lambda x: x.sum(), A), "reduce").attrs["order"] == "unordered"
    dot = _one(lower(jnp.dot, A, B), "dot")
    assert (dot.attrs["order"], dot.attrs["product"], dot.attrs["precision"]) == ("unordered", "open", "ieee")


def test_default_precision_is_noted_and_highest_is_not() -> None:
    noted = "StableHLO DEFAULT precision"
    assert any(note.startswith(noted) for note in lower(jnp.dot, A, B).notes)
    highest = lower(lambda x, y: jnp.dot(x, y, precision="highest"), A, B)
    assert not any(note.startswith(noted) for note in highest.notes)


def test_the_context_s_precision_is_seen() -> None:
    def product(x: Any, y: Any) -> Any:
        with jax.default_matmul_precision("tensorfloat32"):
            return jnp.dot(x, y)

    high = lower(product, A, B)
    assert any(note.startswith("StableHLO HIGH precision") for note in high.notes)
    assert high.attrs["key"] != lower(jnp.dot, A, B).attrs["key"]
    with jax.default_matmul_precision("BF16_BF16_F32_X3"):
        assert _one(lower(jnp.dot, A, B), "dot").attrs["precision"] == "bf16x3"


@pytest.mark.parametrize(("preset", "precision"), [("TF32_TF32_F32", "tf32"), ("BF16_BF16_F32_X3", "bf16x3")])
def test_a_dot_algorithm_names_its_precision(preset: str, precision: str) -> None:
    algorithm = lax.DotAlgorithmPreset[preset]
    assert _one(lower(lambda x, y: lax.dot(x, y, precision=algorithm), A, B), "dot").attrs["precision"] == precision


def test_a_preferred_type_is_the_accumulator() -> None:
    x, y = A.astype(ml_dtypes.bfloat16), B.astype(ml_dtypes.bfloat16)
    program = lower(lambda a, b: lax.dot(a, b, preferred_element_type=jnp.float32), x, y)
    assert _one(program, "dot").attrs["acc"] == "f32"
    assert not [op for op in program.walk() if op.name == "cast"]


def test_float_to_integer_saturates_and_nan_is_zero() -> None:
    x = np.array([1e9, -1e9, np.nan, 2.7, -2.7], np.float32)
    (got,) = evaluate(lower(lambda v: v.astype(jnp.int8), x), x)
    assert got.tolist() == [127, -128, 0, 2, -2]


def test_a_narrowing_is_noted() -> None:
    program = lower(lambda x: x.astype(jnp.bfloat16).astype(jnp.float32), A)
    assert any("may drop" in note for note in program.notes)
    assert [op.attrs["to"] for op in program.walk() if op.name == "cast"] == ["bf16", "f32"]


def test_identities_leave_nothing_behind() -> None:
    assert [op.name for op in lower(lax.optimization_barrier, A).walk()] == []


def test_attributes_of_the_program() -> None:
    attrs = lower(jnp.exp, A).attrs
    assert (attrs["level"], attrs["contract"]) == ("stablehlo", True)
    assert attrs["key"] != lower(jnp.log, A).attrs["key"]
    assert attrs["key"] == lower(jnp.exp, A).attrs["key"]


def test_truth_values_add_by_or() -> None:
    module = """module { func.func @main(%x: tensor<3xi1>) -> tensor<3xi1> {
      %0 = stablehlo.add %x, %x : tensor<3xi1>
      return %0 : tensor<3xi1> } }"""
    program = lower_module(module, input_names=["x"], output_names=["out0"], key="k")
    (got,) = evaluate(program, np.array([True, True, False]))
    assert got.tolist() == [True, True, False]


def test_a_jitted_library_function_takes_the_span_of_its_caller() -> None:
    def first(x: Any) -> Any:
        return jnp.where(x > 0, x, 1.0)

    def second(x: Any) -> Any:
        return jnp.where(x > 0, x, 1.0)

    lines = [_one(lower(jax.jit(fn), A), "select").span.line for fn in (first, second)]
    assert lines == [fn.__code__.co_firstlineno + 1 for fn in (first, second)]


@pytest.mark.parametrize("promise", ["unique_indices", "indices_are_sorted"])
def test_what_xla_is_promised_about_indices_is_noted(promise: str) -> None:
    index = np.array([2, 0, 2])
    program = lower(lambda x, i, v: x.at[i].add(v, **{promise: True}), A, index, A)
    [note] = [note for note in program.notes if promise in note]
    assert "not checked" in note and "test_promises.py" in note
    assert not [note for note in lower(lambda x, i, v: x.at[i].add(v), A, index, A).notes if "promised" in note]


def test_promises_about_literal_indices_are_looked_at() -> None:
    def notes(rows: list[int]) -> list[str]:
        def write(x: Any, v: Any) -> Any:
            numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
            index = np.array(rows, np.int32)[:, None]
            return lax.scatter(x, index, v, numbers, indices_are_sorted=True, unique_indices=True)

        return [note for note in lower(write, A, A).notes if "promised" in note]

    assert notes([0, 1, 2]) == []
    broken = notes([2, 0, 2])
    assert len(broken) == 2 and all("does not hold" in note for note in broken)
