"""The session: virtual device, modes and Triton driver in place together, one recorder per capture.

Takes a VirtualGpu, host functions and arguments; gives HostTraces.  Loaded only when something is captured.
"""

from __future__ import annotations

import contextlib
import importlib.util
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from lowering.capture import torch_cuda, torch_host, torch_interleaved, torch_library, torch_tensor
from lowering.capture.draws import UNSEEDED, Streams, python_generators
from lowering.capture.recorder import ReadBack, Recorder
from lowering.capture.stream_races import races
from lowering.capture.torch_attributes import Attributes
from lowering.capture.torch_containers import Contents, enter_changes
from lowering.capture.torch_dispatch import Dispatcher, MixedDevices
from lowering.capture.torch_functions import FunctionMode
from lowering.capture.torch_global import Settings, kept_settings
from lowering.capture.torch_inputs import InputPlacer, modules_of, named_arguments
from lowering.capture.torch_interleaved import Interleaved
from lowering.capture.torch_outputs import (
    DENSE,
    CotangentLayout,
    enter_gradients,
    enter_outputs,
    enter_written_inputs,
    on_the_host,
    written_storages,
)
from lowering.capture.torch_precision import ieee_convolutions
from lowering.capture.torch_refilled import Refilled, look
from lowering.capture.torch_second import SecondCall, Watch, copied
from lowering.capture.torch_tensor import CPU, CUDA, VirtualTensor
from lowering.capture.trace import HostTrace, KernelArg, Launch, PointerArg, TunedUpdate
from lowering.capture.virtual_gpu import VirtualGpu
from lowering.errors import Span

HAS_TRITON = importlib.util.find_spec("triton") is not None


