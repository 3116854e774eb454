"""Finds events on different streams that touch the same memory with no wait between them.

Takes a trace and the order of its events (torch_streams.Clocks); gives words by event.  Must not know how streams are
shown to users.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lowering.capture.recorder import references
from lowering.capture.trace import AtenCall, Event, HostRead, HostTrace, Launch, PointerArg, TensorRef
from lowering.errors import Span

Order = Sequence[tuple[int, dict[int, int]]]  # by event: its stream, and what is finished with it
_EXACT = 1 << 16  # elements up to which two views are compared element by element
_SIZES = {"64": 8, "32": 4, "16": 2}


@dataclass(frozen=True, slots=True)
class _Access:
    tensor: TensorRef | None  # None: anywhere in the storage
    writes: bool
    stream: int
    time: int
    span: Span


def races(trace: HostTrace, order: Order, last: tuple[int, dict[int, int]]) -> dict[int, str]:
    """Event -> what it does not wait for; the number of events stands for the caller, who uses the results."""
    if len({stream for stream, _ in (*order, last)}) < 2:
        return {}
    seen: dict[int, list[_Access]] = defaultdict(list)
    found: dict[int, str] = {}
    for number, (event, (stream, clock)) in enumerate(zip(trace.events, order, strict=True)):
        accesses = list(_accesses(event))
        clash = _clash(accesses, seen, clock)
        if clash is not None:
            found[number] = _words(clash)
        for storage, tensor, writes in accesses:
            seen[storage].append(_Access(tensor, writes, stream, clock[stream], event.span))
    results = [(ref.storage, ref, False) for _, ref in trace.outputs]
    clash = _clash(results, seen, last[1])
    if clash is not None:
        found[len(trace.events)] = _words(clash)
    return found


def _words(access: _Access) -> str:
    return f"memory that another stream {'writes' if access.writes else 'reads'} at {access.span}, with no wait since,"


def _clash(
    accesses: Sequence[tuple[int, TensorRef | None, bool]], seen: dict[int, list[_Access]], clock: dict[int, int]
) -> _Access | None:
    for storage, tensor, writes in accesses:
        for other in seen.get(storage, ()):
            unordered = clock.get(other.stream, 0) < other.time
            if unordered and (writes or other.writes) and _overlap(tensor, other.tensor):
                return other
    return None


def _accesses(event: Event) -> Iterator[tuple[int, TensorRef | None, bool]]:
    """(storage, view, whether it is written); a launch reads whatever it is given."""
    if isinstance(event, AtenCall):
        yield from ((ref.storage, ref, False) for ref in references((event.args, event.kwargs)))
        yield from ((ref.storage, ref, True) for ref in references(event.outputs))
    elif isinstance(event, HostRead):
        yield event.tensor.storage, event.tensor, False
    elif isinstance(event, Launch):
        for index, argument in enumerate(event.args):
            if isinstance(argument.value, PointerArg):
                yield argument.value.storage, argument.value.tensor, index in event.written
        yield from ((storage, None, True) for storage in event.reached)


def _overlap(a: TensorRef | None, b: TensorRef | None) -> bool:
    if a is None or b is None:
        return True
    (low, high), (from_, to) = _bytes(a), _bytes(b)
    if high <= from_ or to <= low:
        return False
    if max(np.prod(a.shape), np.prod(b.shape)) > _EXACT or _size(a) != _size(b):
        return True
    return bool(np.isin(_elements(a), _elements(b)).any())


def _size(ref: TensorRef) -> int:
    return next((size for bits, size in _SIZES.items() if ref.dtype.endswith(bits)), 1)


def _bytes(ref: TensorRef) -> tuple[int, int]:
    """From its first byte to after its last (offset and strides are in elements)."""
    if 0 in ref.shape:
        return 0, 0
    reach = sum((n - 1) * stride for n, stride in zip(ref.shape, ref.strides))
    return ref.offset * _size(ref), (ref.offset + reach + 1) * _size(ref)


def _elements(ref: TensorRef) -> np.ndarray:
    places = np.array([ref.offset])
    for n, stride in zip(ref.shape, ref.strides):
        places = (places[:, None] + np.arange(n) * stride).reshape(-1)
    return places
