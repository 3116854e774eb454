"""Replaces Triton's backend and driver under its whole runtime: "the binary is the TTIR", and a launch is a record.

Takes launches from Triton's runtime; gives Launch events to the active session.  Must not know about ATen ops.

JITFunction.run is left as it is: binding, specialisation, None, tuples, descriptors, autotuning, heuristics and hooks
are Triton's own code.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import triton
from triton.backends import Backend, backends
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.backends.nvidia.compiler import CUDABackend
from triton.runtime.driver import driver

from lowering.capture.torch_tensor import VirtualTensor
from lowering.capture.trace import KernelArg, Launch, PointerArg
from lowering.capture.triton_shared import OutOfSharedMemory, Stage, has_dot, is_worth_asking, shared_memory_of
from lowering.capture.triton_sink import LaunchSink, active_sink
from lowering.capture.ttir_stores import parameters_of
from lowering.errors import InternalError, Unsupported, UsageError

_OPTIONS = ("num_warps", "num_stages", "num_ctas", "enable_fp_fusion", "default_dot_input_precision",
            "allowed_dot_input_precisions", "sanitize_overflow", "max_num_imprecise_acc_default", "maxnreg", "arch",
            "launch_cooperative_grid", "supported_fp8_dtypes")  # fmt: skip
_FP8 = ("fp8e4b15", "fp8e4nv", "fp8e5")
_GRID, _CTAS = (2**31 - 1, 65535, 65535), 16  # of every NVIDIA GPU (CUDA C++ Programming Guide)
_REGISTERS, _SHARED = 32, 1024  # a thread's registers, a program's bytes where they are not asked for: hosts divide
_METADATA = {
    "shared": _SHARED, "tmem_size": 0, "global_scratch_size": 0, "global_scratch_align": 1, "profile_scratch_size": 0,
    "profile_scratch_align": 1, "cluster_dims": (1, 1, 1), "tensordesc_meta": None,
}  # fmt: skip


class TtirBackend(CUDABackend):
    """Triton's own pipeline up to and including make_ttir."""

    def parse_options(self, opts: dict[str, Any]) -> Any:
        # A real sm_80 refuses fp8e4nv; what the kernel means does not depend on that.
        return super().parse_options({"supported_fp8_dtypes": _FP8, **opts})

    def add_stages(self, stages: dict[str, Any], options: Any, language: Any = None) -> None:
        if getattr(language, "name", "TRITON") != "TRITON":
            raise Unsupported("a Gluon kernel", active_sink().span(), "write it in triton.language")
        every: dict[str, Any] = {}
        super().add_stages(every, options, *([] if language is None else [language]))
        stages["ttir"] = every["ttir"]
        stages["cubin"] = lambda module, metadata: _as_binary(module, metadata, every["ttgir"], int(self.target.arch))

    def hash(self) -> str:
        return f"irverify-ttir-5-{triton.__version__}-{self.target.arch}"


def _as_binary(module: Any, metadata: dict[str, Any], ttgir: Stage, arch: int) -> bytes:
    """The 'cubin': the printed TTIR.  What can only be asked of the live module goes to the metadata."""
    text = str(module)
    asked = shared_memory_of(module, metadata, ttgir, arch) if is_worth_asking(text) else 0
    metadata.update(_METADATA)
    metadata["shared"] = max(asked or 0, _SHARED)
    metadata["irverify_unsized"] = asked is None and has_dot(text)
    metadata["name"] = module.get_entry_func_name()
    parameters = parameters_of(module)
    metadata["irverify_parameters"] = parameters.count
    metadata["irverify_written"], metadata["irverify_updated"] = parameters.written, parameters.updated
    return text.encode()


class _Properties(dict[str, int]):
    """A device's properties; how many multiprocessors it has is looked up when it is asked for."""

    def __missing__(self, key: str) -> int:
        if key != "multiprocessor_count":
            raise KeyError(key)
        return active_sink().gpu.multiprocessors()


class _Utils:
    """What CompiledKernel asks of the driver's C utilities."""

    def load_binary(self, name: str, kernel: bytes, shared: int, device: int) -> tuple[None, bytes, int, int, int]:
        """No module handle: a kernel that is collected after the session must not ask for a driver to unload it."""
        return None, kernel, _REGISTERS, 0, 1024

    def unload_module(self, module: Any) -> None: ...

    def get_device_properties(self, device: int) -> dict[str, int]:
        gpu = active_sink().gpu
        return _Properties({
            "max_shared_mem": gpu.shared_memory, "max_num_regs": gpu.registers_per_sm,
            "warpSize": gpu.warp_size, "sm_clock_rate": gpu.clock_khz,
            "mem_clock_rate": gpu.memory_clock_khz, "mem_bus_width": gpu.memory_bus_bits,
        })  # fmt: skip

    def fill_tma_descriptor(self, *args: Any) -> None:
        raise Unsupported("a TMA descriptor made by hand", active_sink().span(), "use TensorDescriptor")

    fill_1d_tma_descriptor = fill_2d_tma_descriptor = fill_tma_descriptor