class TorchSession:
    """Use as a context manager; several captures may follow each other."""

    def __init__(self, gpu: VirtualGpu) -> None:
        self.gpu = gpu
        self.dispatcher = Dispatcher()
        self.chooser: Any = None
        self.second: SecondCall | None = None  # of the last capture that asked for one
        self.refilled: Refilled | None = None
        self.interleaved: Interleaved | None = None
        self._stack = contextlib.ExitStack()
        self._stale: list[torch.UntypedStorage] = []

    def __enter__(self) -> TorchSession:
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch_cuda.installed(self.gpu, lambda: self.dispatcher.streams))
            stack.enter_context(_lift_on_cpu())
            stack.enter_context(ieee_convolutions())
            torch_tensor._dispatchers.append(self.dispatcher)
            stack.callback(torch_tensor._dispatchers.pop)
            stack.callback(torch_library.install(self.dispatcher.user_kernels))
            if HAS_TRITON:
                self._install_triton(stack)
            stack.enter_context(FunctionMode(self.dispatcher))
            stack.enter_context(self.dispatcher.mode)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._stack.close()

    def _install_triton(self, stack: contextlib.ExitStack) -> None:
        from lowering.capture import block_pointers, triton_autotune, triton_driver, triton_sink

        warnings.filterwarnings("ignore", message="TRITON_DEFAULT_FP_FUSION")  # the choice is in Launch.options
        self.chooser = triton_autotune.Chooser(now=lambda: len(self.recorder.trace.events) if self.recorder else 0)
        triton_sink.push(self)
        stack.callback(triton_sink.pop)
        stack.callback(triton_driver.install())
        stack.callback(triton_autotune.install(lambda: self.chooser, self.benchmark))
        stack.callback(block_pointers.install())

    # -- the public part -----------------------------------------------------------------------------------------

    def import_file(self, path: str | Path) -> ModuleType:
        """Imports the user's file with the virtual device in place."""
        return torch_host.import_file(path)

    def capture(
        self,
        fn: Callable[..., Any],
        args: Any,
        *,
        backward: bool = False,
        read_back: ReadBack | None = None,
        autotune_config: int | None = None,
        call_again: bool = False,
        refill: bool = False,
        cotangents: CotangentLayout = DENSE,
    ) -> HostTrace:
        """Runs ``fn`` once; if it mixes in CPU tensors of its own, again with inputs that stay on the CPU.

        ``call_again``: a second call follows where the first has left state behind; ``second`` is what came of it.
        ``refill``: another follows with other values in the same tensors; ``refilled`` says what was seen, and before
        a backward pass one with other tensors: ``interleaved``.
        """
        self.second = self.refilled = self.interleaved = None
        options = (backward, read_back, autotune_config, call_again, refill, cotangents)
        try:
            return self._capture(fn, args, CUDA, *options)
        except MixedDevices as mixed:
            try:
                return self._capture(fn, args, CPU, *options)
            except (MixedDevices, CpuPointer):
                raise mixed from None

    def _capture(
        self, fn: Any, args: Any, claim: torch.device, backward: bool, read_back: ReadBack | None, config: int | None,
        call_again: bool, refill: bool, cotangents: CotangentLayout,
    ) -> HostTrace:  # fmt: skip
        recorder = self._recorder(read_back)
        placer = InputPlacer(recorder, claim, backward)
        with (
            torch.random.fork_rng(devices=[]),
            self._recording(recorder, config),
            kept_settings(),
            contextlib.ExitStack() as stack,
        ):
            torch.manual_seed(UNSEEDED)
            self.dispatcher.streams = Streams()
            with python_generators() as used, torch.set_grad_enabled(True):
                values, call = named_arguments(fn, args)
                values = placer.arguments(values)
                contents = Contents(values)
                modules = modules_of(fn, values)
                for prefix, module in modules:
                    stack.enter_context(placer.placed_module(module, prefix))
                looks = call_again or refill
                attributes = Attributes(modules)
                watch = Watch(fn, [module for _, module in modules], recorder, placer, contents) if looks else None
                settings = Settings(self.dispatcher.streams)
                result = run_captured(call, values)
                outputs = enter_outputs(recorder, result)
                recorder.trace.faults += on_the_host(outputs) if claim is CUDA else ()
                ended = len(recorder.trace.events)
                if backward:
                    enter_gradients(recorder, placer, outputs, run_captured, cotangents)
                passed = ended, len(recorder.trace.events)
                enter_written_inputs(recorder, placer)
                enter_changes(recorder, contents)
                attributes.enter(recorder)
                recorder.trace.faults += settings.faults()
            recorder.trace.races = races(recorder.trace, recorder.order, recorder.clocks.tick())
            recorder.trace.host_draws += [*used, *self.dispatcher.streams.asked]
            self._note_configurations(recorder)
            if watch is None:
                return recorder.trace
            trace = copied(recorder.trace)
            with python_generators(), torch.set_grad_enabled(True):
                again = partial(run_captured, call)
                if call_again:
                    self.second = watch.after(outputs, partial(again, values))
                quiet = refill and (self.second is None or self.second.shows_nothing)
                if quiet and backward:
                    why = watch.why_not()
                    self.interleaved = (
                        Interleaved(unseen=why)
                        if why
                        else torch_interleaved.look(recorder, placer, values, again, run_captured, trace, passed)
                    )
                if quiet and not watch.why_not(writes=True):
                    first = outputs if self.second is None else {}  # else it has told of these
                    self.refilled = look(recorder, values, first, again, ended)
        return trace

    def _recorder(self, read_back: ReadBack | None) -> Recorder:
        """A trace of its own for a capture that begins."""
        stale = frozenset(storage._cdata for storage in self._stale)
        self.dispatcher.clocks.begin()
        self.dispatcher.host_copies.begin()
        return Recorder(self.gpu.target, read_back, stale, self.dispatcher.clocks)

    @contextlib.contextmanager
    def _recording(self, recorder: Recorder, config: int | None) -> Iterator[None]:
        from dataclasses import replace

        if self.chooser is not None:
            self.chooser = replace(self.chooser, forced=config, counts={}, running=[], candidates={}, tuned=set())
        self.dispatcher.recorder = recorder
        try:
            yield
        finally:
            self.dispatcher.recorder = None
            self._stale.extend(recorder.tainted_storages())

    def _note_configurations(self, recorder: Recorder) -> None:
        for event in recorder.trace.events:
            if isinstance(event, Launch) and event.config:
                recorder.note(f"kernel {event.kernel} runs with autotuner {event.config}")
        if self.chooser is not None:
            recorder.trace.configurations.update(self.chooser.counts)

    # -- what the Triton driver asks for -------------------------------------------------------------------------

    @property
    def recorder(self) -> Recorder | None:
        return self.dispatcher.recorder

    def span(self) -> Span:
        return self.dispatcher.span()

    def pointer(self, tensor: Any, name: str) -> PointerArg:
        """The memory behind a kernel's pointer argument ``name``."""
        while not isinstance(tensor, torch.Tensor) and hasattr(tensor, "base"):  # triton.reinterpret
            tensor = tensor.base
        assert self.recorder is not None
        if isinstance(tensor, VirtualTensor) and tensor.is_cuda:
            return self.recorder.pointer(tensor.inner)
        found = None if isinstance(tensor, torch.Tensor) else self.recorder.pointer_at(tensor.data_ptr(), tensor.dtype)
        if found is None:
            what = "Pointer argument cannot be accessed from Triton (cpu tensor?)"
            raise CpuPointer(f"{what}: {self._made(tensor, name)}")
        return found

    def _made(self, tensor: Any, name: str) -> str:
        """In words: which argument is no cuda tensor, and where it comes from."""
        plain = tensor.inner if isinstance(tensor, VirtualTensor) else tensor
        made = self.dispatcher.made_at(plain) if isinstance(plain, torch.Tensor) else None
        if made is not None:
            return f"`{name}` was made without device= at line {made.line} of {Path(made.file).name}"
        return f"`{name}` is on the CPU; move it to the device of the other arguments"

    def updates(self, kernel: str, arguments: Sequence[KernelArg], updated: Sequence[int]) -> None:
        """An autotuner's trial runs update arguments too, unless it is told to put them back."""
        kept = self.chooser.put_back()
        if kept is None or self.recorder is None:
            return
        back = {_storage(argument) for argument in arguments if argument.name.split(".")[0] in kept}
        names = tuple(arguments[i].name for i in updated if _storage(arguments[i]) not in back)
        if names:
            trace = self.recorder.trace
            trace.tuned.append(TunedUpdate(self.chooser.begun, len(trace.events), kernel, names, self.span()))

    def launch(self, launch: Launch) -> None:
        assert self.recorder is not None
        self.recorder.launch(launch)
        written = written_storages(self.recorder.trace.events[-1])
        self.dispatcher.written_by_launch(self.recorder.key_of(storage) for storage in written)

    def configuration(self, kernel: str) -> str:
        return self.chooser.describe()

    def benchmark(self, kernel_call: Callable[[], Any], *args: Any, **options: Any) -> Any:
        """An autotuner's trial run: it must compile, but it is not part of the program."""
        recorder, self.dispatcher.recorder = self.dispatcher.recorder, None
        try:
            return self.chooser.benchmark(kernel_call)
        finally:
            self.dispatcher.recorder = recorder


class CpuPointer(ValueError):
    """What Triton says when a CPU tensor is passed to a kernel."""


def run_captured(call: Callable[..., Any], *values: Any) -> Any:
    """The frame that ends the search for the user's source line."""
    return call(*values)


def _storage(argument: KernelArg) -> int | None:
    return argument.value.storage if isinstance(argument.value, PointerArg) else None


@contextlib.contextmanager
def _lift_on_cpu() -> Iterator[None]:
    """torch.tensor(data) builds on the CPU even under a meta default device."""
    old = torch._C._only_lift_cpu_tensors()
    torch._C._set_only_lift_cpu_tensors(True)
    try:
        yield
    finally:
        torch._C._set_only_lift_cpu_tensors(old)
