"""The GPU that a captured host function believes it runs on: one frozen dataclass and its presets.

Takes a target name ('sm_80'); gives VirtualGpu.  Knows nothing of torch or Triton: torch_cuda.py shows it to them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from lowering.errors import UsageError


@dataclass(slots=True)
class Shown:
    """How many multiprocessors the host is told of instead of ``sms``, and whether it has asked."""

    number: int | None = None
    asked: bool = False


@dataclass(frozen=True, slots=True)
class VirtualGpu:
    """Properties that decide host code: grids follow ``sms``, autotuner pruning follows ``shared_memory``."""

    name: str
    capability: tuple[int, int]
    sms: int
    shared_memory: int  # bytes one block may ask for (opt-in)
    total_memory: int
    l2_cache: int
    warp_size: int = 32
    max_threads_per_sm: int = 2048
    registers_per_sm: int = 65536
    clock_khz: int = 1_410_000
    memory_clock_khz: int = 1_512_000
    memory_bus_bits: int = 5120
    shown: Shown = field(default_factory=Shown, compare=False)

    def multiprocessors(self) -> int:
        """What a host that asks is told."""
        self.shown.asked = True
        return self.sms if self.shown.number is None else self.shown.number

    @property
    def arch(self) -> int:
        """80 for capability (8, 0): how Triton writes it."""
        return self.capability[0] * 10 + self.capability[1]

    @property
    def target(self) -> str:
        return f"sm_{self.arch}"


_GIB = 1 << 30

PRESETS: dict[str, VirtualGpu] = {
    gpu.target: gpu
    for gpu in (
        VirtualGpu("Virtual A100-SXM4-80GB", (8, 0), 108, 166_912, 80 * _GIB, 40 << 20),
        VirtualGpu("Virtual A10", (8, 6), 72, 101_376, 24 * _GIB, 6 << 20, max_threads_per_sm=1536),
        VirtualGpu("Virtual L40S", (8, 9), 142, 101_376, 48 * _GIB, 96 << 20, max_threads_per_sm=1536),
        VirtualGpu("Virtual H100-SXM5-80GB", (9, 0), 132, 232_448, 80 * _GIB, 50 << 20),
        VirtualGpu("Virtual B200", (10, 0), 148, 232_448, 180 * _GIB, 126 << 20),
    )
}


def virtual_gpu(target: str) -> VirtualGpu:
    """The preset called ``target``; a UsageError lists the known names."""
    if target not in PRESETS:
        raise UsageError(f"unknown target {target!r}: write one of {', '.join(PRESETS)}")
    return replace(PRESETS[target], shown=Shown())
