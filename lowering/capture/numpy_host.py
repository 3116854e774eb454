"""Numpy host code that calls kernels, as torch host code: its arrays are HostArrays while it runs.

Takes a host function and arrays; gives a HostTrace.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch

from lowering.capture.nki import kernel as kernels
from lowering.capture.nki.kernel import Kernel
from lowering.capture.nki.tracer import active
from lowering.capture.numpy_arrays import HostArray, made, unread
from lowering.capture.recorder import ReadBack
from lowering.capture.torch_arrays import tensor_of
from lowering.capture.torch_host import torch_session
from lowering.capture.torch_nki import kernels_run
from lowering.capture.trace import HostTrace
from lowering.capture.user_frames import is_user_file

_KEPT = ("asarray", "ascontiguousarray", "asanyarray", "array")
_MADE: dict[str, int | None] = {"zeros": 0, "empty": None, "ones": 1}  # what they are filled with


def capture_numpy_host(
    function: Callable[..., Any], given: Mapping[str, Any], target: str, version: str, read_back: ReadBack | None = None
) -> HostTrace:
    """One run; arrays among ``given``, by parameter, are its inputs.  Needs the NKI namespaces in place."""
    with torch_session() as session, kernels_run(session, target, version), _kernels_take_arrays():
        arguments = {name: _changed(value, np.ndarray, tensor_of) for name, value in given.items()}

        def called(**values: Any) -> Any:
            with _numpy():
                result = function(**{name: _changed(x, torch.Tensor, HostArray) for name, x in values.items()})
            return _changed(result, HostArray, lambda array: array.tensor)

        return session.capture(called, arguments, read_back=read_back)


def _changed(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, kind):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)(_changed(item, kind, change) for item in value)
    if type(value) is dict:
        return {key: _changed(item, kind, change) for key, item in value.items()}
    return value


@contextlib.contextmanager
def _kernels_take_arrays() -> Iterator[None]:
    """A kernel gets the tensors of HostArrays, and gives HostArrays back."""
    over_torch = kernels.HOSTS[-1]

    def run(kernel: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensors = _changed(args, HostArray, lambda array: array.tensor)
        named = _changed(kwargs, HostArray, lambda array: array.tensor)
        return _changed(over_torch(kernel, tensors, named), torch.Tensor, HostArray)

    kernels.HOSTS.append(run)
    try:
        yield
    finally:
        kernels.HOSTS.pop()


@contextlib.contextmanager
def _numpy() -> Iterator[None]:
    """np.asarray and the like keep a HostArray; np.zeros and the like make one, where the user's host code asks."""
    plain = {name: getattr(np, name) for name in (*_KEPT, *_MADE)}
    for name in _KEPT:
        setattr(np, name, _keeping(plain[name], copies=name == "array"))
    for name, value in _MADE.items():
        setattr(np, name, _making(plain[name], value))
    try:
        yield
    finally:
        for name, function in plain.items():
            setattr(np, name, function)


def _keeping(plain: Callable[..., Any], copies: bool) -> Callable[..., Any]:
    def keep(value: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(value, HostArray):
            return plain(value, dtype, *args, **kwargs)
        kept = value if dtype is None or np.dtype(dtype) == value.dtype else value.astype(dtype)
        if plain.__name__ == "ascontiguousarray":
            return HostArray(kept.tensor.contiguous())
        return kept.copy() if copies else kept

    return keep


def _making(plain: Callable[..., Any], value: int | None) -> Callable[..., Any]:
    def make(shape: Any, dtype: Any = float, *args: Any, **kwargs: Any) -> Any:
        if active() or not is_user_file(sys._getframe(1).f_code.co_filename):
            return plain(shape, dtype, *args, **kwargs)
        if args or kwargs:
            raise unread(f"np.{plain.__name__} with an order")
        return made(_sizes(shape), value, dtype)

    return make


def _sizes(shape: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in shape) if isinstance(shape, list | tuple) else (int(shape),)
