"""Shows a VirtualGpu to Python code through torch.cuda, torch.accelerator and others, and takes it away again.

Takes a VirtualGpu; gives a context manager.  Must not know about traces or Triton.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import torch

from lowering.capture import late_imports, torch_streams
from lowering.capture.draws import UNSEEDED, Streams
from lowering.capture.user_frames import user_span
from lowering.capture.virtual_gpu import VirtualGpu
from lowering.errors import Unsupported

_STOP = "run_captured"
_MISSING = object()


def unsupported(construct: str, hint: str = "") -> Callable[..., Any]:
    """A stand-in that refuses to be called, naming the user's line."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise Unsupported(construct, user_span(_STOP), hint)

    return refuse


class _Null:
    """A device guard: a context manager that does nothing, there being one device."""

    idx = 0
    device_index = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __enter__(self) -> _Null:
        return self

    def __exit__(self, *exception: Any) -> None:
        return None


class VirtualGenerator(torch.Generator):
    """A CPU generator that also accepts device='cuda'."""

    def __new__(cls, device: Any = "cpu") -> VirtualGenerator:
        return super().__new__(cls, device="cpu")  # pyright: ignore[reportCallIssue]


def properties(gpu: VirtualGpu) -> SimpleNamespace:
    """What torch.cuda.get_device_properties answers."""

    class Properties(SimpleNamespace):
        @property
        def multi_processor_count(self) -> int:
            return gpu.multiprocessors()

    return Properties(
        name=gpu.name, major=gpu.capability[0], minor=gpu.capability[1], total_memory=gpu.total_memory,
        warp_size=gpu.warp_size, is_integrated=False, is_multi_gpu_board=False,
        max_threads_per_multi_processor=gpu.max_threads_per_sm, regs_per_multiprocessor=gpu.registers_per_sm,
        shared_memory_per_block=49152, shared_memory_per_block_optin=gpu.shared_memory,
        shared_memory_per_multiprocessor=gpu.shared_memory + 1024, L2_cache_size=gpu.l2_cache,
        gcnArchName="", uuid="virtual", max_threads_per_block=1024, clock_rate=gpu.clock_khz,
        memory_clock_rate=gpu.memory_clock_khz, memory_bus_width=gpu.memory_bus_bits, pci_bus_id=0,
    )  # fmt: skip


