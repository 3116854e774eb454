"""Probes of jax: its own sums and products, and users' functions of arrays, compiled and run by XLA (worker only).

Takes a Library or a function; gives a Runner on numpy arrays.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from irverify.runners import DTYPES, SHORT, Library, Runner, check_scalar, is_softmax, matrices, place
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
    if library.operation == "softmax":
        row = _row(jax.jit(jax.nn.softmax))
        return Runner(row, 1, dtype, _version(jax), _exp(jax))
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


def _row(compiled: Callable[..., Any]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda values: np.asarray(compiled(values)).astype(np.float64).reshape(-1)


def _exp(jax: Any) -> tuple[str, Callable[[np.ndarray], np.ndarray]]:
    def exp(x: Any) -> Any:
        x = x.astype(jax.numpy.promote_types(x.dtype, "float32"))
        return jax.numpy.exp(x - x.max())

    compiled = jax.jit(exp)
    return "jnp.exp", lambda values: np.asarray(compiled(values)).astype(np.float64)


def function_runner(function: Callable[..., Any], factors: int, n: int, dtype: str, target: str) -> Runner:
    """A function of arrays that gives an array of one element, or a softmax of its argument; compiled as a whole."""
    jax = _jax(dtype, target)
    where = getattr(function, "__name__", "the function")
    if inspect.isclass(function):
        raise UsageError(f"{where} is a class; name a function of one array, or of two for a dot product")
    compiled = jax.jit(function)
    first = compiled(*[np.ones(n, np.dtype(jax.numpy.dtype(DTYPES[dtype]))) for _ in range(factors)])
    if first.dtype.name in SHORT and factors == 1 and np.size(first) == n > 1:
        row = _row(compiled)
        if is_softmax(row, n, dtype):
            return Runner(row, 1, SHORT[first.dtype.name], _version(jax), _exp(jax))
    check_scalar(int(np.size(first)), where)
    if first.dtype.name not in SHORT:
        raise UsageError(f"{where} gives {first.dtype.name} values; only sums in {', '.join(SHORT)} can be probed")
    return Runner(
        lambda *arrays: float(np.asarray(compiled(*arrays)).item()), factors, SHORT[first.dtype.name], _version(jax)
    )
