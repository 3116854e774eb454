"""Conversion between CPU torch tensors and numpy arrays, byte by byte (bf16 and fp8 are ml_dtypes on the numpy side).

Takes and gives tensors or arrays; must not know of virtual tensors, traces or capture.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator

import ml_dtypes
import numpy as np
import torch

from lowering.errors import UsageError

_EXOTIC: dict[torch.dtype, type] = {
    torch.bfloat16: ml_dtypes.bfloat16,
    torch.float8_e4m3fn: ml_dtypes.float8_e4m3fn,
    torch.float8_e5m2: ml_dtypes.float8_e5m2,
    torch.float8_e4m3fnuz: ml_dtypes.float8_e4m3fnuz,
    torch.float8_e5m2fnuz: ml_dtypes.float8_e5m2fnuz,
}
if hasattr(torch, "float8_e8m0fnu"):
    _EXOTIC[torch.float8_e8m0fnu] = ml_dtypes.float8_e8m0fnu
_TORCH_OF = {np.dtype(scalar): dtype for dtype, scalar in _EXOTIC.items()}
_CARRIER = {1: torch.uint8, 2: torch.int16}


@contextlib.contextmanager
def unobserved() -> Iterator[None]:
    """For capture's own arithmetic: torch as if no mode were active."""
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        yield


def dtype_name(dtype: torch.dtype) -> str:
    """'float32' for torch.float32."""
    return str(dtype).removeprefix("torch.")


@unobserved()
def array_of(tensor: torch.Tensor) -> np.ndarray:
    """A numpy copy of a CPU tensor's values, in its logical shape."""
    tensor = tensor.detach().contiguous().clone()
    if tensor.dtype not in _EXOTIC:
        return tensor.numpy()
    return tensor.view(_CARRIER[tensor.itemsize]).numpy().view(_EXOTIC[tensor.dtype])


@unobserved()
def tensor_of(array: np.ndarray) -> torch.Tensor:
    """A CPU tensor with the array's values and (non-negative) strides."""
    array = np.asarray(array)
    dtype = _TORCH_OF.get(array.dtype)
    if any(stride < 0 for stride in array.strides) or not array.flags.writeable:
        array = array.copy()
    if dtype is None and array.dtype.isbuiltin != 1:
        known = ", ".join(dtype_name(d) for d in _EXOTIC)
        raise UsageError(f"torch has no dtype {array.dtype.name}; beside numpy's own it has {known}")
    if dtype is None:
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(np.uint8 if array.itemsize == 1 else np.int16)).view(dtype)


def storage_bytes(storage: torch.UntypedStorage) -> np.ndarray:
    """A copy of a CPU storage's raw bytes."""
    size = storage.nbytes()
    if size == 0:
        return np.zeros(0, np.uint8)
    return np.frombuffer(ctypes.string_at(storage.data_ptr(), size), np.uint8).copy()
