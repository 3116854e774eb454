"""NKI kernels that torch host code calls: each call is traced at once, and is one event of the host's trace.

Takes a kernel and the arguments of a call; gives new tensors.  Where the kernel's values are, only the trace knows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from lowering.capture.nki.host import capture_call
from lowering.capture.nki.kernel import HOSTS, Kernel
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import NkiTrace
from lowering.capture.recorder import Recorder
from lowering.capture.torch_arrays import array_of, dtype_name, unobserved
from lowering.capture.torch_session import TorchSession
from lowering.capture.torch_tensor import CUDA, VirtualTensor
from lowering.capture.trace import KernelRun, TensorRef
from lowering.errors import Unsupported, UsageError


@contextlib.contextmanager
def kernels_run(session: TorchSession, target: str, version: str) -> Iterator[None]:
    """Inside, a kernel that host code calls under the session is an event of its trace."""
    HOSTS.append(lambda kernel, args, kwargs: _Call(session, target, version).run(kernel, args, kwargs))
    try:
        yield
    finally:
        HOSTS.pop()


class _Call:
    """One call; ``given``: the tensors among its arguments, by the name that the kernel's trace has for them."""

    def __init__(self, session: TorchSession, target: str, version: str) -> None:
        self.session, self.target, self.version = session, target, version
        self.given: dict[str, torch.Tensor] = {}

    def run(self, kernel: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        recorder = self.session.recorder
        if recorder is None:
            name = kernel.function.__name__
            raise UsageError(f"{self.session.span()}: {name} is called outside of the function compared")
        names = [*(f"arg{number}" for number in range(len(args))), *kwargs]
        values = [self._as_array(name, value) for name, value in zip(names, [*args, *kwargs.values()], strict=True)]
        named = dict(zip(names[len(args) :], values[len(args) :], strict=True))
        trace, result = capture_call(kernel, values[: len(args)], named, names, self.target, self.version)
        self._enter(recorder, trace)
        made = iter(self.made)
        return _in_place_of_tiles(result, lambda: next(made))

    def _as_array(self, name: str, value: Any) -> Any:
        """Tensors as arrays, those in lists, tuples and dicts too; dtypes by their names."""
        if isinstance(value, torch.Tensor):
            self.given[name] = inner = _inner(value)
            return array_of(inner)
        if isinstance(value, torch.dtype):
            return dtype_name(value)
        if type(value) in (list, tuple):
            return type(value)(self._as_array(f"{name}.{i}", item) for i, item in enumerate(value))
        if type(value) is dict:
            return {key: self._as_array(f"{name}.{key}", item) for key, item in value.items()}
        return value

    def _enter(self, recorder: Recorder, trace: NkiTrace) -> None:
        """The event, and the tensors that it makes."""
        self.made: list[torch.Tensor] = []
        outputs, written = list[TensorRef](), list[torch.Tensor]()
        for name, ref in [*trace.outputs, *_also_written(trace)]:
            before, _, argument = name.partition(":")
            tensor = self.given[argument] if before == "written" else _new(ref)
            outputs.append(recorder.ref(tensor, "data" if before == "written" else "empty"))
            (written if before == "written" else self.made).append(tensor)
        trace.outputs += _also_written(trace)
        inputs = tuple(recorder.ref(self.given[name]) for name, _ in trace.inputs)
        named = {"digest": _digest(trace)}
        event = KernelRun(f"nki.{trace.kernel}", inputs, named, tuple(outputs), self.session.span(), run=trace)
        recorder.aten(event, inputs, untrue=True)
        self.session.dispatcher.written_by_launch(tensor.untyped_storage()._cdata for tensor in written)


def _inner(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.inner if isinstance(tensor, VirtualTensor) else tensor.detach()


@unobserved()
def _new(ref: TensorRef) -> torch.Tensor:
    kind = getattr(torch, ref.dtype, None)
    if not isinstance(kind, torch.dtype):
        raise Unsupported(f"a kernel that gives torch a tensor of dtype {ref.dtype}")
    return torch.empty(ref.shape, dtype=kind)


def _also_written(trace: NkiTrace) -> list[tuple[str, TensorRef]]:
    """Inputs that the kernel writes to and that the trace does not list as written, since it returns them."""
    listed = {name for name, _ in trace.outputs}
    returned = {ref.storage for _, ref in trace.outputs}
    written = [(f"written:{name}", ref) for name, ref in trace.inputs if ref.storage in returned]
    return [(name, ref) for name, ref in written if name not in listed]


def _in_place_of_tiles(result: Any, made: Callable[[], torch.Tensor]) -> Any:
    if isinstance(result, Tile):
        return VirtualTensor(made(), CUDA)
    if isinstance(result, list | tuple):
        return type(result)(_in_place_of_tiles(item, made) for item in result)
    return result


def _digest(trace: NkiTrace) -> str:
    from lowering.nki_program import digest

    return digest(trace)
