"""What capture hands to lowering: one run of a host function as data (no tensors, no framework objects).

Takes nothing; gives HostTrace and its parts.  Must not import torch, triton or jax.

A torch-hosted subject is recorded as a list of events over *storages* (flat memory, in bytes).  Views are not
events: every TensorRef carries its own shape, strides and offset, so in-place updates and aliasing need no rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lowering.errors import UNKNOWN_SPAN, Span


@dataclass(frozen=True, slots=True)
class TensorRef:
    """A view of a storage: dtype name ('float32', 'bfloat16', 'int64', ...), shape, strides, offset (in elements)."""

    storage: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0


@dataclass(slots=True)
class Storage:
    """Flat memory.  ``origin``: 'input' | 'empty' (contents undefined) | 'data' (``data`` holds the raw bytes)."""

    id: int
    nbytes: int
    origin: str
    data: np.ndarray | None = None  # uint8[nbytes] when origin is 'data' or 'input'
    span: Span = UNKNOWN_SPAN  # where it was allocated


@dataclass(frozen=True, slots=True)
class AtenCall:
    """One dispatched op that computes: ``op`` like 'aten.add.Tensor'; TensorRefs stand for tensors inside args.

    In-place and out= variants appear as their functional op: the result is written to ``outputs``, converted to their
    dtype.  dtypes are names, lists are tuples; device, layout, generator and memory format are left out.
    """

    op: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: tuple[Any, ...]
    span: Span = UNKNOWN_SPAN
    draw: str = ""  # of a random op: the name of the numbers it draws (capture/draws.py)
    flags: tuple[str, ...] = ()  # precision switches in force (capture/torch_precision.py)


@dataclass(frozen=True, slots=True)
class KernelRun(AtenCall):
    """A kernel that was run on tensors of the host, as data of its own: ``run`` (an NkiTrace).

    ``args``: the TensorRefs of its inputs, in their order; ``outputs``: those of its outputs.  ``op``: 'nki.NAME'.
    """

    run: Any = None


@dataclass(frozen=True, slots=True)
class PointerArg:
    """A tensor passed to a kernel: its storage and the byte offset of its first element."""

    storage: int
    byte_offset: int
    tensor: TensorRef


@dataclass(frozen=True, slots=True)
class KernelArg:
    """One runtime argument of the TTIR function, in its order: signature ('*fp32', 'i32', 'fp32', ...) and value."""

    name: str
    signature: str
    value: PointerArg | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Launch:
    """One Triton launch.  ``args`` are exactly the parameters of the TTIR function, constants already folded."""

    kernel: str
    ttir: str
    grid: tuple[int, int, int]
    args: tuple[KernelArg, ...]
    constants: dict[str, Any]
    options: dict[str, Any]  # num_warps, num_stages, enable_fp_fusion, default_dot_input_precision, ...
    span: Span = UNKNOWN_SPAN
    config: str = ""  # the autotuner's choice in words, "" when not autotuned
    written: tuple[int, ...] = ()  # indices of the args that the TTIR may store to (never too few)
    reached: tuple[int, ...] = ()  # storages that the kernel may find in a table of pointers


@dataclass(frozen=True, slots=True)
class HostRead:
    """The host looked at data (``.item()``, ``.tolist()``, a shape from nonzero): what it read and what it saw."""

    tensor: TensorRef
    value: np.ndarray
    span: Span = UNKNOWN_SPAN


Event = AtenCall | Launch | HostRead


@dataclass(frozen=True, slots=True)
class TunedUpdate:
    """A launch that an autotuner tries out first, on arguments that it updates and that it is not told to put back."""

    begun: int  # among the trace's events: the first that belongs to a trial, as what a configuration's hook does
    event: int  # the launch
    kernel: str
    arguments: tuple[str, ...]
    span: Span = UNKNOWN_SPAN


@dataclass(frozen=True, slots=True)
class UnsynchronisedRead:
    """``construct`` reads, on the host, what a copy that does not block may not have brought yet."""

    construct: str
    copied: Span
    span: Span


@dataclass(frozen=True, slots=True)
class HostFault:
    """Something that host code does wrong whatever its results here: ``code`` of the finding, and what, in words."""

    code: str
    said: str
    span: Span


@dataclass(slots=True)
class HostTrace:
    """One run of a host function.

    ``inputs``: (name, TensorRef) of every array argument (parameters and buffers of a Model included, named
    'weight:...'; with a backward pass, 'cotangent:out0' ...); ``outputs``: (name, TensorRef) of returned arrays
    'out0' ..., gradients 'grad:NAME', then inputs that may have been written to, 'written:NAME'.
    ``notes``: assumptions the capture made, one sentence each (they are printed in the report).
    """

    inputs: list[tuple[str, TensorRef]] = field(default_factory=list)
    outputs: list[tuple[str, TensorRef]] = field(default_factory=list)
    storages: dict[int, Storage] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    target: str = "sm_80"
    configurations: dict[str, int] = field(default_factory=dict)  # autotuned kernel -> number of configurations
    host_draws: list[str] = field(default_factory=list)  # random numbers that are constants of this run, by name
    races: dict[int, str] = field(default_factory=dict)  # event -> what it does not wait for (stream_races.py)
    addresses: dict[int, int] = field(default_factory=dict)  # storage -> where it began, if the host asked
    tuned: list[TunedUpdate] = field(default_factory=list)
    unsynchronised: list[UnsynchronisedRead] = field(default_factory=list)
    faults: list[HostFault] = field(default_factory=list)
    attributes: dict[str, bool] = field(default_factory=dict)  # set by the call; whether they hold what it was given
    contents: dict[str, bool | int | float] = field(default_factory=dict)  # of containers (torch_containers.py)

    def pointers_in(self, storage: Storage) -> list[tuple[int, int, int]]:
        """(element, storage, byte offset) for the 64-bit elements of constant contents that are addresses."""
        if storage.origin != "data" or storage.data is None or storage.nbytes % 8 or not self.addresses:
            return []
        numbers = np.ascontiguousarray(storage.data).view(np.int64)
        spans = [(base, base + max(1, self.storages[id].nbytes), id) for id, base in self.addresses.items()]
        found = ((at, base, id) for base, end, id in spans for at in np.nonzero((numbers >= base) & (numbers < end))[0])
        return [(int(at), id, int(numbers[at]) - base) for at, base, id in found]
