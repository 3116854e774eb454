"""Begins to judge the given set of shapes, after a small one if it is large, while the workers still capture others.

Takes an Exchange; gives Early, whose thread ends by itself or is stopped.  What goes wrong in it shows where its result
is asked for.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

from irverify.collect import variant
from irverify.exchange import POLL_SECONDS, Exchange
from irverify.options import CompareOptions

if TYPE_CHECKING:
    from equivalence.judge import Given, Pair

LEAD_SECONDS = 2.0  # to wait for a smaller set of shapes before a large given one


class Early:
    """``given`` is there after ``join`` when both sides could be captured at the given shapes."""

    def __init__(
        self, exchange: Exchange, files: tuple[str, str], frameworks: tuple[str, str], options: CompareOptions
    ) -> None:
        self.given: Given | None = None
        self._stopped = threading.Event()
        self._work = exchange, files, frameworks, options
        self._thread = threading.Thread(target=self._run, name="early", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        exchange, files, frameworks, options = self._work
        while not (exchange.has("a.v0") and exchange.has("b.v0")):
            if self._stopped.is_set():
                return
            time.sleep(POLL_SECONDS)
        from equivalence.judge import Given, Pair

        def pair(index: int) -> Pair | None:
            found = variant(exchange, index, files, frameworks)
            return found and Pair(found.program_a, found.program_b, dict(found.inputs))

        with suppress(Exception):  # whatever it is: collecting everything raises it again, where it is shown
            first = pair(0)
            if first is None or self._stopped.is_set():
                return
            self.given = made = Given(first, options)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                made.lead(self._next(pair, exchange))
                if not self._stopped.is_set():
                    made.make()

    def _next(self, pair: Callable[[int], Pair | None], exchange: Exchange) -> Iterator[Pair]:
        """The sets of shapes after the given one, as they come; not for long."""
        until = time.monotonic() + LEAD_SECONDS
        for index in count(1):
            while not (exchange.has(f"a.v{index}") and exchange.has(f"b.v{index}")):
                ended = exchange.has("end") and not exchange.has(f"v{index}")
                if ended or self._stopped.is_set() or time.monotonic() > until:
                    return
                time.sleep(POLL_SECONDS)
            found = pair(index)
            if found is None:
                return
            yield found

    def join(self) -> Given | None:
        """What was begun, finished."""
        if self.given is None:
            self._stopped.set()
        self._thread.join()
        return self.given

    def stop(self) -> None:
        """Gives up; the thread ends soon."""
        self._stopped.set()
        if self.given is not None:
            self.given.stop()
        self._thread.join()
