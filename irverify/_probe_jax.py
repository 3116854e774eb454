"""Probes of jax: its own sums and products, and users' functions of arrays, compiled and run by XLA (worker only).

Takes a Library or a function; gives a Runner on numpy arrays.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from irverify.runners import DTYPES, SHORT, Library, Runner, check_scalar, matrices, place
from lowering.errors import UsageError


def _jax(dtype: str, target: str) -> Any:
    """The framework, on the target's platform: it reads its environment when it is first imported."""
    os.environ["JAX_PLATFORMS"] = target
    import jax

    jax.config.update("jax_enable_x64", dtype == "f64")
    try:
        jax.devices()
    except (RuntimeError, AssertionError) as error:  # the latter from plugins that are not there
        raise UsageError(
            f"the target is {target}, but jax has no such device here ({str(error) or 'its plugin is not installed'})"
        ) from None
    return jax


def _version(jax: Any) -> str:
    return f"jax {jax.__version__}, {jax.devices()[0].device_kind}"


def library_runner(library: Library, n: int, dtype: str, target: str) -> Runner:
    """jax.numpy.sum, jax.numpy.dot or jax.numpy.matmul, each compiled alone."""
    jax = _jax(dtype, target)
    compiled = jax.jit(getattr(jax.numpy, library.operation))
    if library.operation == "sum":
        return Runner(lambda values: float(compiled(values)), 1, dtype, _version(jax))
    if library.operation == "dot":
        return Runner(lambda a, b: float(compiled(a, b)), 2, dtype, _version(jax))
    element, pair = library.element, matrices(library.element, n, dtype)

    def run(a: np.ndarray, b: np.ndarray) -> float:
        place(pair, element, a, b)
        return float(np.asarray(compiled(*pair))[element.row, element.column])

    return Runner(run, 2, dtype, _version(jax))


def function_runner(function: Callable[..., Any], factors: int, n: int, dtype: str, target: str) -> Runner:
    """A function of arrays that gives an array of one element; it is compiled as a whole."""
    jax = _jax(dtype, target)
    where = getattr(function, "__name__", "the function")
    if inspect.isclass(function):
        raise UsageError(f"{where} is a class; name a function of one array, or of two for a dot product")
    compiled = jax.jit(function)
    first = compiled(*[np.ones(n, np.dtype(jax.numpy.dtype(DTYPES[dtype]))) for _ in range(factors)])
    check_scalar(int(np.size(first)), where)
    if first.dtype.name not in SHORT:
        raise UsageError(f"{where} gives {first.dtype.name} values; only sums in {', '.join(SHORT)} can be probed")
    return Runner(
        lambda *arrays: float(np.asarray(compiled(*arrays)).item()), factors, SHORT[first.dtype.name], _version(jax)
    )
