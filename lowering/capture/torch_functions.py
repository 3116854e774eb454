"""Above autograd: turns every request for a cuda device into one for 'meta' before C++ sees it.

Takes calls of torch functions; gives their results.  Must not know about traces.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.utils._device as default_device
from torch.overrides import TorchFunctionMode

from lowering.capture.torch_dispatch import Dispatcher
from lowering.capture.torch_tensor import VirtualTensor

_META = torch.device("meta")
# With device='meta' these would drop the data they are given: they build on the CPU and then move.
_DATA_CONSTRUCTORS = {torch.tensor, torch.as_tensor, torch.asarray, torch.Tensor.new_tensor}
_LEFT_ALONE = {torch.device}
# C++ turns Python sequences among indices into tensors of the same device as the indexed one: on meta, without data.
_INDEXING = {torch.Tensor.__getitem__, torch.Tensor.__setitem__}
_INDEX_IS_DEVICE = {torch.Tensor.to, torch.nn.Module.to}
_READS = {torch.Tensor.numpy: "numpy()", torch.Tensor.tolist: "tolist()", torch.Tensor.__array__: "numpy()",
          torch.Tensor.__repr__: "printing"}  # fmt: skip

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    _NESTED_IS_TUPLE = torch.zeros(2, 2)[[[0, 1], [0, 1]]].dim() == 1


def _is_cuda(value: Any) -> bool:
    if isinstance(value, torch.device):
        return value.type == "cuda"
    return isinstance(value, str) and (value == "cuda" or value.startswith("cuda:"))


def _meta(value: Any) -> Any:
    return _META if _is_cuda(value) else value


def _indices(index: Any, indexed: torch.Tensor) -> Any:
    """An index whose sequences are tensors, where ``indexed`` has no data that C++ could put them beside."""
    if not isinstance(indexed, VirtualTensor):
        return index
    if isinstance(index, tuple) or (isinstance(index, list) and _is_tuple(index)):
        return tuple(_index(item) for item in index)
    return _index(index)


def _index(item: Any) -> Any:
    if isinstance(item, list | tuple | range):
        return torch.tensor(item if len(item) else torch.empty(0, dtype=torch.int64), device="cpu")
    return torch.tensor(item, device="cpu") if isinstance(item, bool) else item


def _is_tuple(index: list[Any]) -> bool:
    """Whether torch reads a list as it reads a tuple: one of slices, None and the like; of lists in old versions."""
    if any(item is None or item is ... or isinstance(item, slice | torch.Tensor) for item in index):
        return True
    return any(isinstance(item, list | tuple | range) for item in index) and _NESTED_IS_TUPLE


class FunctionMode(TorchFunctionMode):
    """Active for the whole session, the import of the user's file included."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        super().__init__()
        self.dispatcher = dispatcher
        self.special = {
            torch.Tensor.cuda: self._cuda,
            torch.Tensor.pin_memory: lambda tensor, *args, **kwargs: tensor,
            torch.dropout: _dropout,
            torch.nn.functional.dropout: _functional_dropout,
            torch.where: _where,
            torch.Tensor.where: lambda tensor, condition, other: _where(condition, tensor, other),
        }
        dispatcher.function_mode = self

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in _LEFT_ALONE:
            return func(*args, **kwargs)
        if func in self.special:
            return self.special[func](*args, **kwargs)
        if func in _READS:
            self._read_plain(args[0], _READS[func])
        kwargs = self._with_default_device(func, kwargs)
        if func in _DATA_CONSTRUCTORS:
            return self._construct(func, args, kwargs)
        if func in _INDEXING:
            args = (args[0], _indices(args[1], args[0]), *args[2:])
        return func(*self._positional(func, args), **_on_meta(kwargs))

    def _positional(self, func: Any, args: Any) -> tuple[Any, ...]:
        args = tuple(_meta(value) for value in args)
        if func in _INDEX_IS_DEVICE and len(args) > 1 and type(args[1]) is int:
            return (args[0], _META, *args[2:])
        return args

    def _with_default_device(self, func: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        """torch.set_default_device and ``with torch.device('cuda')`` act below this mode, where it is too late."""
        default = default_device.CURRENT_DEVICE
        if default is not None and kwargs.get("device") is None and func in default_device._device_constructors():
            return {**kwargs, "device": default}
        return kwargs

    def _construct(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        device = kwargs.pop("device", None)
        source = args[0] if args else None
        if device is None and isinstance(source, VirtualTensor):
            device = source.device
        if device is None or not _is_cuda(torch.device(device) if not isinstance(device, int) else "cuda"):
            return func(*args, **kwargs, **({} if device is None else {"device": device}))
        gradient = kwargs.pop("requires_grad", False)
        if func is torch.Tensor.new_tensor:
            func, args, kwargs = torch.tensor, args[1:], {"dtype": source.dtype, **kwargs}  # type: ignore[union-attr]
        built = args[0] if isinstance(args[0], torch.Tensor) else func(*args, **kwargs, device="cpu")
        moved = built.to(_META, kwargs.get("dtype"))
        return moved.requires_grad_() if gradient else moved

    def _cuda(self, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        memory_format = kwargs.get("memory_format")
        return tensor.to(_META, **({} if memory_format is None else {"memory_format": memory_format}))

    def _read_plain(self, tensor: Any, construct: str) -> None:
        """A plain CPU tensor may hold results too (``buffer.copy_(x)``): its reads are reads of the trace."""
        if isinstance(tensor, torch.Tensor) and not isinstance(tensor, VirtualTensor):
            self.dispatcher.read_by_host(tensor, construct, waits=False)


def _on_meta(kwargs: dict[str, Any]) -> dict[str, Any]:
    device = kwargs.get("device")
    if type(device) is int:
        return {**kwargs, "device": _META}
    return {name: _meta(value) if name in ("device", "other") else value for name, value in kwargs.items()}


def _dropout(input: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    """On cuda dropout is one fused kernel with counters of its own; C++ would not choose it on 'meta'."""
    if train and 0 < p < 1 and input.numel() and isinstance(input, VirtualTensor) and input.is_cuda:
        return torch.native_dropout(input, p, True)[0]
    return torch.nn.functional.dropout(input, p, train)


def _functional_dropout(input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    plain = torch.nn.functional.dropout
    return plain(input, p, training, True) if inplace else _dropout(input, p, training)


def _where(condition: torch.Tensor, input: Any = None, other: Any = None, **kwargs: Any) -> Any:
    """torch.where makes a tensor of a number on the condition's own device: on 'meta' the number would be lost."""
    if input is None and other is None:
        return torch.where(condition)
    if isinstance(input, torch.Tensor) and isinstance(other, torch.Tensor):
        return torch.where(condition, input, other, **kwargs)
    result_type: Any = torch.result_type
    dtype = result_type(input, other)
    tensors = (x if isinstance(x, torch.Tensor) else torch.tensor(x, dtype=dtype, device="cpu") for x in (input, other))
    return torch.where(condition, *tensors, **kwargs)
