"""Capture of jax functions: names, dtypes, notes, keys and backward."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from lowering.capture.jax_host import capture_jax
from lowering.capture.jax_trace import ArraySpec
from lowering.errors import UsageError

X = np.arange(15, dtype=np.float32).reshape(3, 5)


def test_inputs_are_named_by_the_parameters_and_outputs_by_position() -> None:
    trace = capture_jax(lambda left, right: {"b": left + right, "a": left}, [X, X])
    assert trace.inputs == [ArraySpec("left", "float32", (3, 5)), ArraySpec("right", "float32", (3, 5))]
    assert trace.outputs == [ArraySpec("out.a", "float32", (3, 5)), ArraySpec("out.b", "float32", (3, 5))]


def test_pytrees_are_named_by_path_and_scalars_are_not_inputs() -> None:
    def host(weights: Any, scale: float) -> Any:
        return weights["layers"][0] * scale + weights["bias"]

    trace = capture_jax(host, [{"layers": [X], "bias": X}, 2.0])
    assert [spec.name for spec in trace.inputs] == ["weights.bias", "weights.layers.0"]
    assert "2.000000e+00" in trace.stablehlo


def test_star_arguments_and_keywords() -> None:
    def host(*arrays: Any, factor: Any) -> Any:
        return sum(arrays) * factor

    trace = capture_jax(host, [X, X], kwargs={"factor": X})
    assert [spec.name for spec in trace.inputs] == ["arrays0", "arrays1", "factor"]


def test_an_unused_input_stays() -> None:
    assert len(capture_jax(lambda x, y: x, [X, X]).inputs) == 2


def test_dtypes_are_what_the_caller_passes() -> None:
    trace = capture_jax(lambda x, i: x[i], [X.astype(ml_dtypes.bfloat16), np.array([1, 2], np.int64)])
    assert [spec.dtype for spec in trace.inputs] == ["bfloat16", "int64"]
    assert "tensor<2xi32>" in trace.stablehlo


def test_locations_are_kept() -> None:
    assert __file__ in capture_jax(lambda x: x + 1, [X]).stablehlo


def test_options_are_recorded_and_enter_the_key() -> None:
    trace = capture_jax(lambda x: x @ x.T, [X])
    assert trace.options == {"jax": jax.__version__, "default_matmul_precision": "None", "x64": False}
    with jax.default_matmul_precision("float32"):
        assert capture_jax(lambda x: x @ x.T, [X]).key != trace.key


def test_backward_takes_cotangents_and_gives_results_and_gradients_of_float_inputs() -> None:
    trace = capture_jax(lambda x, i: (x[i] * 2, jnp.argmax(x)), [X, np.array([1, 0])], backward=True)
    assert [spec.name for spec in trace.inputs] == ["x", "i", "cotangent:out0"]
    results = [ArraySpec("out0", "float32", (2, 5)), ArraySpec("out1", "int32", ())]
    assert trace.outputs == [*results, ArraySpec("grad:x", "float32", (3, 5))]


def test_backward_without_a_float_input_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="float input"):
        capture_jax(lambda i: i + 1, [np.arange(3)], backward=True)


def test_capture_leaves_pallas_as_it_was() -> None:
    from jax._src.pallas import primitives

    before = primitives.uninitialized_value
    capture_jax(lambda x: x, [X])
    assert primitives.uninitialized_value is before
