"""The packages through which host code reaches a Neuron device, where they are not installed.

Of torch_xla there is the device, which is the session's, and what waits for it; of torch_neuronx what makes a kernel
callable; everything else is there at import and says so where it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lowering.capture.nki import root_beta1
from lowering.capture.nki.kernel import Kernel
from lowering.capture.nki.placeholders import placeholder


def _device(*_: Any, **__: Any) -> Any:
    import torch  # only host code over torch asks

    return torch.device("cuda", 0)


def _nothing(*_: Any, **__: Any) -> None:
    """Waiting changes no values."""


def _callable(kernel: Any = None, **options: Any) -> Any:
    """What makes a kernel of a function, or takes a kernel as it is."""
    if kernel is None:
        return lambda function: _callable(function, **options)
    return kernel if isinstance(kernel, Kernel) else root_beta1.jit(kernel)


def _op(*_: Any, **__: Any) -> Callable[[Any], Any]:
    """nki_op(name, mutates_args=...): registers a host function with torch."""
    return lambda function: function


_NAMES: dict[str, Any] = {
    "xla_device": _device, "device": _device, "mark_step": _nothing, "sync": _nothing, "wait_device_ops": _nothing,
    "nki_jit": _callable, "wrap_nki": _callable, "nki_op": _op,
}  # fmt: skip


def found_in(module: str) -> Callable[[str], Any]:
    """The __getattr__ of one of these modules."""

    def get(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _NAMES.get(name) or placeholder(f"{module}.{name}")

    return get
