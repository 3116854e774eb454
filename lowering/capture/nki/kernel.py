"""A function under ``nki.jit``, and what happens when it is called: its body runs once per place of the grid.

Inside a running kernel a call is a plain call.  Outside, ``host.capture_nki`` has set a tracer and given tensors.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from lowering.capture.nki.cores import Cores
from lowering.capture.nki.dtypes import dtype_name
from lowering.capture.nki.shared_hbm import Instance, SharedHbm
from lowering.capture.nki.tensor_beta1 import Tensor
from lowering.capture.nki.tensor_new import NkiTensor
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import BETA1, HBM, NEW, TARGETS, NkiTrace
from lowering.capture.nki.tracer import active, current, here, unmodelled
from lowering.errors import UsageError

#: what runs a kernel that host code calls while no kernel runs: (kernel, args, kwargs) -> its result
HOSTS: list[Callable[[Kernel, tuple[Any, ...], dict[str, Any]], Any]] = []


class Kernel:
    """``kernel[grid](...)`` or ``kernel(...)``."""

    def __init__(self, function: Callable[..., Any], generation: str, options: dict[str, Any]) -> None:
        self.function, self.options, self._default = function, options, generation
        self.grid: tuple[int, ...] = ()
        functools.update_wrapper(self, function)

    @functools.cached_property
    def generation(self) -> str:
        """That of the namespaces that the function uses, else that of the decorator."""
        return used_generation(self.function) or self._default

    def __getitem__(self, grid: Any) -> Kernel:
        made = Kernel(self.function, self._default, self.options)
        made.grid = tuple(int(n) for n in (grid if isinstance(grid, tuple) else (grid,)))
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not active() and HOSTS:
            return HOSTS[-1](self, args, kwargs)
        if not active():
            raise UsageError(f"{here()}: a kernel is called outside of a comparison; name it with --entry")
        tracer, kind = current(), tensor_class(self.generation)
        self._told_target(tracer.trace)
        args = tuple(argument(kind, value) for value in args)
        kwargs = {name: argument(kind, value) for name, value in kwargs.items()}
        if not self.grid:
            return self._inside(args, kwargs)
        if tracer.inside and self.generation == BETA1:
            raise UsageError(f"{here()}: {self.function.__name__} is launched on a grid inside of another kernel")
        result, outer = None, (tracer.grid, tracer.place, tracer.shared, tracer.instance)
        try:
            tracer.grid, tracer.shared = self.grid, SharedHbm()
            if self.generation == NEW:
                return self._on_cores(args, kwargs)
            for place in np.ndindex(*self.grid):
                tracer.instance = Instance()
                tracer.place = tuple(int(i) for i in place)
                result = self._inside(args, kwargs)
                tracer.instance_ends()
        finally:
            tracer.grid, tracer.place, tracer.shared, tracer.instance = outer
        return result

    def _told_target(self, trace: NkiTrace) -> None:
        """A note where the decorator names another device than the one that the kernel is read for."""
        named = str(self.options.get("platform_target") or "")
        note = (
            f"nki: {self.function.__name__} is read for {trace.target}, and its decorator says "
            f"platform_target={named!r}: give --target {named}"
        )
        if named in TARGETS and TARGETS[named] != TARGETS.get(trace.target) and note not in trace.notes:
            trace.notes.append(note)

    def _inside(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The body once."""
        tracer = current()
        tracer.inside += 1
        try:
            return self.function(*args, **kwargs)
        finally:
            tracer.inside -= 1

    def _on_cores(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The new API's grid is the cores that one kernel runs on (lnc)."""
        tracer, places = current(), list(np.ndindex(*self.grid))

        def run(core: int) -> Any:
            tracer.place = tuple(int(i) for i in places[core])
            result = self._inside(args, kwargs)
            tracer.instance_ends()
            return result

        first, *others = Cores(tracer, len(places)).run(run)
        if any(_refs(other) != _refs(first) for other in others):
            raise unmodelled("a kernel whose cores return different tensors", "return one in nl.shared_hbm")
        return first


def _refs(result: Any) -> Any:
    """What a kernel returns, to be compared."""
    if isinstance(result, list | tuple):
        return [_refs(item) for item in result]
    return result.view_of if isinstance(result, Tile) else result


def tensor_class(generation: str) -> type[Tile]:
    return Tensor if generation == BETA1 else NkiTensor


def argument(kind: type[Tile], value: Any) -> Any:
    """A tensor as the generation's class; an array of a host function as a constant in HBM; those in lists too."""
    if type(value) in (list, tuple):
        return type(value)(argument(kind, item) for item in value)
    if type(value) is dict:
        return {key: argument(kind, item) for key, item in value.items()}
    if isinstance(value, Tile):
        return (
            value
            if isinstance(value, kind)
            else kind(value.storage, value.shape, value.strides, value.offset, value.dtype_name)
        )
    if isinstance(value, np.ndarray):
        return kind.new(HBM, value.shape, dtype_name(value.dtype), origin="data", data=np.ascontiguousarray(value))
    return value


def used_generation(function: Callable[..., Any]) -> str | None:
    """BETA1 or NEW where the names that the function's code uses are of one of them only; None otherwise."""
    code, found = getattr(function, "__code__", None), set()
    if code is None:
        return None
    spaces = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    for name in _names(code):
        module = spaces.get(name)
        if isinstance(module, ModuleType) and module.__name__.split(".")[0] in ("nki", "neuronxcc"):
            found.add(BETA1 if module.__name__.startswith("neuronxcc") else NEW)
    return found.pop() if len(found) == 1 else None


def _names(code: CodeType) -> set[str]:
    inner = [_names(const) for const in code.co_consts if isinstance(const, CodeType)]
    return set(code.co_names).union(code.co_freevars, *inner)
