"""What a later call takes from an earlier one: memory that it reads, and results that it writes over.

Takes a trace of several calls and the number of events before the last; gives truth values and names.
"""

from __future__ import annotations

from math import prod
from typing import Any

import torch

from lowering.capture.recorder import Recorder, references
from lowering.capture.torch_outputs import read_storages, written_storages
from lowering.capture.torch_tensor import VirtualTensor
from lowering.capture.trace import AtenCall, HostTrace

FILLING = frozenset({"copy", "fill", "zero"})


def rests_on_earlier(trace: HostTrace, result: int, since: int) -> bool:
    """Whether a result's storage rests on memory that events before ``since`` have filled from the arguments.

    What follows from weights alone (a cast or transposed weight that is kept) is left out: they stay as they are.
    """
    needed = needed_before(trace, {result}, since)
    arguments = {ref.storage for name, ref in trace.inputs if not name.startswith("weight:")}
    made, given = set(arguments), {ref.storage for _, ref in trace.inputs}
    for event in trace.events[:since]:
        if made & read_storages(event):
            made |= set(written_storages(event))
    return bool(needed & (made - given))


def needed_before(trace: HostTrace, results: set[int], since: int) -> set[int]:
    """The storages as they were before event ``since`` on which those of results rest at the end."""
    needed = set(results)
    for event in reversed(trace.events[since:]):
        written = set(written_storages(event))
        if needed & written:
            gone = _overwrites(trace, event)
            needed = (needed - gone) | (read_storages(event) - gone)
    return needed


def overwritten_results(
    recorder: Recorder, results: dict[str, torch.Tensor], returned: dict[str, torch.Tensor], since: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of earlier results that events from ``since`` on write to: those returned again, and the others.

    The memory of arguments and weights is theirs.
    """
    trace = recorder.trace
    written = {storage for event in trace.events[since:] for storage in written_storages(event)}
    written -= {ref.storage for _, ref in trace.inputs}
    old = {name: recorder.ref(_inner(tensor)).storage for name, tensor in results.items()}
    new = {recorder.ref(_inner(tensor)).storage for tensor in returned.values()}
    lost = [name for name, storage in old.items() if storage in written]
    return tuple(n for n in lost if old[n] in new), tuple(n for n in lost if old[n] not in new)


def _overwrites(trace: HostTrace, event: Any) -> set[int]:
    """Storages of which nothing is left: those that an op fills, and those that a kernel may store to (a workspace
    is more often filled anew than added to)."""
    if not isinstance(event, AtenCall):
        return set(written_storages(event))
    filled = event.op.split(".")[1] in FILLING  # whose first argument is only where to
    read = {ref.storage for ref in references((event.args[1:] if filled else event.args, event.kwargs))}
    sizes = {r.storage: prod(r.shape) * getattr(torch, r.dtype).itemsize for r in references(event.outputs)}
    whole = trace.storages
    return {storage for storage, size in sizes.items() if storage not in read and size == whole[storage].nbytes}


def _inner(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.inner if isinstance(tensor, VirtualTensor) else tensor.detach()
