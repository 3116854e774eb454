"""A framework for tests: functions on symbolic arrays that know + and *, captured without torch or jax.

A file belongs to it when it imports tests.tool.fake_adapter as ``fake``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from irverify._capture import Captured, CaptureOptions
from irverify.loading import Bound
from irverify.values import ArrayValue
from lowering.errors import Span, Unsupported
from lowering.ir.builder import Builder
from lowering.ir.printer import print_program
from lowering.ir.program import Program, Value
from lowering.ir.types import TensorType, from_numpy


class Array:
    """A symbolic array.  Unequal shapes raise, as they would in a framework."""

    def __init__(self, builder: Builder, value: Value) -> None:
        self.builder, self.value = builder, value

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.type.shape

    def _binary(self, op: str, other: Array) -> Array:
        if self.shape != other.shape:
            raise ValueError(f"shapes {self.shape} and {other.shape} do not match")
        return Array(self.builder, self.builder(op, self.value, other.value))

    def __add__(self, other: Array) -> Array:
        return self._binary("add", other)

    def __mul__(self, other: Array) -> Array:
        return self._binary("mul", other)

    def fancy(self) -> Array:
        raise Unsupported("fake.fancy", Span("a.py", 7, 12, "y"), "write it without fancy")


class FakeAdapter:
    """The adapter of the test framework."""

    has_strides = False
    asks_for_multiprocessors = False

    def show_multiprocessors(self, number: int | None) -> None:
        """There is no device."""

    def __init__(self, options: CaptureOptions) -> None:
        self.options = options

    @contextmanager
    def session(self) -> Iterator[None]:
        yield

    def data_of(self, value: Any, path: str) -> Any:
        if isinstance(value, list):
            return [self.data_of(item, path) for item in value]
        return ArrayValue(value) if isinstance(value, np.ndarray) else value

    def call_under_seed(self, function: Callable[..., Any], *args: Any, seed: int | None = None) -> Any:
        np.random.seed(self.options.seed if seed is None else seed)
        return function(*args)

    def shapes_of(self, make: Callable[[], Any]) -> list[tuple[int, ...]]:
        made = make()
        return [x.shape for x in made if isinstance(x, np.ndarray)] if isinstance(made, list) else []

    def is_model(self, entry: Any) -> bool:
        return isinstance(entry, type)

    def callable_of(self, entry: Any) -> Callable[..., Any]:
        return entry

    def weights_of(self, model: Any, again: Callable[[], Any]) -> dict[str, Any]:
        return {"scale": ArrayValue(model.scale)}

    def set_weights(self, model: Any, weights: dict[str, Any]) -> list[str]:
        model.scale = weights["scale"].data
        return ["the weights of A were copied to B"]

    def capture(self, function: Callable[..., Any], bound: Bound) -> Captured:
        builder, inputs, names = Builder(), {}, []
        arrays: list[Any] = []
        for name, value in zip(bound.names, [*bound.args, *bound.kwargs.values()]):
            if not isinstance(value, ArrayValue):
                arrays.append(value)
                continue
            argument = builder.value(TensorType(from_numpy(value.data.dtype), value.data.shape))
            builder.block.args.append(argument)
            inputs[name], names = value.data, [*names, name]
            arrays.append(Array(builder, argument))
        positional = len(bound.args)
        result = function(*arrays[:positional], **dict(zip(bound.kwargs, arrays[positional:])))
        results = result if isinstance(result, tuple) else (result,)
        outputs = [(f"out{i}", array.value) for i, array in enumerate(results)]
        program = Program(builder.block, names, outputs, attrs={"level": "fake", "contract": False, "key": "k"})
        shapes = [(name, "float32", value.type.shape) for name, value in outputs]
        return Captured(print_program(program), inputs, shapes, kernels=["k0"], notes=["captured by the fake"])
