"""A later call with the same tensor objects, refilled with other values, as a serving loop refills its input buffers.

Takes a recorder whose trace has one finished call or more; goes on recording in it.  Gives Refilled where the call did
other work than the first, or read what that left.  What is kept by the identity of an argument (functools.lru_cache, an
attribute of the tensor, a dict keyed by id or data_ptr) is stale then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils._pytree import tree_map

from lowering.capture.recorder import Recorder
from lowering.capture.torch_carried import overwritten_results, rests_on_earlier
from lowering.capture.torch_inputs import tensors_in
from lowering.capture.torch_outputs import enter_outputs, written_storages
from lowering.capture.torch_tensor import VirtualTensor
from lowering.capture.trace import AtenCall, Event, HostRead, HostTrace, TensorRef
from lowering.errors import IrverifyError


@dataclass(frozen=True, slots=True)
class Refilled:
    """``again`` and ``fresh`` are one run, with the results of the refilled call and of one with tensors of its own.

    None where the refilled call did what the first did, or where ``unseen`` says why that is not known.
    ``overwritten``: results of the first call in memory that the refilled one has written to and returned as well.
    """

    again: HostTrace | None = None
    fresh: HostTrace | None = None
    overwritten: tuple[str, ...] = ()
    unseen: str = ""


def look(
    recorder: Recorder,
    values: dict[str, Any],
    results: dict[str, torch.Tensor],
    call: Callable[[dict[str, Any]], Any],
    ended: int,
) -> Refilled | None:
    """``ended``: the number of events of the first call; ``call`` is to be called with the arguments by name.

    None where there is nothing to see.
    """
    try:
        return _look(recorder, values, results, call, ended)
    except IrverifyError as error:
        return Refilled(unseen=str(error))
    except Exception as error:  # whatever the user's code raises for such values: the first call has gone well
        return Refilled(unseen=f"the call raises {type(error).__name__}: {error}")


def _look(
    recorder: Recorder,
    values: dict[str, Any],
    results: dict[str, torch.Tensor],
    call: Callable[[dict[str, Any]], Any],
    ended: int,
) -> Refilled | None:
    trace, since = recorder.trace, len(recorder.trace.events)
    if not refill(values):
        return None
    changed = _changed(recorder, values, ended)
    if changed is None:
        return Refilled(unseen="arguments that are written to share memory")
    others = copies(values)
    begun = len(trace.events)
    returned, outputs = _call(recorder, lambda: call(values))
    lost, _ = overwritten_results(recorder, results, returned, since)
    stale = any(rests_on_earlier(trace, ref.storage, since) for name, ref in outputs if name in returned)
    if not stale and alike(trace.events[:ended], trace.events[begun:]):
        return Refilled(overwritten=lost) if lost else None
    kept = {name: tensor.detach().clone() for name, tensor in returned.items()}  # the next call may write over it
    again = [(name, recorder.ref(_inner(kept[name])) if name in kept else ref) for name, ref in outputs]
    again += _written(recorder, values, changed)
    _, fresh = _call(recorder, lambda: call(others))
    fresh += _written(recorder, others, changed)
    if [(name, ref.dtype, ref.shape) for name, ref in again] != [(n, r.dtype, r.shape) for n, r in fresh]:
        return Refilled(overwritten=lost, unseen="the types of its results follow from the values of its arguments")
    return Refilled(replace(trace, outputs=again), replace(trace, outputs=fresh), lost)


def _call(recorder: Recorder, call: Callable[[], Any]) -> tuple[dict[str, torch.Tensor], list[tuple[str, TensorRef]]]:
    recorder.trace.outputs = []
    returned = enter_outputs(recorder, call())
    return returned, recorder.trace.outputs


def refill(values: dict[str, Any]) -> bool:
    """Other values of the same signs, none larger: half of what is at the other end.  Whether there was a float."""
    floats = [tensor for tensor in tensors_in(values) if tensor.is_floating_point() and tensor.itemsize > 1]
    with torch.no_grad():
        for tensor in floats:
            tensor.copy_(tensor.flip(tuple(range(tensor.dim()))) * 0.5)
    return bool(floats)


def copies(values: dict[str, Any]) -> dict[str, Any]:
    """The same arguments with tensors of their own."""

    def copy(leaf: Any) -> Any:
        return leaf.detach().clone().requires_grad_(leaf.requires_grad) if isinstance(leaf, torch.Tensor) else leaf

    return tree_map(copy, values)


def _changed(recorder: Recorder, values: dict[str, Any], ended: int) -> list[int] | None:
    """Which of the tensors among the arguments the first call has written to; None where copies of them would not
    share the memory that they share."""
    written = {storage for event in recorder.trace.events[:ended] for storage in written_storages(event)}
    storages = [recorder.ref(_inner(tensor)).storage for tensor in tensors_in(values)]
    found = [i for i, storage in enumerate(storages) if storage in written]
    return None if any(storages.count(storages[i]) > 1 for i in found) else found


def _written(recorder: Recorder, values: dict[str, Any], changed: Sequence[int]) -> list[tuple[str, TensorRef]]:
    tensors = list(tensors_in(values))
    return [(f"argument {i}", recorder.ref(_inner(tensors[i].detach().clone()))) for i in changed]


def alike(first: Sequence[Event], later: Sequence[Event]) -> bool:
    """The same work, on whatever memory; what the host reads is the same too."""
    return len(first) == len(later) and all(_work(x) == _work(y) for x, y in zip(first, later))


def _work(event: Event) -> Any:
    if isinstance(event, AtenCall):
        return event.op, _plain(event.args), _plain(event.kwargs), _plain(event.outputs)
    if isinstance(event, HostRead):
        return _plain(event.tensor), event.value.tobytes()
    numbers = [argument.value for argument in event.args if isinstance(argument.value, int | float | None)]
    return event.kernel, event.grid, numbers, repr(event.constants)


def _plain(value: Any) -> Any:
    """Tensors as their types; NaN is itself."""
    if isinstance(value, TensorRef):
        return value.dtype, value.shape
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return repr(value)


def _inner(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.inner if isinstance(tensor, VirtualTensor) else tensor.detach()
