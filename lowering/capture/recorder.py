"""Writes one HostTrace: gives storages their ids, records events, and knows which contents are not true.

Takes plain CPU tensors (the inner tensors of virtual ones); gives TensorRefs and events.  Must not know about
dispatch, devices or Triton.

Three facts are kept per storage.  *Symbolic*: its contents depend on an input or were written by a recorded event.
*Tainted*: a launch (or an op that read tainted memory) wrote it, so the bytes here are not what the program would see.
Neither: a constant, whose bytes become part of the trace when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from lowering.capture.torch_arrays import array_of, dtype_name, storage_bytes, tensor_of, unobserved
from lowering.capture.torch_streams import Clock, Clocks
from lowering.capture.trace import AtenCall, Event, HostRead, HostTrace, Launch, PointerArg, Storage, TensorRef
from lowering.capture.user_frames import CAPTURE_FRAME, user_span
from lowering.errors import UNKNOWN_SPAN, Span, Unsupported

ReadBack = Callable[[HostTrace, TensorRef], np.ndarray]


class Recorder:
    """The trace under construction."""

    def __init__(
        self,
        target: str,
        read_back: ReadBack | None,
        stale: frozenset[int] = frozenset(),
        clocks: Clocks | None = None,
    ) -> None:
        self.trace = HostTrace(target=target)
        self.read_back = read_back
        self.stale = stale  # addresses of storages that an earlier capture left untrue
        self.clocks = clocks or Clocks()
        self.order: list[tuple[int, Clock]] = []  # by event: its stream, and what is finished with it
        self.symbolic: set[int] = set()
        self.tainted: set[int] = set()
        self.spans_by_sequence: dict[int, Span] = {}
        self._ids: dict[int, int] = {}
        self._alive: list[torch.UntypedStorage] = []  # an address names a storage only while the storage lives

    # -- storages and references ---------------------------------------------------------------------------------

    def knows(self, tensor: torch.Tensor) -> bool:
        return tensor.untyped_storage()._cdata in self._ids

    def is_symbolic(self, tensor: torch.Tensor) -> bool:
        return self._ids.get(tensor.untyped_storage()._cdata) in self.symbolic

    def is_tainted(self, tensor: torch.Tensor) -> bool:
        return self._ids.get(tensor.untyped_storage()._cdata) in self.tainted

    def tainted_storages(self) -> list[torch.UntypedStorage]:
        return [storage for storage, id in zip(self._alive, self._ids.values()) if id in self.tainted]

    def key_of(self, id: int) -> int:
        """What torch knows the storage by, while it lives."""
        return self._alive[id]._cdata

    def storage_id(self, tensor: torch.Tensor, origin: str = "data") -> int:
        """The id of the tensor's storage; a storage not seen before is entered with ``origin``."""
        storage = tensor.untyped_storage()
        id = self._ids.get(storage._cdata)
        if id is None:
            id = self._enter(storage, origin)
        elif storage.nbytes() > self.trace.storages[id].nbytes:  # resize_ made it grow
            self.trace.storages[id].nbytes = storage.nbytes()
        return id

    def _enter(self, storage: torch.UntypedStorage, origin: str) -> int:
        id = len(self._alive)
        self._ids[storage._cdata] = id
        self._alive.append(storage)
        if origin == "data" and storage._cdata in self.stale:
            origin = "empty"
            self.note("a buffer kept from an earlier run is read; its contents are taken as undefined")
        data = storage_bytes(storage) if origin != "empty" else None
        span = user_span(CAPTURE_FRAME) if origin == "empty" else UNKNOWN_SPAN
        self.trace.storages[id] = Storage(id, storage.nbytes(), origin, data, span)
        return id

    def ref(self, tensor: torch.Tensor, origin: str = "data") -> TensorRef:
        """The TensorRef of a CPU tensor."""
        return TensorRef(
            self.storage_id(tensor, origin),
            dtype_name(tensor.dtype),
            tuple(tensor.shape),
            tuple(tensor.stride()),
            int(tensor.storage_offset()),
        )

    def pointer(self, tensor: torch.Tensor) -> PointerArg:
        ref = self.ref(tensor)
        return PointerArg(ref.storage, ref.offset * tensor.itemsize, ref)

    def address(self, tensor: torch.Tensor) -> int:
        """Where the tensor's first element is; from now on that number is known as an address."""
        self.trace.addresses[self.storage_id(tensor)] = tensor.untyped_storage().data_ptr()
        return tensor.data_ptr()

    def pointer_at(self, address: int, dtype: torch.dtype) -> PointerArg | None:
        """The memory at an address that the host computed itself, as wrappers of tensors do."""
        for id, base in self.trace.addresses.items():
            offset = address - base
            if 0 <= offset < max(1, self.trace.storages[id].nbytes):
                ref = TensorRef(id, dtype_name(dtype), (), (), offset // dtype.itemsize)
                return PointerArg(id, offset, ref)
        return None

    # -- events --------------------------------------------------------------------------------------------------

    def note(self, sentence: str) -> None:
        if sentence not in self.trace.notes:
            self.trace.notes.append(sentence)

    def input(self, name: str, tensor: torch.Tensor) -> TensorRef:
        ref = self.ref(tensor, "input")
        self.symbolic.add(ref.storage)
        self.trace.inputs.append((name, ref))
        return ref

    def aten(self, call: AtenCall, read: Iterable[TensorRef], untrue: bool) -> None:
        """Enters an op; its outputs are symbolic, and tainted if ``untrue`` or if it read tainted memory."""
        self._append(call)
        tainted = untrue or any(ref.storage in self.tainted for ref in read)
        for ref in references(call.outputs):
            self.symbolic.add(ref.storage)
            if tainted:
                self.tainted.add(ref.storage)

    def launch(self, launch: Launch) -> None:
        """Enters a launch; whatever it may write to is tainted, because launches are not executed here."""
        launch = replace(launch, reached=self._reached(launch))
        self._append(launch)
        written = [launch.args[index].value for index in launch.written]
        storages = {pointer.storage for pointer in written if isinstance(pointer, PointerArg)} | {*launch.reached}
        self.symbolic |= storages
        self.tainted |= storages

    def _reached(self, launch: Launch) -> tuple[int, ...]:
        """The storages that a kernel may find in tables of pointers, of whatever copy; it may write to any."""
        if "tt.int_to_ptr" not in launch.ttir:
            return ()
        tables = list(self.trace.storages.values())
        return tuple(sorted({id for table in tables for _, id, _ in self.trace.pointers_in(table)}))

    def read(self, tensor: torch.Tensor, span: Span, construct: str = "a host read", waits: bool = True) -> None:
        """Makes the tensor's bytes true and enters that the host saw them.  Constants are not worth an event.

        ``waits``: for the current stream, as it does for a tensor that is not on the host.
        """
        if not self.is_symbolic(tensor):
            return
        ref = self.ref(tensor)
        if ref.storage in self.tainted:
            self._make_true(tensor, ref, span, construct)
        self._append(HostRead(ref, array_of(tensor), span))
        if waits:
            self.clocks.wait_for_current()

    def _append(self, event: Event) -> None:
        self.trace.events.append(event)
        self.order.append(self.clocks.tick())

    def _make_true(self, tensor: torch.Tensor, ref: TensorRef, span: Span, construct: str) -> None:
        if self.read_back is None:
            hint = "run with concrete inputs, so that the launches before this line can be evaluated"
            raise Unsupported(f"{construct} of a result computed by a kernel", span, hint)
        value = tensor_of(np.ascontiguousarray(self.read_back(self.trace, ref)))
        with unobserved():
            tensor.copy_(value.reshape(tensor.shape))
        if tensor.numel() * tensor.itemsize == self.trace.storages[ref.storage].nbytes:
            self.tainted.discard(ref.storage)


def references(values: Any) -> Iterable[TensorRef]:
    """Every TensorRef inside nested tuples and dicts."""
    if isinstance(values, TensorRef):
        yield values
    elif isinstance(values, tuple | list):
        for value in values:
            yield from references(value)
    elif isinstance(values, dict):
        yield from references(tuple(values.values()))
