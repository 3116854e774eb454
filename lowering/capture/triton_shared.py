"""How much shared memory a kernel's program asks for, by Triton's own passes: what its launcher checks on a device.

Takes a TTIR module and the stage that makes TTGIR of it; gives bytes, or None where Triton could not say in time.
Nothing is lowered to LLVM: that takes seconds, and the allocation is decided before.
"""

from __future__ import annotations

import os
import re
import select
import signal
import time
import warnings
from collections.abc import Callable
from math import prod
from typing import Any

from triton._C.libtriton import ir, nvidia, passes
from triton.runtime.errors import OutOfResources

from lowering.capture.triton_sink import TooLarge
from lowering.capture.virtual_gpu import VirtualGpu
from lowering.errors import Span

SECONDS = 10.0  # for one kernel; 0.1 to 0.3 are usual
LARGE = 64 << 10  # bytes of a tile, in all stages of a loop that has several, from which it is asked for
_PTX = 87  # the version of the instructions that a copy through shared memory may use
_STAGES = re.compile(r"tt\.num_stages = (\d+)")
_TENSOR = re.compile(r"tensor<((?:\d+x)+)(?:[a-z]+?)(\d+)")

Stage = Callable[[Any, dict[str, Any]], Any]


class OutOfSharedMemory(OutOfResources, TooLarge):
    """Triton's own error, which its autotuner and the user's code may catch, in words that name the target."""

    def __init__(self, kernel: str, required: int, gpu: VirtualGpu, stages: int | None, span: Span) -> None:
        super().__init__(required, gpu.shared_memory, "shared memory")
        asked = f" with num_stages={stages}" if stages is not None else ""
        self.said = (
            f"{span}: {gpu.target} does not run this launch of {kernel}: it asks for {required} bytes of shared memory"
            f"{asked}, {gpu.shared_memory} are there; make its blocks smaller or num_stages less, or name the device "
            "that it is for with --target"
        )

    def __str__(self) -> str:
        return self.said


def has_dot(text: str) -> bool:
    """Whether a TTIR text multiplies matrices, the operands of which lie in shared memory, once per stage."""
    return "tt.dot" in text


def is_worth_asking(text: str) -> bool:
    """Whether a kernel could ask for more than there is: it multiplies matrices, or has a large tile."""
    stages = max((int(found[1]) for found in _STAGES.finditer(text)), default=1)
    return has_dot(text) or any(_tile_bytes(found) * stages >= LARGE for found in _TENSOR.finditer(text))


def _tile_bytes(found: re.Match[str]) -> int:
    return prod(int(size) for size in found[1].split("x") if size) * max(int(found[2]) // 8, 1)


def shared_memory_of(module: Any, metadata: dict[str, Any], ttgir: Stage, arch: int) -> int | None:
    """Bytes of shared memory of one program instance.  Asked for in a copy of this process, which may die or hang."""
    if arch < 89 and "f8E4M3FN" in str(module):  # captured all the same, though Triton has no code for it there
        return None
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # threads and forks: the copy runs one thread and nothing of Python's but this
        child = os.fork()
    if not child:
        _answer(reader, writer, lambda: _allocated(ttgir(module, dict(metadata)), arch))
    os.close(writer)
    try:
        return _read(reader, time.monotonic() + SECONDS)
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)  # not waited for yet, so the number is still its own
        os.waitpid(child, 0)


def _answer(reader: int, writer: int, ask: Callable[[], int]) -> None:
    """The copy's whole life: it says the number, or nothing."""
    try:
        os.close(reader)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        os.write(writer, str(ask()).encode())
    finally:
        os._exit(0)


def _read(reader: int, until: float) -> int | None:
    ready, _, _ = select.select([reader], [], [], max(until - time.monotonic(), 0.0))
    said = os.read(reader, 32) if ready else b""
    return int(said) if said else None


def _allocated(module: Any, arch: int) -> int:
    manager = ir.pass_manager(module.context)
    allocate = getattr(nvidia.passes.ttgpuir, "add_allocate_shared_memory_nv", None)
    if allocate is not None:
        allocate(manager, arch, _PTX)
    else:
        passes.ttgpuir.add_allocate_shared_memory(manager)
    try:
        manager.run(module, "allocate_shared_memory")
    except TypeError:  # before Triton 3.5
        manager.run(module)
    return int(module.get_int_attr("ttg.shared"))
