"""The progress display: one line on standard error, only when that is a terminal.

Takes nothing; gives a function that is told what is going on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A spinner with the current state; silent when standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield lambda state: status.update(state)
