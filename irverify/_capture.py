"""The narrow door from the tool to the capture rooms: one Adapter per framework, imported only in a worker.

Takes a callable and arguments as data; gives Captured.  A new framework is one adapter class and one row here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from irverify.loading import Bound
from irverify.values import ArrayValue, dtype_named
from lowering.capture.trace import HostTrace, TensorRef

ADAPTERS = {
    "torch": "irverify._capture_torch:TorchAdapter",
    "jax": "irverify._capture_jax:JaxAdapter",
    "nki": "irverify._capture_nki:NkiAdapter",
    "nki-torch": "irverify._capture_nki_torch:NkiTorchAdapter",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureOptions:
    """The part of the options that capture needs."""

    target: str = "sm_80"
    backward: bool = False
    config: str = "first"
    seed: int = 0
    nki_target: str = "trn2"
    nki_version: str = "0.6"
    form: str = "kir"  # what is wanted: a Program, or of an NKI kernel its 'trace' or what 'check' says of it
    formulas: bool = True  # whether the host's tables are lowered by how they were made, or as the data that they are


@dataclass(slots=True)
class Called:
    """A second call with the same arguments, where the first has left ``names`` changed (torch_second.py).

    ``first`` and ``again``: KIR of the results and the state after either call, '' where there was no second one.
    ``overwritten``, ``reused`` and ``carried``: results, as in SecondCall there.
    """

    names: list[str]
    first: str = ""
    again: str = ""
    counted: list[str] = field(default_factory=list)  # plain values that went on changing
    differs: str = ""  # what shows by itself that the two calls differ
    unseen: str = ""  # why there was no second call
    overwritten: list[str] = field(default_factory=list)
    reused: list[str] = field(default_factory=list)
    carried: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Refilled:
    """A later call with the same arrays, whose contents were overwritten in between (torch_refilled.py).

    ``again`` and ``fresh``: KIR of its results, and of those of a call with other arrays of the same values; '' where
    it did what the first call did.  ``overwritten``: results that do not outlive the next call.  ``unseen``: why
    nothing is known of them.
    """

    again: str = ""
    fresh: str = ""
    overwritten: list[str] = field(default_factory=list)
    unseen: str = ""


@dataclass(slots=True)
class Interleaved:
    """Two forward passes before a backward pass (torch_interleaved.py).

    ``alone`` and ``between``: KIR of the gradients of a pass alone, and where another came between; '' where they rest
    on the same.  ``unseen``: why nothing is known of them.
    """

    alone: str = ""
    between: str = ""
    unseen: str = ""


@dataclass(slots=True)
class Tuned:
    """The run in which every autotuned launch that updates its arguments was tried once before, as KIR.

    ``launches``: (kernel, arguments that nothing puts back, file, line) of each.
    """

    kir: str
    launches: list[tuple[str, str, str, int]]


@dataclass(slots=True)
class Captured:
    """One run as data.  ``kir``: printed Program; ``inputs``: its inputs by name, in its order."""

    kir: str
    inputs: dict[str, np.ndarray]
    outputs: list[tuple[str, str, tuple[int, ...]]]  # (name, dtype, shape)
    kernels: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    configurations: dict[int, str] = field(default_factory=dict)  # KIR under the other autotune configurations
    broken_configurations: dict[int, str] = field(default_factory=dict)  # those that do not lower or run: why
    views: dict[str, tuple[tuple[int, ...], int]] = field(default_factory=dict)  # strides and offset of each input
    others: list[str] = field(default_factory=list)  # A's buffers for which this side, B, has none (weights.py)
    derived: list[str] = field(default_factory=list)  # constants that may have been computed from a model's weights
    second: Called | None = None  # of the first capture, where that left state behind
    refilled: Refilled | None = None  # of the first capture at a small shape, where that showed something
    interleaved: Interleaved | None = None  # likewise, under --backward
    tuned: Tuned | None = None  # of the first capture, where an autotuner's trials may show
    checks_shapes: bool = True  # False for hand-written kernels: they run at shapes they are not meant for
    sources: dict[str, str] = field(default_factory=dict)  # 'ttir', 'aten', 'stablehlo', 'trace': for `irverify lower`


class Adapter(Protocol):
    """What a framework must offer.  Everything happens inside ``session``, the user's import included."""

    def __init__(self, options: CaptureOptions) -> None: ...

    has_strides: bool  # whether a function can tell a view from a contiguous array of the same values

    @property
    def asks_for_multiprocessors(self) -> bool:
        """Whether the host has asked how many multiprocessors the device has."""
        ...

    def show_multiprocessors(self, number: int | None) -> None:
        """Lets the device have that many from now on; None: as many as the target has."""
        ...

    def session(self) -> AbstractContextManager[None]:
        """In place before the user's file is imported: the virtual device, private caches."""
        ...

    def data_of(self, value: Any, path: str) -> Any:
        """A value made by the user's get_inputs as data (irverify.values): arrays, dtypes and devices included."""
        ...

    def call_under_seed(self, function: Callable[..., Any], *args: Any, seed: int | None = None) -> Any:
        """``function(*args)`` after seeding every random generator; data arguments become the framework's.

        ``seed``: another one than that of the options.
        """
        ...

    def shapes_of(self, make: Callable[[], Any]) -> list[tuple[int, ...]]:
        """The shapes of all arrays in what ``make`` gives (of a model: its weights), without their data; [] where that
        cannot be told."""
        ...

    def is_model(self, entry: Any) -> bool:
        """Whether the entry is a class to be built with get_init_inputs()."""
        ...

    def callable_of(self, entry: Any) -> Callable[..., Any]:
        """What is called for an entry that is not a model."""
        ...

    def weights_of(self, model: Any, again: Callable[[], Any]) -> dict[str, Any]:
        """Parameters and buffers as data, for ``set_weights``; ``again`` builds the model under another seed."""
        ...

    def set_weights(self, model: Any, weights: dict[str, Any]) -> list[str]:
        """Copies the other side's weights in, as far as both share them (weights.py); a usage error when they do not
        fit.  Gives notes."""
        ...

    def capture(self, function: Callable[..., Any], bound: Bound) -> Captured:
        """Runs the function once and lowers what it did."""
        ...

    def capture_gradients(self, function: Callable[..., Any], bound: Bound, layout: str) -> Captured:
        """The same with incoming gradients that are 'expanded' or 'transposed'; asked only where there are strides."""
        ...


def load_adapter(path: str, options: CaptureOptions) -> Adapter:
    """The adapter written 'module:Class'."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)(options)


def array_at(trace: HostTrace, ref: TensorRef) -> np.ndarray:
    """The values of an input, out of its storage's bytes."""
    dtype = dtype_named(ref.dtype)
    data = trace.storages[ref.storage].data
    assert data is not None, "an input's storage carries its bytes"
    flat = data[: data.size // dtype.itemsize * dtype.itemsize].view(dtype)
    steps = [stride * dtype.itemsize for stride in ref.strides]
    return np.lib.stride_tricks.as_strided(flat[ref.offset :], ref.shape, steps).copy()


def laid_out(value: ArrayValue) -> np.ndarray:
    """The flat memory in which the array lies as its strides and offset say; what is between its elements is 0."""
    strides = value.strides or ()
    extent = 1 + sum((size - 1) * stride for size, stride in zip(value.data.shape, strides))
    memory = np.zeros(value.offset + max(extent, 1), value.data.dtype)
    steps = [stride * value.data.dtype.itemsize for stride in strides]
    np.lib.stride_tricks.as_strided(memory[value.offset :], value.data.shape, steps)[...] = value.data
    return memory