class TtirDriver(DriverBase):
    """One driver for all targets: the device index names the target, so Triton's per-device caches stay apart."""

    def __init__(self) -> None:
        self.utils = _Utils()
        self.launcher_cls = TtirLauncher

    @classmethod
    def is_active(cls) -> bool:
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty

    def get_current_target(self) -> GPUTarget:
        gpu = active_sink().gpu
        return GPUTarget("cuda", gpu.arch, gpu.warp_size)

    def get_current_device(self) -> int:
        arch = active_sink().gpu.arch
        return 0 if arch == 80 else arch

    def set_current_device(self, device: int) -> None: ...

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        return active_sink().gpu.capability

    def get_current_stream(self, device: int = 0) -> int:
        return 0

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        import torch

        return torch.cuda

    def get_benchmarker(self) -> Callable[..., Any]:
        return lambda *args, **options: active_sink().benchmark(*args, **options)  # tuners outlive a session

    def get_empty_cache_for_benchmark(self) -> Any:
        return None

    def clear_cache(self, cache: Any) -> None: ...

    def assemble_tensormap_to_arg(self, tensormaps_info: Any, args: Any) -> Any:
        return args


class TtirLauncher:
    """Made once per compiled kernel; each call records one launch."""

    def __init__(self, src: Any, metadata: Any) -> None:
        self.kernel = getattr(getattr(src, "fn", None), "__name__", metadata.name)
        self.names = list(src.signature)
        self.signature = [src.signature[name] for name in self.names]
        self.declared = {p.name for p in getattr(getattr(src, "fn", None), "params", ()) if p.is_constexpr}
        self.metadata = metadata
        self.text: str | None = None
        self.options = {name: _plain(getattr(metadata, name)) for name in _OPTIONS if hasattr(metadata, name)}
        sink = active_sink()
        if metadata.shared > sink.gpu.shared_memory:
            stages = getattr(metadata, "num_stages", None)
            raise OutOfSharedMemory(self.kernel, metadata.shared, sink.gpu, stages, sink.span())

    def __call__(self, x: int, y: int, z: int, stream: Any, function: bytes, *rest: Any) -> None:
        """``rest``: packed metadata, launch metadata, enter hook, exit hook, then the bound arguments."""
        sink, values = active_sink(), rest[4:]
        grid = (int(x), int(y), int(z))
        if sink.recorder is None or 0 in grid:
            return
        self._check_launch(sink, grid)
        if self.metadata.irverify_unsized:
            stages = getattr(self.metadata, "num_stages", "unknown")
            sink.recorder.note(f"shared memory of kernel {self.kernel} (num_stages={stages}) was not checked")
        arguments = list(self._bind(sink, values))
        self._check(arguments)
        sink.updates(self.kernel, arguments, self._updated(arguments))
        self.text = self.text or function.decode()  # one string per kernel, however often it is launched
        sink.launch(
            Launch(
                self.kernel, self.text, grid, tuple(arguments), self._constants(values), dict(self.options),
                sink.span(), sink.configuration(self.kernel), tuple(self.metadata.irverify_written),
            )
        )  # fmt: skip

    def _bind(self, sink: LaunchSink, values: tuple[Any, ...]) -> Iterator[KernelArg]:
        if len(values) < len(self.signature):  # some launchers pass the arguments without the constexprs
            values = self._aligned(sink, values)
        for name, signature, value in zip(self.names, self.signature, values):
            yield from _flatten(sink, str(name), signature, value)

    def _aligned(self, sink: LaunchSink, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """None for every constexpr: those declared, or also those that specialisation made of a 1 or a None."""
        made = [signature == "constexpr" for signature in self.signature]
        declared = [name in self.declared for name in self.names]
        skipped = next((skip for skip in (declared, made) if skip.count(False) == len(values)), None)
        if skipped is None:
            raise Unsupported(f"a launch of {self.kernel} with {len(values)} arguments", sink.span())
        rest = iter(values)
        return tuple(None if skip else next(rest) for skip in skipped)

    def _updated(self, arguments: list[KernelArg]) -> list[int]:
        """Arguments that the kernel reads and writes, be it under two names."""
        storages = [a.value.storage if isinstance(a.value, PointerArg) else None for a in arguments]
        twice = [i for i in self.metadata.irverify_written if storages.count(storages[i]) > 1]
        return sorted({*self.metadata.irverify_updated, *twice})

    def _constants(self, values: tuple[Any, ...]) -> dict[str, Any]:
        triples = zip(self.names, self.signature, values)
        return {str(name): _plain(value) for name, signature, value in triples if signature == "constexpr"}

    def _check_launch(self, sink: LaunchSink, grid: tuple[int, int, int]) -> None:
        """What CUDA answers with an error, and Triton does not check."""
        problem = next((f"grid {axis} is {n}, at most {most} is allowed" for axis, n, most in zip("xyz", grid, _GRID)
                        if not 0 < n <= most), "")  # fmt: skip
        if getattr(self.metadata, "num_ctas", 1) > _CTAS:
            problem = f"num_ctas={self.metadata.num_ctas} asks for a cluster of more than {_CTAS} blocks"
        if problem:
            raise UsageError(f"{sink.span()}: no GPU runs this launch of {self.kernel}: {problem}")

    def _check(self, arguments: list[KernelArg]) -> None:
        expected = self.metadata.irverify_parameters
        if len(arguments) != expected:
            raise InternalError(f"kernel {self.kernel} has {expected} TTIR parameters, {len(arguments)} were bound")


def _flatten(sink: LaunchSink, name: str, signature: Any, value: Any) -> Iterator[KernelArg]:
    """The TTIR parameters that one Python argument becomes."""
    if isinstance(signature, tuple | list):
        for index, (inner, item) in enumerate(zip(signature, value)):
            yield from _flatten(sink, f"{name}.{index}", inner, item)
    elif signature.startswith("tensordesc"):
        yield from _descriptor(sink, name, signature, value)
    elif signature != "constexpr":
        yield KernelArg(name, signature, _runtime_value(sink, value, name))


def _descriptor(sink: LaunchSink, name: str, signature: str, value: Any) -> Iterator[KernelArg]:
    """Below sm_90 a descriptor is a pointer, its shape and strides; from sm_90 on it stays one opaque parameter."""
    rank = len(value.shape)
    shape, strides = [int(n) for n in value.shape], [int(n) for n in value.strides]
    if sink.gpu.arch // 10 < 9:
        yield KernelArg(name, "*" + signature.split("<")[1].split("[")[0], sink.pointer(value.base, name))
        yield from (KernelArg(f"{name}.shape{i}", "i64", shape[i]) for i in range(rank))
        yield from (KernelArg(f"{name}.stride{i}", "i64", strides[i]) for i in range(rank))
        if hasattr(value, "padding"):
            yield KernelArg(f"{name}.nan_padding", "i1", value.padding == "nan")
        if hasattr(value, "round_f32_to_tf32"):
            yield KernelArg(f"{name}.round_to_tf32", "i1", bool(value.round_f32_to_tf32))
    else:
        for option, usual in (("padding", "zero"), ("round_f32_to_tf32", False)):
            if getattr(value, option, usual) != usual:
                construct = f"TensorDescriptor({option}={getattr(value, option)!r}) on {sink.gpu.target}"
                raise Unsupported(construct, sink.span(), "try --target sm_80: there the kernel itself does it")
        yield KernelArg(name, signature, sink.pointer(value.base, name))
    yield from (KernelArg(f"{name}.shape{i}", "i32", shape[i]) for i in range(rank))
    yield from (KernelArg(f"{name}.stride{i}", "i64", strides[i]) for i in range(rank))


def _runtime_value(sink: LaunchSink, value: Any, name: str) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if hasattr(value, "data_ptr"):
        return sink.pointer(value, name)
    if hasattr(value, "value"):  # tl.constexpr
        return value.value
    return value.item() if isinstance(value, VirtualTensor) else value


def _plain(value: Any) -> Any:
    """A constant without framework objects: dtypes and functions become their names."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return tuple(_plain(item) for item in value)
    if type(value).__name__ == "constexpr":
        return _plain(value.value)
    return getattr(value, "__name__", None) or str(value)


@cache
def _installation() -> str:
    """What Triton's cache keys name instead of a hash of all its bytes (half a second): its files' sizes and times."""
    root = Path(triton.__file__).parent
    files = sorted(f for pattern in ("*.py", "*.so", "*.pyd") for f in root.rglob(pattern))
    facts = [(str(f.relative_to(root)), f.stat().st_size, f.stat().st_mtime_ns) for f in files]
    return f"{triton.__version__}-{hashlib.sha256(repr(facts).encode()).hexdigest()}"


def _name_installation() -> Callable[[], None]:
    """``triton_key`` without reading the compiler, wherever this version keeps it; our backend's hash is in the key."""
    places = [sys.modules.get(name) for name in ("triton.runtime.cache", "triton.compiler.compiler")]
    old = [(place, place.triton_key) for place in places if place is not None and hasattr(place, "triton_key")]
    for place, _ in old:
        setattr(place, "triton_key", _installation)  # noqa: B010 (which modules have it depends on the version)

    def undo() -> None:
        for place, function in old:
            setattr(place, "triton_key", function)  # noqa: B010

    return undo


_driver: list[TtirDriver] = []


def install() -> Callable[[], None]:
    """Puts backend and driver in place; gives the function that undoes it."""
    rename = _name_installation()
    old_backends, old_driver = dict(backends), driver.__dict__.get("_active", driver.__dict__.get("active"))
    if not _driver:
        _driver.append(TtirDriver())
    backends.clear()
    backends["nvidia"] = Backend(compiler=TtirBackend, driver=TtirDriver)
    driver.set_active(_driver[0])

    def undo() -> None:
        backends.clear()
        backends.update(old_backends)
        driver.set_active(old_driver)  # type: ignore[arg-type]
        rename()

    return undo
