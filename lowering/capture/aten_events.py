"""One ATen op as an event: which tensors it wrote, its name without side effects, its arguments as plain data.

Takes ops and CPU tensors; gives what AtenCall holds.  Must not know about dispatch or devices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_iter

from lowering.capture import aten_policy as policy
from lowering.capture.recorder import Recorder
from lowering.capture.torch_arrays import dtype_name
from lowering.capture.trace import TensorRef


def written_tensors(func: Any, args: Any, kwargs: Any, result: Any) -> list[torch.Tensor]:
    """The tensors the op wrote: its own results, then those its schema marks as written (as functional variants do)."""
    results = [leaf for leaf in tree_iter(result) if isinstance(leaf, torch.Tensor)]
    if not func._schema.is_mutable:
        return results
    names = [argument.name for argument in func._schema.arguments]
    given = {**dict(zip(names, args)), **kwargs}
    written = [given.get(name) for name in policy.written_arguments(func)]
    outputs = [leaf for leaf in tree_iter(written) if isinstance(leaf, torch.Tensor)]
    return [leaf for leaf in results if all(leaf is not output for output in outputs)] + outputs


def functional_form(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """Name and arguments of the op without side effects that computes what ``func`` writes."""
    name = policy.packet_name(func)
    if name in policy.RENAMED:
        packet, overload, extra = policy.RENAMED[name]
        return f"{packet}.{overload}", args + extra, kwargs
    variant = policy.functional_variant(func) if func._schema.is_mutable else None
    if variant is None:
        return _without_generator(str(func)), args, kwargs
    outs = {a.name for a in func._schema.arguments if a.is_out}
    return str(variant), args, {name: value for name, value in kwargs.items() if name not in outs}


def _without_generator(name: str) -> str:
    """aten.randn.default for aten.randn.generator: generators are not recorded."""
    if name.endswith(".generator"):
        return name.removesuffix("generator") + "default"
    return name.removesuffix("_generator")


def references_in(args: Any, kwargs: Any) -> Iterator[TensorRef]:
    for leaf in tree_iter((args, kwargs)):
        if isinstance(leaf, TensorRef):
            yield leaf


def as_data(value: Any, recorder: Recorder) -> Any:
    """Arguments without framework objects: refs for tensors, names for dtypes, tuples for lists."""
    if isinstance(value, torch.Tensor):
        return recorder.ref(value)
    if isinstance(value, torch.dtype):
        return dtype_name(value)
    if isinstance(value, list | tuple):
        return tuple(as_data(item, recorder) for item in value)
    if isinstance(value, dict):
        return {name: as_data(item, recorder) for name, item in value.items()}
    if isinstance(value, torch.device | torch.layout | torch.memory_format | torch.Generator):
        return None
    return value
