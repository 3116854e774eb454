"""The cores of one launch (lnc): each runs the kernel, and they meet at barriers and exchanges (NKI.md §1.6).

One core runs at a time, in a thread of its own: core 0 until it meets the others or ends, then core 1, and so on.  What
a core does between two meetings is recorded as a whole, so that a trace is a sequence; what the other core does at the
same time cannot be seen before they meet.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowering.capture.nki.races import look_for_races
from lowering.capture.nki.shared_hbm import Instance
from lowering.capture.nki.trace import Indirect, Loop, View
from lowering.capture.nki.tracer import Tracer, addresses, current, here, unmodelled
from lowering.errors import Span, Unsupported, UsageError


@dataclass
class Post:
    """What a core brings to a meeting: ``kind``, and for an exchange what it sends, where it receives and from whom."""

    kind: str
    span: Span
    dst: View | None = None
    src: View | None = None
    sends_to: int = 0
    receives_from: int = 0
    attrs: dict[str, Any] | None = None


class _Stopped(BaseException):
    """Ends the thread of a core whose launch has failed."""


class Cores:
    """``run`` gives what each core returns; ``meet`` is called by a core, and returns once all have come."""

    def __init__(self, tracer: Tracer, count: int) -> None:
        self._tracer, self._count = tracer, count
        self._go = [threading.Semaphore(0) for _ in range(count)]
        self._back = threading.Semaphore(0)
        self._posts: dict[int, Post] = {}
        self._results: dict[int, Any] = {}
        self._failed: BaseException | None = None
        self._loops: list[list[Loop]] = [list(tracer.loops) for _ in range(count)]
        self._instances = [Instance() for _ in range(count)]
        self._places = [tracer.place] * count

    def run(self, body: Callable[[int], Any]) -> list[Any]:
        threads = [threading.Thread(target=self._work, args=(core, body), daemon=True) for core in range(self._count)]
        for thread in threads:
            thread.start()
        outer = self._tracer.loops, self._tracer.core, self._tracer.cores
        self._tracer.cores, begun = self, len(self._tracer.trace.instrs)
        try:
            while len(self._results) < self._count:
                for core in range(self._count):
                    if core not in self._results:
                        self._switch(core)
                look_for_races(self._tracer.trace.instrs[begun:], self._tracer.trace.storages)
                self._meeting()
                begun = len(self._tracer.trace.instrs)
        finally:
            self._tracer.loops, self._tracer.core, self._tracer.cores = outer
            self._stop()
        return [self._results[core] for core in range(self._count)]

    def _work(self, core: int, body: Callable[[int], Any]) -> None:
        self._go[core].acquire()
        try:
            if self._failed is None:
                self._results[core] = body(core)
        except _Stopped:
            pass
        except BaseException as error:
            self._failed = error
        finally:
            self._back.release()

    def _switch(self, core: int) -> None:
        """Lets a core run until it meets the others or ends."""
        tracer = self._tracer
        tracer.core, tracer.loops, tracer.instance = core, self._loops[core], self._instances[core]
        tracer.place = self._places[core]
        self._go[core].release()
        self._back.acquire()
        self._loops[core], self._places[core] = tracer.loops, tracer.place
        if self._failed is not None:
            raise self._failed

    def _stop(self) -> None:
        """Ends every core that still waits."""
        if self._failed is None:
            self._failed = _Stopped()
        for core in range(self._count):
            if core not in self._results:
                self._go[core].release()

    def meet(self, post: Post) -> None:
        core = self._tracer.core
        self._posts[core] = post
        self._back.release()
        self._go[core].acquire()
        if self._failed is not None:
            raise _Stopped

    def _meeting(self) -> None:
        posts, self._posts = self._posts, {}
        if not posts:
            return
        first = next(iter(posts.values()))
        if len(posts) < self._count:
            missing = next(core for core in range(self._count) if core not in posts)
            raise UsageError(f"{first.span}: {first.kind} waits for core {missing}, which has ended")
        for post in posts.values():
            if post.kind != first.kind:
                raise UsageError(f"{post.span}: {post.kind} meets {first.kind} at {first.span}")
        if first.kind == "nisa.sendrecv":
            self._exchange(posts)

    def _exchange(self, posts: dict[int, Post]) -> None:
        sources = [post.src for post in posts.values()]
        for core, post in posts.items():
            sender = posts.get(post.receives_from)
            if sender is None or sender.sends_to != core:
                raise UsageError(
                    f"{post.span}: core {core} receives from {post.receives_from}, which does not send to it"
                )
            if any(_meet(post.dst, source) for source in sources):
                raise Unsupported("nisa.sendrecv into elements that are sent at the same time", post.span)
        for core, post in posts.items():
            self._tracer.core, self._tracer.loops = core, self._loops[core]
            sender = posts[post.receives_from]
            assert post.dst is not None and sender.src is not None
            made = self._tracer.emit("send_recv", [post.dst], [sender.src], "dma", None, **post.attrs or {})
            self._tracer.trace.instrs[-1] = replace(made, span=post.span)


def _meet(one: View | None, other: View | None) -> bool:
    """Whether two views share elements, or may."""
    if one is None or other is None:
        return False
    if isinstance(one, Indirect) or isinstance(other, Indirect) or one.dtype != other.dtype:
        return _storage(one) == _storage(other)
    return one.storage == other.storage and bool(np.intersect1d(addresses(one), addresses(other)).size)


def _storage(view: View) -> int:
    return view.base.storage if isinstance(view, Indirect) else view.storage


def exchange(dst: View, src: View, sends_to: int, receives_from: int, attrs: dict[str, Any]) -> None:
    """One core's part of an exchange."""
    cores = current().cores
    if cores is None:
        raise unmodelled("nisa.sendrecv in a kernel that runs on one core", "launch it as kernel[2]")
    cores.meet(Post("nisa.sendrecv", here(), dst, src, sends_to, receives_from, attrs))


def barrier() -> None:
    """One core's part of a barrier; nothing where there is one core."""
    cores = current().cores
    if cores is not None:
        cores.meet(Post("nisa.core_barrier", here()))
