"""What a call leaves changed in torch itself, for all code that runs after it: grad mode, default dtype, seeds.

Takes torch's settings before a call and after it; gives faults of the trace, and puts back what a later capture must
not find.  The number of threads, printing and the like are nobody's business.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
import torch.utils._device as default_device

from lowering.capture.draws import Streams
from lowering.capture.trace import HostFault
from lowering.errors import UNKNOWN_SPAN

LEFT, PRECISION = "global-state", "precision-left-changed"  # the codes of the findings
_GETTERS = {
    "torch.backends.cuda.matmul.allow_tf32": "_get_cublas_allow_tf32",
    "torch.backends.cudnn.allow_tf32": "_get_cudnn_allow_tf32",
    "allow_fp16_accumulation": "_get_cublas_allow_fp16_accumulation",
    "allow_fp16_reduced_precision_reduction": "_get_cublas_allow_fp16_reduced_precision_reduction",
    "allow_bf16_reduced_precision_reduction": "_get_cublas_allow_bf16_reduced_precision_reduction",
    "the precision of f32 matrix products": "_get_float32_matmul_precision",
}


class Settings:
    """Those in force when this was made."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._before = self._now()

    def _now(self) -> dict[str, dict[str, Any]]:
        return {LEFT: _results(self._streams), PRECISION: _precision()}

    def faults(self) -> Iterator[HostFault]:
        """One for each that is another now."""
        for code, settings in self._now().items():
            for name, value in settings.items():
                if value != self._before[code].get(name, value):
                    words = name if name == _SEEDS else f"{name} at {value} (it was {self._before[code][name]})"
                    yield HostFault(code, f"the call leaves {words} for all code after it", UNKNOWN_SPAN)


_SEEDS = "torch's random generators seeded"


def _results(streams: Streams) -> dict[str, Any]:
    """What decides which results other code gives, and whether they take gradients."""
    device = default_device.CURRENT_DEVICE
    return {
        "grad mode": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "the default dtype": torch.get_default_dtype(),
        "the default device": None if device is None else str(device),
        "autocast on cuda": torch.is_autocast_enabled("cuda"),
        "autocast on the CPU": torch.is_autocast_enabled("cpu"),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        _SEEDS: (torch.default_generator.initial_seed(), streams.seeded_cuda),
    }


def _precision() -> dict[str, Any]:
    found = dict[str, Any]()
    for name, getter in _GETTERS.items():
        with contextlib.suppress(RuntimeError):  # newer versions refuse to tell where old and new switches are mixed
            found[name] = getattr(torch._C, getter, lambda: None)()
    return found


@contextlib.contextmanager
def kept_settings() -> Iterator[None]:
    """What would change later captures is afterwards as it was."""
    dtype, device = torch.get_default_dtype(), default_device.CURRENT_DEVICE
    autocast = {kind: torch.is_autocast_enabled(kind) for kind in ("cuda", "cpu")}
    deterministic = torch.are_deterministic_algorithms_enabled()
    try:
        yield
    finally:
        torch.set_default_dtype(dtype)
        if device != default_device.CURRENT_DEVICE:
            torch.set_default_device(device)
        for kind, enabled in autocast.items():
            torch.set_autocast_enabled(kind, enabled)
        if (
            torch.are_deterministic_algorithms_enabled() != deterministic
        ):  # setting it imports torch's compiler: seconds
            torch.use_deterministic_algorithms(deterministic)
