"""Begins to judge the given set of shapes while the workers still capture the others.

Takes an Exchange; gives Early, whose thread ends by itself or is stopped.  What goes wrong in it shows where its result
is asked for.
"""

from __future__ import annotations

import threading
import time
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING

from irverify.collect import given
from irverify.exchange import POLL_SECONDS, Exchange
from irverify.options import CompareOptions

if TYPE_CHECKING:
    from equivalence.judge import Given


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

        with suppress(Exception):  # whatever it is: collecting everything raises it again, where it is shown
            variant = given(exchange, files, frameworks)
            if variant is None or self._stopped.is_set():
                return
            self.given = Given(Pair(variant.program_a, variant.program_b, dict(variant.inputs)), options)
            if self._stopped.is_set():
                return
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                self.given.make()

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
