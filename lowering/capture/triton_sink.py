"""The doorway between Triton's runtime and the active session: where launches, spans and benchmarks go.

Takes nothing from Triton itself, so that drivers and launchers cached by Triton can outlive a session.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from lowering.capture.recorder import Recorder
from lowering.capture.trace import KernelArg, Launch, PointerArg
from lowering.capture.virtual_gpu import VirtualGpu
from lowering.errors import Span, UsageError


class TooLarge(UsageError):
    """A launch that asks for more than the device has: an autotuner passes such a configuration over."""


class LaunchSink(Protocol):
    """What the driver needs of a session."""

    gpu: VirtualGpu

    @property
    def recorder(self) -> Recorder | None: ...

    def span(self) -> Span: ...

    def pointer(self, tensor: Any, name: str) -> PointerArg: ...

    def launch(self, launch: Launch) -> None: ...

    def updates(self, kernel: str, arguments: Sequence[KernelArg], updated: Sequence[int]) -> None: ...

    def configuration(self, kernel: str) -> str: ...

    def benchmark(self, kernel_call: Callable[[], Any], quantiles: Any = None, **options: Any) -> Any: ...


_sinks: list[LaunchSink] = []


def active_sink() -> LaunchSink:
    if not _sinks:
        raise RuntimeError("a Triton kernel was launched outside the session that captures it")
    return _sinks[-1]


def push(sink: LaunchSink) -> None:
    _sinks.append(sink)


def pop() -> None:
    _sinks.pop()
