"""Runs the aten events of a trace again, on fresh memory, with torch's own ops: a trace must say what torch did.

Takes a HostTrace without launches; gives its outputs as CPU tensors.
"""

from __future__ import annotations

from typing import Any

import torch

from lowering.capture.trace import AtenCall, HostTrace, TensorRef


def _memory(trace: HostTrace) -> dict[int, torch.Tensor]:
    memory = {}
    for storage in trace.storages.values():
        if storage.data is None:
            memory[storage.id] = torch.full((storage.nbytes,), 0xA5, dtype=torch.uint8)
        else:
            memory[storage.id] = torch.from_numpy(storage.data.copy())
    return memory


class Replay:
    """``view`` gives the tensor that a ref stands for."""

    def __init__(self, trace: HostTrace) -> None:
        self.memory = _memory(trace)
        for event in trace.events:
            if isinstance(event, AtenCall):
                self._run(event)
        self.outputs = {name: self.view(ref).clone() for name, ref in trace.outputs}

    def view(self, ref: TensorRef) -> torch.Tensor:
        storage = self.memory[ref.storage].untyped_storage()
        empty = torch.empty(0, dtype=getattr(torch, ref.dtype))
        return empty.set_(storage, ref.offset, ref.shape, ref.strides)

    def _run(self, call: AtenCall) -> None:
        namespace, name, overload = call.op.split(".")
        op = getattr(getattr(getattr(torch.ops, namespace), name), overload)
        dtypes = {a.name for a in op._schema.arguments if "ScalarType" in str(a.real_type)}
        names = [a.name for a in op._schema.arguments]
        args = [self._value(value, names[i] in dtypes) for i, value in enumerate(call.args)]
        kwargs = {key: self._value(value, key in dtypes) for key, value in call.kwargs.items()}
        results = op(*args, **kwargs)
        results = list(results) if isinstance(results, tuple | list) else [results]
        for ref, result in zip(call.outputs, results, strict=True):
            self.view(ref).copy_(result)

    def _value(self, value: Any, is_dtype: bool) -> Any:
        if isinstance(value, TensorRef):
            return self.view(value)
        if isinstance(value, tuple):
            return [self._value(item, is_dtype) for item in value]
        return getattr(torch, value) if is_dtype and isinstance(value, str) else value
