"""The torch adapter: Triton, torch and KernelBench files, through lowering.capture.torch_host (worker only).

Takes callables and arguments as data; gives Captured.  The one place of the tool that touches torch objects.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from irverify._capture import Called, Captured, CaptureOptions, Interleaved, Refilled, Tuned, array_at, laid_out
from irverify.loading import Bound
from irverify.values import ArrayValue, Named, arrays_in, map_arrays
from irverify.weights import KEPT, WEIGHT, Weights, drawn, share
from lowering.capture.trace import AtenCall, HostRead, HostTrace, KernelRun, Launch, TensorRef
from lowering.errors import IrverifyError

SMALL = 1 << 16  # input elements up to which a function is called again with refilled arguments
MAX_CONFIGURATIONS = 8  # of an autotuned kernel that are checked to lower, beside the one that is compared


class TorchAdapter:
    """Everything runs inside one session of the virtual GPU."""

    has_strides = True

    def __init__(self, options: CaptureOptions) -> None:
        self.options = options
        self.session_: Any = None
        self.torch: Any = None
        self.checked_configurations = False
        self.checked_state = self.checked_refilling = self.checked_trials = False
        self.names: dict[str, str] = {}  # of this side's weights -> the other side's
        self.own: list[str] = []  # float buffers that have this side's values
        self.others: list[str] = []  # buffers of the other side that this side's do not stand for
        self.drawn: tuple[str, ...] | None = None  # buffers that the model's constructor draws, once that is known

    @contextmanager
    def session(self) -> Iterator[None]:
        import torch

        from lowering.capture.torch_host import torch_session

        self.torch = torch
        with torch_session(self.options.target) as self.session_:
            self.session_.dispatcher.formulas = self.options.formulas
            yield

    @property
    def asks_for_multiprocessors(self) -> bool:
        return self.session_.gpu.shown.asked

    def show_multiprocessors(self, number: int | None) -> None:
        self.session_.gpu.shown.number = number

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

    def call_under_seed(self, function: Callable[..., Any], *args: Any, seed: int | None = None) -> Any:
        seed = self.options.seed if seed is None else seed
        random.seed(seed)
        np.random.seed(seed)
        self.torch.manual_seed(seed)
        return function(*self._real(args))

    def shapes_of(self, make: Callable[[], Any]) -> list[tuple[int, ...]]:
        try:  # the session's own mode would make data for what is on a device
            with self.torch.device("meta"), self.torch._C._DisableTorchDispatch():
                made = make()
        except Exception:  # the user's code needs data, or names a device; it is run for good where that shows
            return []
        if isinstance(made, self.torch.nn.Module):
            return [tuple(t.shape) for t in (*made.parameters(), *made.buffers())]
        leaves = self.torch.utils._pytree.tree_leaves(made)
        return [tuple(leaf.shape) for leaf in leaves if isinstance(leaf, self.torch.Tensor)]

    # -- models --------------------------------------------------------------------------------------------------

    def is_model(self, entry: Any) -> bool:
        return isinstance(entry, type) and issubclass(entry, self.torch.nn.Module)

    def callable_of(self, entry: Any) -> Callable[..., Any]:
        is_function = isinstance(entry, type) and issubclass(entry, self.torch.autograd.Function)
        return entry.apply if is_function else entry

    def weights_of(self, model: Any, again: Callable[[], Any]) -> dict[str, Any]:
        made = self._weights(model)
        if self.drawn is None:
            self.drawn = self._drawn(made, again) if made.computed else ()
        return Weights(made.arrays, made.buffers, self.drawn).to_data()

    def _weights(self, model: Any) -> Weights:
        """Parameters and buffers, also those that no state_dict has; a parameter that is not trained is a buffer."""
        buffers = dict(model.named_buffers(remove_duplicate=False))
        named = model.state_dict() | buffers
        frozen = [name for name, x in model.named_parameters(remove_duplicate=False) if not x.requires_grad]
        arrays = {name: self._tensor_data(x) for name, x in named.items() if isinstance(x, self.torch.Tensor)}
        return Weights(arrays, tuple([name for name in frozen if name in arrays] + list(buffers)))

    def _drawn(self, made: Weights, again: Callable[[], Any]) -> tuple[str, ...]:
        """Which buffers come out otherwise under another seed; every generator is left as it was."""
        plain, numpy = random.getstate(), np.random.get_state()
        with self.torch.random.fork_rng(devices=[]):
            try:
                return drawn(made, self._weights(again()))
            finally:
                random.setstate(plain)
                np.random.set_state(numpy)

    def set_weights(self, model: Any, weights: dict[str, Any]) -> list[str]:
        own = self._weights(model)
        found = share(own, Weights.from_data(weights))
        tensors = model.state_dict() | dict(model.named_buffers(remove_duplicate=False))
        for name in found.copied:
            self._overwrite(tensors[name], weights["arrays"][found.names[name]])
        unshared = {name: f"{KEPT.removeprefix(WEIGHT)}{name}" for name in found.own}
        self.names, self.others = found.names | unshared, found.others
        self.own = [name for name in found.own if tensors[name].is_floating_point()]
        return found.notes(own.buffers)

    def _overwrite(self, tensor: Any, value: ArrayValue) -> None:
        from lowering.capture.torch_arrays import tensor_of, unobserved

        with unobserved(), self.torch.no_grad():
            _inner(tensor).copy_(tensor_of(value.data))

    # -- capture -------------------------------------------------------------------------------------------------

    def capture(self, function: Callable[..., Any], bound: Bound) -> Captured:
        config = int(self.options.config) if self.options.config.isdecimal() else None
        derived = [*self.own, *self._plain_tensors(function)]  # before a call can add to them
        refill = not self.checked_refilling and _elements(bound) <= SMALL
        trace = self._trace(function, bound, config, call_again=not self.checked_state, refill=refill)
        captured = captured_trace(trace)
        captured.others, captured.derived = self.others, derived
        if not self.checked_state:
            self.checked_state = True
            captured.second = self._second_call()
        if refill:
            self.checked_refilling = True
            captured.refilled = self._refilled_call()
            captured.interleaved = self._interleaved_calls()
        if not self.checked_trials:
            self.checked_trials = True
            captured.tuned = _tuned(trace)
        if not self.checked_configurations and config is None:
            self.checked_configurations = True
            self._other_configurations(captured, function, bound, trace.configurations)
        return captured

    def _plain_tensors(self, function: Any) -> list[str]:
        from lowering.capture.torch_state import plain_tensors

        return plain_tensors(function) if isinstance(function, self.torch.nn.Module) else []

    def capture_gradients(self, function: Callable[..., Any], bound: Bound, layout: str) -> Captured:
        config = int(self.options.config) if self.options.config.isdecimal() else None
        captured = captured_trace(self._trace(function, bound, config, cotangents=layout))
        captured.others = self.others
        return captured

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
        called.overwritten, called.reused, called.carried = [*second.overwritten], [*second.reused], [*second.carried]
        try:
            if second.first is not None:
                called.first, called.again = (lowered(trace) for trace in (second.first, second.again))
        except IrverifyError as error:
            called.unseen = str(error)
        return called

    def _refilled_call(self) -> Refilled | None:
        seen = self.session_.refilled
        if seen is None:
            return None
        unseen, texts = seen.unseen, list[str]()
        try:
            texts = [lowered(trace) for trace in (seen.again, seen.fresh) if trace is not None]
        except IrverifyError as error:
            unseen = str(error)
        return Refilled(*texts, overwritten=[*seen.overwritten], unseen=unseen)

    def _interleaved_calls(self) -> Interleaved | None:
        seen = self.session_.interleaved
        if seen is None:
            return None
        try:
            texts = [lowered(trace) for trace in (seen.alone, seen.between) if trace is not None]
        except IrverifyError as error:
            return Interleaved(unseen=str(error))
        return Interleaved(*texts, unseen=seen.unseen)

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


def _tuned(trace: HostTrace) -> Tuned | None:
    """The run as an autotuner makes it that tries a configuration first."""
    if not trace.tuned:
        return None
    begun, events = {update.event: update.begun for update in trace.tuned}, list[Any]()
    for number, event in enumerate(trace.events):
        events += [event, *(trace.events[begun[number] : number + 1] if number in begun else ())]
    launches = [(u.kernel, ", ".join(u.arguments), u.span.file, u.span.line) for u in trace.tuned]
    try:
        return Tuned(lowered(replace(trace, events=events, races={})), launches)
    except IrverifyError:
        return Tuned("", launches)


def _elements(bound: Bound) -> int:
    return sum(array.data.size for array in arrays_in([*bound.args, *bound.kwargs.values()]))


def _inner(tensor: Any) -> Any:
    """The plain CPU tensor behind a virtual one."""
    from lowering.capture.torch_tensor import VirtualTensor

    return tensor.inner if isinstance(tensor, VirtualTensor) else tensor


def lowered(trace: HostTrace) -> str:
    """A trace as printed KIR."""
    from lowering.ir.printer import print_program
    from lowering.pipeline import lower

    return print_program(lower(trace))


def captured_trace(trace: HostTrace) -> Captured:
    """A trace as KIR, with everything the parent wants to know about it."""
    launches = [event for event in trace.events if isinstance(event, Launch)]
    runs = [event.run for event in trace.events if isinstance(event, KernelRun)]
    trace.outputs += returned_and_written(trace)
    return Captured(
        kir=lowered(trace),
        inputs={name: array_at(trace, ref) for name, ref in trace.inputs},
        outputs=[(name, ref.dtype, ref.shape) for name, ref in trace.outputs],
        kernels=list(dict.fromkeys([launch.kernel for launch in launches] + [run.kernel for run in runs])),
        notes=list(trace.notes),
        views={name: (ref.strides, ref.offset) for name, ref in trace.inputs},
        checks_shapes=not launches and all(run.checks_shapes for run in runs),
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
