"""CUDA streams and events that remember who waited for whom.

Takes what user code asks of torch.cuda.Stream and Event; gives the order of recorded events (vector clocks).  Nothing
runs here.  Must not know about traces.
"""

from __future__ import annotations

from typing import Any

import torch

from lowering.capture import torch_tensor

Clock = dict[int, int]  # stream -> how many of its events are known to be finished


def joined(*clocks: Clock) -> Clock:
    """All that any of the clocks knows."""
    return {stream: max(c.get(stream, 0) for c in clocks) for clock in clocks for stream in clock}


class Clocks:
    """One per session: the current stream, and what every stream, and the host, has waited for."""

    def __init__(self) -> None:
        self.current = 0
        self.made = 0
        self.host: Clock = {}
        self.streams: dict[int, Clock] = {}

    def begin(self) -> None:
        """A capture begins: everything before it is finished."""
        self.current = 0
        self.wait_for_all()

    def of(self, stream: int) -> Clock:
        return self.streams.get(stream, {})

    def tick(self) -> tuple[int, Clock]:
        """The current stream gets one more event: the stream, and what is finished before and with that event."""
        clock = joined(self.of(self.current), self.host)
        clock[self.current] = clock.get(self.current, 0) + 1
        self.streams[self.current] = clock
        return self.current, clock

    def wait(self, stream: int, clock: Clock) -> None:
        """``stream`` goes on only when all of ``clock`` is finished."""
        self.streams[stream] = joined(self.of(stream), clock)

    def host_waits(self, clock: Clock) -> None:
        self.host = joined(self.host, clock)

    def wait_for_all(self) -> None:
        self.host_waits(joined(*self.streams.values()))

    def wait_for_current(self) -> None:
        """The host reads a result: it waits for the current stream, and for that one only."""
        self.host_waits(self.of(self.current))

    def known(self, stream: int) -> Clock:
        """What is finished once all that the host has given to ``stream`` is."""
        return joined(self.of(stream), self.host)


def clocks() -> Clocks:
    """The active session's."""
    return torch_tensor.active_dispatcher().clocks


class VirtualStream:
    """torch.cuda.Stream; number 0 is the default one.  torch's streams do not wait for the default stream."""

    device = torch.device("cuda", 0)
    device_index = 0

    def __init__(self, *args: Any, number: int | None = None, **kwargs: Any) -> None:
        if number is None:
            clocks().made += 1
        self.stream_id = self.cuda_stream = clocks().made if number is None else number
        self._before: list[int] = []

    def __enter__(self) -> VirtualStream:
        self._before.append(clocks().current)
        clocks().current = self.stream_id
        return self

    def __exit__(self, *exception: Any) -> None:
        clocks().current = self._before.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VirtualStream) and other.stream_id == self.stream_id

    def __hash__(self) -> int:
        return self.stream_id

    def is_capturing(self) -> bool:
        return False

    def query(self) -> bool:
        """Answers that all is finished, so the host may rely on it."""
        self.synchronize()
        return True

    def synchronize(self) -> None:
        clocks().host_waits(clocks().of(self.stream_id))

    def wait_stream(self, stream: Any) -> None:
        clocks().wait(self.stream_id, clocks().known(stream.stream_id))

    def wait_event(self, event: Any) -> None:
        clocks().wait(self.stream_id, event.clock)

    def record_event(self, event: Any = None) -> Any:
        event = VirtualEvent() if event is None else event
        event.record(self)
        return event


class VirtualEvent:
    """torch.cuda.Event: what its stream had finished when it was recorded."""

    device = torch.device("cuda", 0)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.clock: Clock = {}

    def record(self, stream: Any = None) -> None:
        self.clock = clocks().known(clocks().current if stream is None else stream.stream_id)

    def wait(self, stream: Any = None) -> None:
        clocks().wait(clocks().current if stream is None else stream.stream_id, self.clock)

    def synchronize(self) -> None:
        clocks().host_waits(self.clock)

    def query(self) -> bool:
        self.synchronize()
        return True

    def elapsed_time(self, end: Any) -> float:
        return 1.0


def current_stream(device: Any = None) -> VirtualStream:
    return VirtualStream(number=clocks().current)


def default_stream(device: Any = None) -> VirtualStream:
    return VirtualStream(number=0)


def stream_context(stream: Any = None) -> VirtualStream:
    """torch.cuda.stream(s): a context manager of its own, since one stream may be entered several times."""
    return VirtualStream(number=clocks().current if stream is None else stream.stream_id)


def set_stream(stream: Any) -> None:
    if stream is not None:
        clocks().current = stream.stream_id


def synchronize(device: Any = None) -> None:
    clocks().wait_for_all()
