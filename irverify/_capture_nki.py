"""The NKI adapter: kernels under nki.jit, of either API generation, traced without the Neuron SDK (worker only).

Takes callables and arguments as data; gives Captured.
"""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from irverify._capture import Captured, CaptureOptions
from irverify.loading import Bound
from irverify.values import ArrayValue, Named, dtype_named, map_arrays
from lowering.errors import IrverifyError

if TYPE_CHECKING:
    from lowering.capture.nki.trace import NkiTrace


class NkiAdapter:
    """The namespaces are in place while the session lasts."""

    has_strides = False
    asks_for_multiprocessors = False

    def __init__(self, options: CaptureOptions) -> None:
        self.options = options

    def show_multiprocessors(self, number: int | None) -> None:
        """A kernel does not ask."""

    @contextmanager
    def session(self) -> Iterator[None]:
        from lowering.capture.nki.namespaces import installed

        with installed():
            yield

    def data_of(self, value: Any, path: str) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(self.data_of(item, f"{path}[{i}]") for i, item in enumerate(value))
        if isinstance(value, dict):
            return {key: self.data_of(item, f"{path}[{key!r}]") for key, item in value.items()}
        return ArrayValue(np.asarray(value)) if hasattr(value, "__array__") and hasattr(value, "shape") else value

    def call_under_seed(self, function: Callable[..., Any], *args: Any, seed: int | None = None) -> Any:
        seed = self.options.seed if seed is None else seed
        random.seed(seed)
        np.random.seed(seed)
        return function(*_real(args))

    def shapes_of(self, make: Callable[[], Any]) -> list[tuple[int, ...]]:
        made = make()
        return [x.shape for x in made if hasattr(x, "shape")] if isinstance(made, list | tuple) else []

    def is_model(self, entry: Any) -> bool:
        return isinstance(entry, type)

    def callable_of(self, entry: Any) -> Callable[..., Any]:
        return entry

    def weights_of(self, model: Any, again: Callable[[], Any]) -> dict[str, Any]:
        return {}

    def set_weights(self, model: Any, weights: dict[str, Any]) -> list[str]:
        return []

    def capture(self, function: Callable[..., Any], bound: Bound) -> Captured:
        from lowering.capture.nki.host import capture_nki
        from lowering.capture.nki.kernel import Kernel

        args, kwargs = list(_real(bound.args)), dict(_real(bound.kwargs))
        asked = self.options
        try:
            trace = capture_nki(function, args, kwargs, bound.names, asked.nki_target, asked.nki_version)
        except (AttributeError, TypeError, ValueError, IrverifyError):
            if isinstance(function, Kernel) or asked.form != "kir" or importlib.util.find_spec("torch") is None:
                raise
            return self._over_numpy(function, args, kwargs, bound)  # it does more with its arrays than a kernel can
        return Captured(
            kir=_kir(trace) if asked.form == "kir" else "",
            sources={} if asked.form == "kir" else _sources(trace, asked.form),
            inputs={name: np.asarray(trace.storages[ref.storage].data) for name, ref in trace.inputs},
            outputs=[(name, ref.dtype, ref.shape) for name, ref in trace.outputs],
            kernels=[trace.kernel],
            notes=trace.notes,
            checks_shapes=trace.checks_shapes,
        )

    def _over_numpy(
        self, function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], bound: Bound
    ) -> Captured:
        """Host code that computes with arrays around its kernels."""
        from irverify._capture_torch import captured_trace
        from irverify.readback import read_back
        from lowering.capture.numpy_host import capture_numpy_host

        given = dict(zip(bound.names, [*args, *kwargs.values()], strict=True))
        captured = captured_trace(
            capture_numpy_host(function, given, self.options.nki_target, self.options.nki_version, read_back)
        )
        captured.views = {}
        return captured

    def capture_gradients(self, function: Callable[..., Any], bound: Bound, layout: str) -> Captured:
        raise NotImplementedError  # asked only where there are strides


def _kir(trace: NkiTrace) -> str:
    """The program, which says where the kernel's meaning rests on what its hardware does not promise."""
    from lowering.ir.printer import print_program
    from lowering.legality.report import faults
    from lowering.nki_program import lower_nki

    program = lower_nki(trace)
    rows, notes = faults(trace)
    if rows:
        program.attrs["faults"] = rows
    program.notes += notes
    return print_program(program)


def _sources(trace: NkiTrace, form: str) -> dict[str, str]:
    """The trace as text, or what there is to say of its legality and cost; nothing where another form is asked for."""
    if form == "trace":
        from lowering.capture.nki.text import print_trace

        return {"trace": print_trace(trace, with_inputs=False)}
    if form == "check":
        from lowering.legality.report import examined

        return {"check": examined(trace)}
    return {}


def _real(value: Any) -> Any:
    def change(leaf: Any) -> Any:
        if isinstance(leaf, ArrayValue):
            return leaf.data
        return dtype_named(leaf.name) if isinstance(leaf, Named) and leaf.kind == "dtype" else None

    return map_arrays(value, change)
