"""The jax adapter: jnp and Pallas functions, through lowering.capture.jax_host (worker only).

Takes callables and arguments as data; gives Captured.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from irverify._capture import Captured, CaptureOptions
from irverify.loading import Bound
from irverify.values import ArrayValue, Named, dtype_named, map_arrays
from irverify.weights import Weights
from lowering.capture.jax_trace import JaxTrace
from lowering.errors import UsageError


class JaxAdapter:
    """jax functions need no session of their own: they are traced, not run."""

    has_strides = False
    asks_for_multiprocessors = False

    def show_multiprocessors(self, number: int | None) -> None:
        """A jax function does not see its device."""

    def __init__(self, options: CaptureOptions) -> None:
        self.options = options

    @contextmanager
    def session(self) -> Iterator[None]:
        yield

    def data_of(self, value: Any, path: str) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(self.data_of(item, f"{path}[{i}]") for i, item in enumerate(value))
        if isinstance(value, dict):
            return {key: self.data_of(item, f"{path}[{key!r}]") for key, item in value.items()}
        if isinstance(value, type | np.dtype) and hasattr(value, "dtype"):
            return Named("dtype", np.dtype(value).name)
        if hasattr(value, "__array__") and hasattr(value, "shape"):
            return ArrayValue(np.asarray(value))
        return value

    def _real(self, value: Any) -> Any:
        def change(leaf: Any) -> Any:
            return leaf.data if isinstance(leaf, ArrayValue) else self._constant(leaf)

        return map_arrays(value, change)

    @staticmethod
    def _constant(named: Named) -> Any:
        return dtype_named(named.name) if named.kind == "dtype" else None  # a device means nothing to a jax function

    def call_under_seed(self, function: Callable[..., Any], *args: Any, seed: int | None = None) -> Any:
        seed = self.options.seed if seed is None else seed
        random.seed(seed)
        np.random.seed(seed)
        return function(*self._real(args))

    def shapes_of(self, make: Callable[[], Any]) -> list[tuple[int, ...]]:
        from lowering.capture.jax_host import shapes_made

        return shapes_made(make)

    def is_model(self, entry: Any) -> bool:
        """A class called Model without parameters of its own to share: built, then called."""
        return isinstance(entry, type)

    def callable_of(self, entry: Any) -> Callable[..., Any]:
        return entry

    def weights_of(self, model: Any, again: Callable[[], Any]) -> dict[str, Any]:
        arrays = {name: self.data_of(value, name) for name, value in vars(model).items() if _is_array(value)}
        return Weights(arrays).to_data()

    def set_weights(self, model: Any, weights: dict[str, Any]) -> list[str]:
        given = Weights.from_data(weights).arrays
        own = {name: np.asarray(value) for name, value in vars(model).items() if _is_array(value)}
        shapes = [{n: x.shape for n, x in own.items()}, {n: x.data.shape for n, x in given.items()}]
        if shapes[0] != shapes[1]:
            raise UsageError(
                f"the two models do not hold the same arrays: A has {shapes[1] or 'none'}, B has {shapes[0] or 'none'}"
            )
        others = [name for name, value in given.items() if own[name].tobytes() != value.data.tobytes()]
        for name, value in given.items():
            setattr(model, name, value.data)
        if not own:
            return []
        said = f", whose own values were others: {', '.join(others)}" if others else ""
        return [f"the weights of A were copied to B{said}"]

    def capture(self, function: Callable[..., Any], bound: Bound) -> Captured:
        from lowering.capture.jax_host import capture_jax

        args, kwargs = list(self._real(bound.args)), self._real(bound.kwargs)
        trace = capture_jax(
            function,
            args,
            kwargs=kwargs,
            names=bound.names[: len(args)],
            backward=self.options.backward,
            device=self.options.target,
        )
        return captured_trace(trace, dict(zip(bound.names, [*args, *kwargs.values()])))


def _is_array(value: Any) -> bool:
    return hasattr(value, "__array__") and hasattr(value, "shape") and not isinstance(value, type)


def captured_trace(trace: JaxTrace, arguments: dict[str, Any]) -> Captured:
    """A trace as KIR, with the values of its inputs."""
    from lowering.capture.jax_races import enter_races
    from lowering.frontends.stablehlo import lower_module
    from lowering.ir.printer import print_program

    program = lower_module(
        trace.stablehlo,
        input_names=[spec.name for spec in trace.inputs],
        output_names=[spec.name for spec in trace.outputs],
        input_dtypes=[spec.dtype for spec in trace.inputs],
        key=trace.key,
        notes=trace.notes,
    )
    enter_races(program, trace.findings)
    values = dict(_leaves(arguments))
    return Captured(
        kir=print_program(program),
        inputs={
            spec.name: values[spec.name] if spec.name in values else _cotangent(spec.shape, spec.dtype, i)
            for i, spec in enumerate(trace.inputs)
        },
        outputs=[(spec.name, spec.dtype, spec.shape) for spec in trace.outputs],
        notes=["traced with " + ", ".join(f"{key} {value}" for key, value in trace.options.items()), *trace.notes],
        checks_shapes="jax.experimental.pallas" not in sys.modules,
        sources={"stablehlo": trace.stablehlo},
    )


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Arrays by the names that capture gives them: weights.layers.0.bias."""
    if isinstance(value, np.ndarray):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}.{index}")


def _cotangent(shape: tuple[int, ...], dtype: str, position: int) -> np.ndarray:
    """Random, by position, for inputs that --backward adds."""
    return np.random.default_rng(position).standard_normal(shape).astype(dtype_named(dtype))
