"""The torch adapter: Triton, torch and KernelBench files, through lowering.capture.torch_host (worker only).

Takes callables and arguments as data; gives Captured.  The one place of the tool that touches torch objects.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from irverify._capture import Called, Captured, CaptureOptions, array_at, laid_out
from irverify.loading import Bound
from irverify.values import ArrayValue, Named, map_arrays
from lowering.capture.trace import AtenCall, HostRead, HostTrace, Launch, TensorRef
from lowering.errors import IrverifyError, UsageError

Shape = tuple[int, ...]
WEIGHT = "weight:"  # how the capture calls the parameters and buffers of a module
MAX_CONFIGURATIONS = 8  # of an autotuned kernel that are checked to lower, beside the one that is compared


class TorchAdapter:
    """Everything runs inside one session of the virtual GPU."""

    has_strides = True

    def __init__(self, options: CaptureOptions) -> None:
        self.options = options
        self.session_: Any = None
        self.torch: Any = None
        self.checked_configurations = False
        self.checked_state = False
        self.names: dict[str, str] = {}  # of this side's weights -> the other side's

    @contextmanager
    def session(self) -> Iterator[None]:
        import torch

        from lowering.capture.torch_host import torch_session

        self.torch = torch
        with torch_session(self.options.target) as self.session_:
            yield

    # -- values --------------------------------------------------------------------------------------------------

    def data_of(self, value: Any, path: str) -> Any:
        torch = self.torch
        if isinstance(value, torch.Tensor):
            return self._tensor_data(value)
        if isinstance(value, torch.dtype | torch.device):
            return Named(type(value).__name__, str(value).removeprefix("torch."))
        if isinstance(value, list | tuple):
            return type(value)(self.data_of(item, f"{path}[{i}]") for i, item in enumerate(value))
        if isinstance(value, dict):
            return {key: self.data_of(item, f"{path}[{key!r}]") for key, item in value.items()}
        return value

    def _tensor_data(self, tensor: Any) -> ArrayValue:
        from lowering.capture.torch_arrays import array_of

        plain = tensor.is_contiguous() and not tensor.storage_offset()
        layout = (None, 0) if plain else (tuple(tensor.stride()), tensor.storage_offset())
        return ArrayValue(array_of(_inner(tensor)), *layout)

    def _real(self, value: Any) -> Any:
        """Data as what user code expects: tensors on the device, dtypes, devices."""
        from lowering.capture.torch_arrays import tensor_of, unobserved

        def change(leaf: Any) -> Any:
            if isinstance(leaf, Named):
                return self.torch.device(leaf.name) if leaf.kind == "device" else getattr(self.torch, leaf.name)
            if leaf.strides is None:
                return tensor_of(np.array(leaf.data))
            with unobserved():
                return tensor_of(laid_out(leaf)).as_strided(leaf.data.shape, leaf.strides, leaf.offset)

        return map_arrays(value, change)

    def call_under_seed(self, function: Callable[..., Any], *args: Any) -> Any:
        random.seed(self.options.seed)
        np.random.seed(self.options.seed)
        self.torch.manual_seed(self.options.seed)
        return function(*self._real(args))

    # -- models --------------------------------------------------------------------------------------------------

    def is_model(self, entry: Any) -> bool:
        return isinstance(entry, type) and issubclass(entry, self.torch.nn.Module)

    def callable_of(self, entry: Any) -> Callable[..., Any]:
        is_function = isinstance(entry, type) and issubclass(entry, self.torch.autograd.Function)
        return entry.apply if is_function else entry

    def weights_of(self, model: Any) -> dict[str, Any]:
        return {name: self._tensor_data(tensor) for name, tensor in model.state_dict().items()}

    def set_weights(self, model: Any, weights: dict[str, Any]) -> list[str]:
        own = model.state_dict()
        self.names = pair_weights(
            {name: tuple(tensor.shape) for name, tensor in own.items()},
            {name: value.data.shape for name, value in weights.items()},
        )
        for name, tensor in own.items():
            self._overwrite(tensor, weights[self.names[name]])
        renamed = ", ".join(f"{theirs} to {name}" for name, theirs in self.names.items() if name != theirs)
        return [f"the weights of A were copied to B{', by position: ' if renamed else ''}{renamed}"] if own else []

    def _overwrite(self, tensor: Any, value: ArrayValue) -> None:
        from lowering.capture.torch_arrays import tensor_of, unobserved

        with unobserved(), self.torch.no_grad():
            _inner(tensor).copy_(tensor_of(value.data))

    # -- capture -------------------------------------------------------------------------------------------------

    def capture(self, function: Callable[..., Any], bound: Bound) -> Captured:
        config = int(self.options.config) if self.options.config.isdecimal() else None
        trace = self._trace(function, bound, config, call_again=not self.checked_state)
        captured = captured_trace(trace)
        if not self.checked_state:
            self.checked_state = True
            captured.second = self._second_call()
        if not self.checked_configurations and config is None:
            self.checked_configurations = True
            self._other_configurations(captured, function, bound, trace.configurations)
        return captured

    def capture_gradients(self, function: Callable[..., Any], bound: Bound, layout: str) -> Captured:
        config = int(self.options.config) if self.options.config.isdecimal() else None
        return captured_trace(self._trace(function, bound, config, cotangents=layout))

    def _trace(self, function: Callable[..., Any], bound: Bound, config: int | None, **options: Any) -> HostTrace:
        arguments: Any = self._real(bound.args)
        if bound.kwargs:
            arguments = dict(zip(bound.names, [*arguments, *self._real(tuple(bound.kwargs.values()))]))
        from irverify.readback import read_back

        trace = self.session_.capture(
            function, arguments, backward=self.options.backward, read_back=read_back, autotune_config=config,
            **options,
        )  # fmt: skip
        self._share_names(trace)
        return trace

    def _share_names(self, trace: HostTrace) -> None:
        trace.inputs[:] = [(self._shared(name), ref) for name, ref in trace.inputs]
        trace.outputs[:] = [(self._shared(name), ref) for name, ref in trace.outputs]

    def _second_call(self) -> Called | None:
        """What a second call showed, as KIR; a trace of both calls that cannot be lowered shows nothing."""
        second = self.session_.second
        if second is None:
            return None
        called = Called([*second.names], "", "", [*second.counted], second.differs, second.unseen)
        try:
            if second.first is not None:
                called.first, called.again = (lowered(trace) for trace in (second.first, second.again))
        except IrverifyError as error:
            called.unseen = str(error)
        return called

    def _shared(self, name: str) -> str:
        """'grad:weight:fc.bias' by the name that both sides use for the weight."""
        before, mark, weight = name.partition(WEIGHT)
        return f"{before}{mark}{self.names.get(weight, weight)}"

    def _other_configurations(self, captured: Captured, function: Any, bound: Bound, counts: dict[str, int]) -> None:
        """Every configuration must lower and give the same result: the parent compares them with the first.

        Those that do not fit on the device are none: an autotuner there does not choose them.
        """
        from lowering.capture.triton_sink import TooLarge

        for number in range(1, min(max(counts.values(), default=1), MAX_CONFIGURATIONS)):
            try:
                captured.configurations[number] = captured_trace(self._trace(function, bound, number)).kir
            except TooLarge:
                continue
            except IrverifyError as error:
                captured.broken_configurations[number] = f"does not lower: {error}"
            except Exception as error:
                captured.broken_configurations[number] = f"does not run: {type(error).__name__}: {error}"


def _inner(tensor: Any) -> Any:
    """The plain CPU tensor behind a virtual one."""
    from lowering.capture.torch_tensor import VirtualTensor

    return tensor.inner if isinstance(tensor, VirtualTensor) else tensor


def pair_weights(own: dict[str, Shape], given: dict[str, Shape]) -> dict[str, str]:
    """Own name -> given name: by name, the rest in order where their shapes agree.  Raises UsageError."""
    pairs = {name: name for name in own if name in given}
    rest_own, rest_given = [n for n in own if n not in given], [n for n in given if n not in own]
    alike = len(rest_own) == len(rest_given) and all(own[x] == given[y] for x, y in zip(rest_own, rest_given))
    resized = [name for name in pairs if own[name] != given[name]]
    if alike and not resized:
        return pairs | dict(zip(rest_own, rest_given))
    raise UsageError(
        "the two models do not have the same weights, so they cannot be made equal: "
        f"only in A: {sorted(rest_given) or 'none'}; only in B: {sorted(rest_own) or 'none'}; "
        f"other shape: {resized or 'none'}. "
        "Give both the same parameter names (other names are paired in order, where the shapes agree), "
        "or compare functions that take the weights as arguments"
    )


def lowered(trace: HostTrace) -> str:
    """A trace as printed KIR."""
    from lowering.ir.printer import print_program
    from lowering.pipeline import lower

    return print_program(lower(trace))


def captured_trace(trace: HostTrace) -> Captured:
    """A trace as KIR, with everything the parent wants to know about it."""
    launches = [event for event in trace.events if isinstance(event, Launch)]
    trace.outputs += returned_and_written(trace)
    return Captured(
        kir=lowered(trace),
        inputs={name: array_at(trace, ref) for name, ref in trace.inputs},
        outputs=[(name, ref.dtype, ref.shape) for name, ref in trace.outputs],
        kernels=list(dict.fromkeys(launch.kernel for launch in launches)),
        notes=list(trace.notes),
        views={name: (ref.strides, ref.offset) for name, ref in trace.inputs},
        checks_shapes=not launches,
        sources={"aten": aten_text(trace)} | ({"ttir": ttir_text(launches)} if launches else {}),
    )


def returned_and_written(trace: HostTrace) -> list[tuple[str, TensorRef]]:
    """Arguments that were updated in place and then returned: capture lists them once, but the update is an effect."""
    from lowering.capture.torch_outputs import written_storages

    written = {storage for event in trace.events for storage in written_storages(event)}
    listed = {name for name, _ in trace.outputs}
    names = [(f"written:{name}", ref) for name, ref in trace.inputs if ref.storage in written]
    return [(name, ref) for name, ref in names if name not in listed]


def ttir_text(launches: list[Launch]) -> str:
    """Every distinct kernel once, under a line for each of its launches."""
    by_text: dict[str, list[Launch]] = {}
    for launch in launches:
        by_text.setdefault(launch.ttir, []).append(launch)
    parts = []
    for text, group in by_text.items():
        heads = [f"// {launch.kernel}[{launch.grid}] at {launch.span} {launch.options}" for launch in group]
        parts.append("\n".join([*heads, text.rstrip(), ""]))
    return "\n".join(parts)


def aten_text(trace: HostTrace) -> str:
    """The recorded events, one a line."""
    return "".join(f"{_event_text(event)}\n" for event in trace.events)


def _event_text(event: AtenCall | Launch | HostRead) -> str:
    match event:
        case AtenCall():
            arguments = [_plain(a) for a in event.args] + [f"{k}={_plain(v)}" for k, v in event.kwargs.items()]
            return f"{_plain(event.outputs)} = {event.op}({', '.join(arguments)})  # {event.span}"
        case Launch():
            return f"launch {event.kernel}{event.grid}({', '.join(arg.name for arg in event.args)})  # {event.span}"
    return f"read {_plain(event.tensor)}  # {event.span}"


def _plain(value: Any) -> str:
    if isinstance(value, tuple | list):
        return "(" + ", ".join(_plain(item) for item in value) + ")"
    if hasattr(value, "storage"):
        return f"s{value.storage}:{value.dtype}{list(value.shape)}"
    return repr(value)
