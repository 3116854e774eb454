"""What the lists, dicts and records among the arguments hold: a call that changes that changes it for its caller.

Takes the placed arguments, before and after the call; gives what they held as data, and outputs 'written:NAME' for what
they hold now.  Must not know how the function is run.
"""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from lowering.capture.recorder import Recorder
from lowering.capture.torch_arrays import tensor_of
from lowering.capture.torch_tensor import VirtualTensor
from lowering.capture.trace import TensorRef

_DEPTH = 8  # of containers in containers
_LARGEST = 2**63 - 1
Number = bool | int | float


@dataclasses.dataclass(frozen=True, slots=True)
class Word:
    """What is no number: None, a string, the keys of a dict, a kind of container.  Equal words have equal codes."""

    text: str

    @property
    def code(self) -> int:
        return zlib.crc32(self.text.encode())


class Contents:
    """The containers of one call's arguments, as they were when this was made."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values
        self._before = dict(self._leaves())

    def _leaves(self) -> Iterator[tuple[str, Any]]:
        for name, value in self._values.items():
            if isinstance(value, torch.Tensor) or _items(value) is not None:
                yield from _leaves(name, value, 0)

    def numbers(self) -> dict[str, Number]:
        """All that was in them, tensors left out: those are inputs."""
        return {name: _as_number(leaf) for name, leaf in self._before.items() if not isinstance(leaf, _Tensor)}

    def changed(self) -> dict[str, Any]:
        """What is in them now, where it is another thing or was not there."""
        now = self._leaves()
        return {name: leaf for name, leaf in now if name not in self._before or not _same(leaf, self._before[name])}


@dataclasses.dataclass(frozen=True, slots=True)
class _Tensor:
    tensor: torch.Tensor
    inner: torch.Tensor  # of a virtual one: `tensor.data = other` exchanges it
    layout: tuple[Any, ...]  # `tensor.t_()` makes it a view of what it was


def _tensor(tensor: torch.Tensor, inner: torch.Tensor) -> _Tensor:
    return _Tensor(tensor, inner, (inner.shape, inner.stride(), inner.storage_offset()))


def _leaves(name: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """(name, leaf) of everything inside; a container is a word itself, and says how many entries or which keys it has.

    Entries that are gone need no leaf, so.
    """
    if isinstance(value, torch.Tensor):
        yield name, _tensor(value, _inner(value))
        return
    items = _items(value) if depth < _DEPTH else None
    if items is None:
        yield name, _plain(value)
        return
    kind, entries = items
    yield name, Word(kind)
    if kind == "list":
        yield f"len({name})", len(entries)
    else:
        yield f"keys({name})", Word(", ".join(sorted(map(repr, entries))))
    for key, item in entries.items():
        part = key if isinstance(key, str) or kind == "list" else f"<{key!r}>"  # 1 is another key than "1"
        yield from _leaves(f"{name}.{part}", item, depth + 1)


def _items(value: Any) -> tuple[str, dict[Any, Any]] | None:
    if isinstance(value, list | tuple):
        return "list", dict(enumerate(value))
    if isinstance(value, Mapping):
        return "dict", dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value)]
        return type(value).__name__, {field: getattr(value, field) for field in fields if hasattr(value, field)}
    return None


def _plain(value: Any) -> Any:
    """A number, an array as a tensor's leaf, or the word for anything else."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        array = tensor_of(value)
        return _tensor(array, array)
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        value = value.item()
    if isinstance(value, bool | float) or (type(value) is int and abs(value) <= _LARGEST):
        return value
    if isinstance(value, str | bytes | int | complex | None | torch.dtype | torch.device):
        return Word(repr(value))
    return Word(type(value).__qualname__)


def _same(new: Any, old: Any) -> bool:
    if isinstance(new, _Tensor) and isinstance(old, _Tensor):
        kept = new.tensor is old.tensor and new.inner is old.inner
        return kept and new.layout == old.layout
    return type(new) is type(old) and (new == old or (new != new and old != old))


def _as_number(leaf: Any) -> Number:
    return leaf.code if isinstance(leaf, Word) else leaf


def enter_changes(recorder: Recorder, contents: Contents) -> None:
    """Outputs for what the call has changed; they take the place of those that speak of a tensor that was there."""
    trace = recorder.trace
    trace.contents = contents.numbers()
    changed = contents.changed()
    now: dict[str, TensorRef] = {}
    for name, leaf in changed.items():
        if isinstance(leaf, Word):
            recorder.note(f"the call changes its arguments: {name} becomes {leaf.text}")
        tensor = leaf.inner if isinstance(leaf, _Tensor) else tensor_of(np.asarray(_as_number(leaf)))
        now[f"written:{name}"] = recorder.ref(tensor)
    known = {name for name, _ in trace.outputs}
    trace.outputs = [(name, now.get(name, ref)) for name, ref in trace.outputs]
    trace.outputs += [output for output in now.items() if output[0] not in known]


def _inner(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.inner if isinstance(tensor, VirtualTensor) else tensor.detach()
