"""Copies to the host that do not block: whoever reads them there has to wait for their stream first.

Takes copies as they are recorded, and reads of tensors on the host; gives the reads that did not wait.  Must not know
how either comes about.
"""

from __future__ import annotations

import torch

from lowering.capture.torch_streams import Clocks
from lowering.capture.trace import HostTrace, UnsynchronisedRead
from lowering.errors import Span


class HostCopies:
    """One per session; what is under way is forgotten when a capture begins."""

    def __init__(self, clocks: Clocks) -> None:
        self.clocks = clocks
        self._under_way: dict[int, tuple[int, int, Span]] = {}  # storage -> stream, time of the copy, its place
        self._alive: list[torch.UntypedStorage] = []  # an address names a storage only while the storage lives

    def begin(self) -> None:
        self._under_way.clear()
        self._alive.clear()

    def started(self, target: torch.Tensor, span: Span) -> None:
        """The current stream has been given a copy to ``target``, for which the host does not wait."""
        stream, clock = self.clocks.tick()
        storage = target.untyped_storage()
        self._alive.append(storage)
        self._under_way[storage._cdata] = (stream, clock[stream], span)

    def __bool__(self) -> bool:
        return bool(self._under_way)

    def read(self, tensor: torch.Tensor, trace: HostTrace, construct: str, span: Span) -> None:
        """The host reads a tensor on the host; the first such read of a copy that may not have come is noted."""
        found = self._under_way.pop(tensor.untyped_storage()._cdata, None)
        if found is not None:
            stream, time, copied = found
            if self.clocks.host.get(stream, 0) < time:
                trace.unsynchronised.append(UnsynchronisedRead(construct, copied, span))
