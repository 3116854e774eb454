"""What a call can leave behind for the next one: attributes, module globals, closures.

Takes the host function and the modules among its arguments; gives a State, and what is not the same in a later one.
Must not know how a function is run.  Parameters and placed buffers are inputs, so they are left out.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch

from lowering.capture.torch_inputs import tensors_in
from lowering.capture.torch_tensor import VirtualTensor

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_DEPTH, _MOST, _BYTES = 4, 4000, 1 << 20  # of containers in containers; containers, and items of one; of an array
_OF_TORCH = frozenset(vars(torch.nn.Module()))  # hooks, tables and flags that every module has
_LIBRARY = sysconfig.get_path("stdlib")

Slots = frozenset[tuple[int, str]]  # tables of a module, by identity, and names in them


@dataclass(slots=True)
class State:
    """The contents of every place, by name; ``tensors`` keeps the objects, so that an identity stays one."""

    plain: dict[str, Any] = field(default_factory=dict)
    tensors: dict[str, torch.Tensor] = field(default_factory=dict)

    def changed(self, later: State, written: set[int]) -> list[str]:
        """Names of what is not the same any more; ``written``: storages that were written to in between."""
        names = [name for name in {**self.plain, **later.plain} if not _same(self.plain, later.plain, name)]
        for name in {**self.tensors, **later.tensors}:
            old, new = self.tensors.get(name), later.tensors.get(name)
            if old is not new or (new is not None and inner_of(new).untyped_storage()._cdata in written):
                names.append(name)
        return list(dict.fromkeys(names))


def _same(old: dict[str, Any], new: dict[str, Any], name: str) -> bool:
    """Equal and of one type; NaN is itself."""
    missing = object()
    x, y = old.get(name, missing), new.get(name, missing)
    return type(x) is type(y) and (x == y or (x != x and y != y))


def state_of(fn: Any, modules: Sequence[torch.nn.Module], inputs: Slots) -> State:
    """Everything that the function can reach by name and that may be state; ``inputs`` are compared elsewhere."""
    owner = getattr(fn, "__self__", None)
    subjects = [fn, getattr(fn, "__func__", None), owner, type(owner), type(fn), *map(type, modules)]
    home = next((found for found in map(_home, subjects) if found is not None), None)
    look = _Look(inputs, home.__name__ if home is not None else "")
    for subject in (fn, owner, *modules):
        unnamed = "self" if subject is fn or subject is owner else type(subject).__name__
        look.item(getattr(subject, "__name__", unnamed), subject, 0)
    for name, value in vars(home).items() if home is not None else ():
        if not name.startswith("__"):
            look.item(name, value, 0)
    return look.state


def plain_tensors(module: torch.nn.Module) -> list[str]:
    """Floats that a module holds beside its parameters and buffers: they may have been computed from those."""
    found = []
    for path, owner in module.named_modules():
        for key, value in vars(owner).items():
            if key not in _OF_TORCH and any(tensor.is_floating_point() for tensor in tensors_in(value)):
                found.append(f"{path}.{key}".lstrip("."))
    return found


def _home(thing: Any) -> ModuleType | None:
    """The user's file in which a function or class is written; None for a library's."""
    module = sys.modules.get(getattr(thing, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    return module if file and not Path(file).is_relative_to(_LIBRARY) and "site-packages" not in file else None


class _Look:
    """One walk; every object is entered once, under the first name it is found by."""

    def __init__(self, inputs: Slots, home: str) -> None:
        self.state, self.inputs, self.home = State(), inputs, home
        self._seen: dict[int, Any] = {}

    def item(self, name: str, value: Any, depth: int) -> None:
        if isinstance(value, _PLAIN):
            self.state.plain[name] = value
        elif isinstance(value, np.ndarray) and value.nbytes <= _BYTES:
            self.state.plain[name] = (value.dtype.str, value.shape, value.tobytes())
        elif isinstance(value, torch.Tensor):
            if not isinstance(value, torch.nn.Parameter):
                self.state.tensors[name] = value
        elif depth < _DEPTH and id(value) not in self._seen and len(self._seen) < _MOST:
            self._seen[id(value)] = value
            for path, inner in self._inside(name, value):
                self.item(path, inner, depth + 1)

    def _inside(self, name: str, value: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(value, torch.nn.Module):
            yield from self._module(name, value)
        elif isinstance(value, list | tuple | set | frozenset | dict):
            yield f"len({name})", len(value)
            if isinstance(value, dict):
                items = [(key, item) for key, item in value.items() if isinstance(key, _PLAIN)]
            else:
                items = list(enumerate(value)) if isinstance(value, list | tuple) else []
            yield from ((f"{name}[{key!r}]", item) for key, item in items[:_MOST])
        elif isinstance(value, FunctionType | MethodType):
            yield from _function(name, value)
        elif self.home and (value if isinstance(value, type) else type(value)).__module__ == self.home:
            yield from ((f"{name}.{key}", item) for key, item in _attributes(value).items())

    def _module(self, name: str, module: torch.nn.Module) -> Iterator[tuple[str, Any]]:
        """Its attributes, and those buffers that are no inputs."""
        for key, value in vars(module).items():
            if key not in _OF_TORCH or key == "training":
                yield f"{name}.{key}", value
        for key, value in module._buffers.items():
            if (id(module._buffers), key) not in self.inputs:
                yield f"{name}.{key}", value
        for key, child in module._modules.items():
            if child is not None and id(child) not in self._seen:
                self._seen[id(child)] = child  # however deep: modules are nested deeper than other things
                for path, value in self._module(f"{name}.{key}", child):
                    self.item(path, value, 1)


def _function(name: str, value: FunctionType | MethodType) -> Iterator[tuple[str, Any]]:
    """A function's attributes, defaults and closure."""
    function = value.__func__ if isinstance(value, MethodType) else value
    if not isinstance(function, FunctionType):
        return
    yield from ((f"{name}.{key}", item) for key, item in vars(function).items())
    yield from ((f"default {i} of {name}", item) for i, item in enumerate(function.__defaults__ or ()))
    for key, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        with suppress(ValueError):  # not bound yet
            yield f"{name}'s {key}", cell.cell_contents


def _attributes(value: Any) -> dict[str, Any]:
    """Data of an instance, or of a class."""
    slots = {key: getattr(value, key) for key in getattr(type(value), "__slots__", ()) if hasattr(value, key)}
    return slots | {key: item for key, item in getattr(value, "__dict__", {}).items() if not key.startswith("__")}


def inner_of(tensor: torch.Tensor) -> torch.Tensor:
    """The CPU tensor with the values."""
    return tensor.inner if isinstance(tensor, VirtualTensor) else tensor.detach()