def _always(value: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: value


def _no_grad_for_inference(mode: Any = True) -> Any:
    """torch.inference_mode as no_grad: the real one refuses tensor subclasses (no version counter)."""
    if callable(mode):
        return torch.no_grad()(mode)
    return torch.no_grad() if mode else torch.set_grad_enabled(torch.is_grad_enabled())


def _compile(model: Any = None, **options: Any) -> Any:
    """torch.compile as the identity: the eager ops are what is captured."""
    return model if model is not None else (lambda function: function)


def _loader(load: Callable[..., Any]) -> Callable[..., Any]:
    """torch.load, refusing map_location='cuda': it builds storages on a device that does not exist."""

    def checked(*args: Any, map_location: Any = None, **kwargs: Any) -> Any:
        if isinstance(map_location, str | torch.device) and torch.device(map_location).type == "cuda":
            raise Unsupported("torch.load(map_location='cuda')", user_span(_STOP), "load to 'cpu', then call .cuda()")
        return load(*args, map_location=map_location, **kwargs)

    return checked


def _cuda_attributes(gpu: VirtualGpu, streams: Callable[[], Streams]) -> dict[str, Any]:
    device = properties(gpu)
    no_graphs = unsupported("CUDA graphs", "call the function directly")
    return {
        "is_available": _always(True),
        "is_initialized": _always(True),
        "_is_compiled": _always(True),
        "init": _always(None),
        "_lazy_init": _always(None),
        "_initialized": True,
        "_lazy_call": lambda call, **kw: None,
        "device_count": _always(1),
        "current_device": _always(0),
        "set_device": _always(None),
        "_get_device": _Null,
        "device": _Null,
        "device_of": _Null,
        "_DeviceGuard": _Null,
        "Stream": torch_streams.VirtualStream,
        "ExternalStream": torch_streams.VirtualStream,
        "Event": torch_streams.VirtualEvent,
        "stream": torch_streams.stream_context,
        "StreamContext": torch_streams.stream_context,
        "current_stream": torch_streams.current_stream,
        "default_stream": torch_streams.default_stream,
        "set_stream": torch_streams.set_stream,
        "synchronize": torch_streams.synchronize,
        "_exchange_device": _always(0),
        "_maybe_exchange_device": _always(0),
        "get_device_properties": _always(device),
        "_get_device_properties": _always(device),
        "get_device_name": _always(gpu.name),
        "get_device_capability": _always(gpu.capability),
        "get_arch_list": _always([gpu.target]),
        "is_bf16_supported": _always(True),
        "is_tf32_supported": _always(True),
        "can_device_access_peer": _always(False),
        "mem_get_info": _always((gpu.total_memory, gpu.total_memory)),
        "memory_allocated": _always(0),
        "max_memory_allocated": _always(0),
        "memory_reserved": _always(0),
        "max_memory_reserved": _always(0),
        "reset_peak_memory_stats": _always(None),
        "memory_stats": _always({}),
        "empty_cache": _always(None),
        "ipc_collect": _always(None),
        "manual_seed": lambda seed: streams().seed_cuda(seed),
        "manual_seed_all": lambda seed: streams().seed_cuda(seed),
        "seed": lambda: streams().seed_cuda(UNSEEDED),
        "seed_all": lambda: streams().seed_cuda(UNSEEDED),
        "initial_seed": lambda: streams().initial_seed(),
        "default_generators": (_CudaGenerator(streams),),
        "get_rng_state": lambda *a: streams().save_cuda(),
        "set_rng_state": lambda state, *a: streams().restore_cuda(state),
        "is_current_stream_capturing": _always(False),
        "CUDAGraph": no_graphs,
        "graph": no_graphs,
        "make_graphed_callables": no_graphs,
    }


class _CudaGenerator(torch.Generator):
    """torch.cuda.default_generators[0]: its state is 16 bytes, seed and offset, which Philox kernels unpack.

    It begins anew with every capture.  Whoever moves the offset on has drawn numbers, unless the file set the seed.
    """

    def __new__(cls, streams: Callable[[], Streams]) -> _CudaGenerator:
        return super().__new__(cls, device="cpu")  # pyright: ignore[reportCallIssue]

    def __init__(self, streams: Callable[[], Streams]) -> None:
        self._streams, self._of, self._pair, self._seeded = streams, streams(), [0, 0], False

    def _begin(self) -> Streams:
        now = self._streams()
        if now is not self._of:
            self._of, self._pair, self._seeded = now, [0, 0], False
        return now

    def get_state(self) -> torch.Tensor:
        self._begin()
        return torch.tensor(self._pair, dtype=torch.int64, device="cpu").view(torch.uint8)

    def set_state(self, state: torch.Tensor) -> _CudaGenerator:
        now, (seed, offset) = self._begin(), state.view(torch.int64).tolist()
        moves = seed == self._pair[0] and offset > self._pair[1]
        if moves and not self._seeded:
            now.asked.append(f"cuda's generator from {self._pair[1]} on")
        self._seeded = self._seeded or not moves
        self._pair = [seed, offset]
        return self


def _enter_autocast(self: Any) -> Any:
    """autocast.__enter__, refusing 'cuda': it would silently do nothing to tensors that C++ believes are on 'meta'."""
    if self.device == "cuda" and self._enabled:
        raise Unsupported("torch.autocast('cuda')", user_span(_STOP), "cast the tensors explicitly")
    return _plain_enter(self)


_plain_enter = torch.autocast.__enter__


def _attributes(gpu: VirtualGpu, streams: Callable[[], Streams]) -> dict[str, Any]:
    """Dotted name -> replacement."""
    multi_gpu = unsupported("torch.distributed", "capture one device's computation")
    found = {f"torch.cuda.{name}": value for name, value in _cuda_attributes(gpu, streams).items()}
    accelerator = {
        "is_available": _always(True), "device_count": _always(1), "current_device_index": _always(0),
        "current_device_idx": _always(0), "set_device_index": _always(None), "set_device_idx": _always(None),
        "current_accelerator": _always(torch.device("cuda")), "device_index": _Null,
        "current_stream": torch_streams.current_stream, "synchronize": torch_streams.synchronize,
        "set_stream": torch_streams.set_stream,
    }  # fmt: skip
    found |= {f"torch.accelerator.{name}": value for name, value in accelerator.items()}
    return found | {
        "torch._C._cuda_getCurrentRawStream": _always(0),
        "torch._C._cuda_getDevice": _always(0),
        "torch._C._cuda_getDeviceCount": _always(1),
        "torch.version.cuda": "12.8",
        "torch.backends.cuda.is_built": _always(True),
        "torch.Generator": VirtualGenerator,
        "torch.Stream": torch_streams.VirtualStream,
        "torch.Event": torch_streams.VirtualEvent,
        "torch.initial_seed": lambda: streams().initial_seed(),
        "torch.seed": lambda: streams().seed(),
        "torch.inference_mode": _no_grad_for_inference,
        "torch.compile": _compile,
        "torch.amp.autocast_mode.autocast.__enter__": _enter_autocast,
        "torch.load": _loader(torch.load),
        "torch.distributed.init_process_group": multi_gpu,
    }


#: By module: its import takes a tenth of a second, and few files want it.
_LATE = {
    "torch.utils.cpp_extension": {
        name: unsupported(f"torch.utils.cpp_extension.{name}") for name in ("load", "load_inline")
    }
}


def _resolve(dotted: str) -> tuple[Any, str]:
    import importlib

    owner, name = dotted.rsplit(".", 1)
    with contextlib.suppress(ImportError):
        importlib.import_module(owner)
    module: Any = torch
    for part in owner.split(".")[1:]:
        module = getattr(module, part, None)
    return module, name


@contextlib.contextmanager
def installed(gpu: VirtualGpu, streams: Callable[[], Streams]) -> Iterator[None]:
    """torch.cuda as it would be with this GPU; undone at exit, whatever happened."""
    undo: list[tuple[Any, str, Any]] = []
    try:
        for dotted, value in _attributes(gpu, streams).items():
            owner, name = _resolve(dotted)
            if owner is not None:
                undo.append((owner, name, owner.__dict__.get(name, _MISSING)))
                setattr(owner, name, value)
        with late_imports.installed(_LATE):
            yield
    finally:
        for owner, name, old in reversed(undo):
            if old is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, old)
