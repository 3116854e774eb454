"""Tables that the captured call makes of no input on the virtual device: the bytes that torch computes for them.

Takes the ops of one capture; says which of them need no event: what they make enters as data where it is used.  Tables
made on the CPU are data by themselves.  One of whole numbers (positions) or of one number only (zeros) is what its ops
say: no rounding is in it, and kernels compute such as they go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.utils._pytree import tree_iter

from lowering.capture import aten_policy as policy
from lowering.capture.aten_events import written_tensors
from lowering.capture.recorder import Recorder
from lowering.capture.torch_tensor import VirtualTensor

_OPEN = frozenset(f"aten.{name}" for name in ("pow", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos"))
_LARGEST, _MOST = 1 << 20, 1 << 24  # elements of a table, and of all that are kept


class DeviceTables:
    """Of one recorder."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._tables: dict[int, torch.Tensor] = {}  # by storage; kept alive, so that an address names one
        self._data: set[int] = set()  # those of them that no event has made
        self._kept = 0

    def makes(self, func: Any, args: Any, kwargs: Any, result: Any) -> bool:
        """Whether the op, which has run, made a table that enters as data."""
        if func._schema.is_mutable:
            self.written(_key(tensor) for tensor in written_tensors(func, args, kwargs, result))
            return False
        if policy.packet_name(func) not in policy.TABLE_OPS or not self._fits(result):
            return False
        given = [leaf for leaf in tree_iter((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        if not all(self._is_table(tensor) for tensor in given):
            return False
        self._kept += result.numel()
        self._tables[_key(result)] = result
        rounded = policy.packet_name(func) in _OPEN or _has_fractions(result)
        rounded = rounded and result.is_floating_point()
        data = rounded or any(_key(tensor) in self._data for tensor in given)
        if data:
            self._data.add(_key(result))
        return data

    def written(self, storages: Iterable[int]) -> None:
        """What was written to is no table any more."""
        for key in storages:
            self._tables.pop(key, None)
            self._data.discard(key)

    def _fits(self, result: Any) -> bool:
        if not isinstance(result, torch.Tensor) or result.layout is not torch.strided:
            return False
        return 0 < result.numel() <= _LARGEST and self._kept + result.numel() <= _MOST

    def _is_table(self, tensor: torch.Tensor) -> bool:
        """Made by an op of tables; or a plain tensor that neither depends on an input nor was left untrue."""
        if _key(tensor) in self._tables:
            return True
        plain = not isinstance(tensor, VirtualTensor) and not self.recorder.is_symbolic(tensor)
        return plain and _key(tensor) not in self.recorder.stale


def _has_fractions(table: torch.Tensor) -> bool:
    """Of more than one number, where it has more than one element."""
    if not table.is_floating_point() or bool((table.trunc() == table).all()):
        return False
    return table.numel() == 1 or not bool((table == table.flatten()[0]).all())


def _key(tensor: torch.Tensor) -> int:
    inner = tensor.inner if isinstance(tensor, VirtualTensor) else tensor
    return inner.untyped_storage()._cdata
