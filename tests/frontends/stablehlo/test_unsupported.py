"""What is not modelled is refused by name, at the user's line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from lowering.errors import Unsupported, UsageError
from lowering.frontends.stablehlo import lower_module
from tests.frontends.stablehlo.support import integers, lower, normal


def _cholesky(x: Any) -> Any:
    return jnp.linalg.cholesky(x)


def _fft(x: Any) -> Any:
    return jnp.fft.fft(x).real


def _bessel(x: Any) -> Any:
    return lax.bessel_i1e(x)


def _apply(x: Any) -> Any:
    return x.at[np.array([1, 1])].apply(jnp.sin)


def _polygamma(x: Any) -> Any:
    return jax.scipy.special.polygamma(1, x)


CASES: list[tuple[Callable[..., Any], np.ndarray, str]] = [
    (_cholesky, normal(4, 4), "lapack_spotrf_ffi"),
    (_fft, normal(5), "complex<f32>"),
    (_bessel, normal(5), "chlo.bessel_i1e"),
    (_apply, normal(5), "stablehlo.scatter"),
    (_polygamma, normal(5), "chlo.polygamma"),
]


@pytest.mark.parametrize(("fn", "x", "construct"), CASES)
def test_a_construct_is_refused_at_its_line(fn: Callable[..., Any], x: np.ndarray, construct: str) -> None:
    with pytest.raises(Unsupported) as caught:
        lower(fn, x)
    assert construct in caught.value.construct
    assert (caught.value.span.file, caught.value.span.line) == (__file__, fn.__code__.co_firstlineno + 1)


def test_integer_powers_of_data_are_lowered_as_jax_expands_them() -> None:
    assert lower(lambda x, y: x**y, integers(5), integers(5)).outputs


def test_text_that_is_no_module_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="not a StableHLO module"):
        lower_module("module {", input_names=[], output_names=[], key="k")


def test_a_module_without_main_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="@main"):
        lower_module("module {}", input_names=[], output_names=[], key="k")


def test_the_number_of_input_names_is_checked() -> None:
    text = "module { func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : tensor<3xf32> } }"
    with pytest.raises(UsageError, match="takes 1 arrays, 2 are named"):
        lower_module(text, input_names=["x", "y"], output_names=["out0"], key="k")
