"""Turns a caller's arguments into fresh virtual tensors, and names them as inputs of the trace.

Takes arrays, CPU or virtual tensors, modules and Python values; gives the arguments to call with.  Must not know how
the function is run.  Everything is copied: a capture never changes the caller's data.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from lowering.capture.recorder import Recorder
from lowering.capture.torch_arrays import tensor_of, unobserved
from lowering.capture.torch_tensor import VirtualTensor


@dataclass(frozen=True, slots=True)
class Slot:
    """A parameter or buffer in a module's table, the input it became, and the memory that this had."""

    table: dict[str, Any]
    key: str
    name: str
    placed: VirtualTensor
    inner: torch.Tensor

    @property
    def _now(self) -> torch.Tensor | None:
        found = self.table.get(self.key)
        return found if isinstance(found, torch.Tensor) else None

    @property
    def keeps_type(self) -> bool:
        """Whether what is there now can be compared with the input."""
        now = self._now
        return now is not None and (now.shape, now.dtype) == (self.inner.shape, self.inner.dtype)

    @property
    def rebound(self) -> torch.Tensor | None:
        """The tensor of the same type that has taken the input's place."""
        moved = self._now is not self.placed or self.placed.inner is not self.inner
        return self._now if moved and self.keeps_type else None


class InputPlacer:
    """One capture's inputs.  Tensors that share memory keep sharing it."""

    def __init__(self, recorder: Recorder, claim: torch.device, backward: bool) -> None:
        self.recorder, self.claim, self.backward = recorder, claim, backward
        self.leaves: dict[str, VirtualTensor] = {}  # inputs that take a gradient
        self.cotangents: dict[str, VirtualTensor] = {}  # by output: what enters its backward pass
        self.slots: list[Slot] = []  # of modules: where weights are inputs
        self._storages: dict[int, torch.UntypedStorage] = {}
        self._placed: dict[int, VirtualTensor] = {}
        self._sources: list[torch.Tensor] = []  # an id names a tensor only while the tensor lives

    def arguments(self, values: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name, every array in them placed."""
        chosen = {id(t) for t in tensors_in(values) if t.requires_grad}
        return {name: self._place(name, value, chosen) for name, value in values.items()}

    def _place(self, name: str, value: Any, chosen: set[int]) -> Any:
        if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
            value = tensor_of(np.asarray(value))
        if isinstance(value, torch.nn.Module):
            return value  # its tensors are swapped by ``placed_module``
        if isinstance(value, torch.Tensor):
            wanted = value.requires_grad if chosen else self.backward and _differentiable(value)
            return self.tensor(name, value, wanted and self.backward)
        if isinstance(value, list | tuple) and type(value) in (list, tuple):
            items = [self._place(f"{name}.{i}", item, chosen) for i, item in enumerate(value)]
            return items if type(value) is list else tuple(items)
        if type(value) is dict:
            return {key: self._place(f"{name}.{key}", item, chosen) for key, item in value.items()}
        return value

    def tensor(self, name: str, source: torch.Tensor, requires_grad: bool) -> VirtualTensor:
        """A fresh virtual tensor with the source's values, strides and offset."""
        if id(source) not in self._placed:
            inner = self._copy(source.inner if isinstance(source, VirtualTensor) else source)
            placed = VirtualTensor(inner, self.claim, requires_grad)
            self.recorder.input(name, inner)
            self._sources.append(source)
            self._placed[id(source)] = placed
            if requires_grad:
                self.leaves[name] = placed
        return self._placed[id(source)]

    @unobserved()
    def _copy(self, source: torch.Tensor) -> torch.Tensor:
        storage = source.untyped_storage()
        if storage._cdata not in self._storages:
            self._storages[storage._cdata] = storage.clone()
        fresh = torch.empty(0, dtype=source.dtype)
        return fresh.set_(self._storages[storage._cdata], source.storage_offset(), source.shape, source.stride())

    @contextlib.contextmanager
    def placed_module(self, module: torch.nn.Module, prefix: str = "weight:") -> Iterator[None]:
        """The module with virtual parameters and buffers, restored afterwards."""
        undo: list[tuple[dict[str, Any], str, Any]] = []
        try:
            for path, owner in module.named_modules():
                tables: list[dict[str, Any]] = [owner._parameters, owner._buffers]
                for table in tables:
                    for name, tensor in list(table.items()):
                        if tensor is not None:
                            undo.append((table, name, tensor))
                            known_as = f"{prefix}{path + '.' if path else ''}{name}"
                            table[name] = placed = self._weight(known_as, tensor)
                            self.slots.append(Slot(table, name, known_as, placed, placed.inner))
            yield
        finally:
            for table, name, tensor in undo:
                table[name] = tensor

    def _weight(self, name: str, tensor: torch.Tensor) -> VirtualTensor:
        placed = self.tensor(name, tensor, tensor.requires_grad)
        if isinstance(tensor, torch.nn.Parameter):
            placed._is_param = True  # type: ignore[attr-defined]
        return placed


def _differentiable(tensor: torch.Tensor) -> bool:
    return (tensor.is_floating_point() and tensor.itemsize > 1) or tensor.is_complex()


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """The tensors of a value, in lists, tuples and dicts too."""
    if isinstance(value, torch.Tensor):
        yield value
    elif type(value) in (list, tuple):
        for item in value:
            yield from tensors_in(item)
    elif type(value) is dict:
        yield from tensors_in(list(value.values()))


def named_arguments(fn: Callable[..., Any], args: Any) -> tuple[dict[str, Any], Callable[[dict[str, Any]], Any]]:
    """The arguments by parameter name, and the function that calls ``fn`` with such a dict."""
    if isinstance(args, dict):
        return dict(args), lambda values: fn(**values)
    target = fn.forward if isinstance(fn, torch.nn.Module) else fn
    names = _parameter_names(target, len(args))
    return dict(zip(names, args)), lambda values: fn(*values.values())


def _parameter_names(target: Callable[..., Any], count: int) -> list[str]:
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [parameter.name for parameter in parameters if parameter.kind in positional][:count]
    return names + [f"arg{i}" for i in range(len(names), count)]


def modules_of(fn: Any, values: dict[str, Any]) -> list[tuple[str, torch.nn.Module]]:
    """The modules whose weights are inputs: the function itself, its owner, or an argument."""
    found = [("weight:", owner) for owner in (fn, getattr(fn, "__self__", None)) if isinstance(owner, torch.nn.Module)]
    given = [(f"weight:{name}.", value) for name, value in values.items() if isinstance(value, torch.nn.Module)]
    return found + given
