"""Keeps freed pages for the next array: without it every temporary is mapped, zeroed and unmapped again.

glibc only; elsewhere it does nothing.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4
_LARGEST = 32 << 20  # the most that glibc accepts
_KEPT = 256 << 20


@cache
def keep_pages() -> None:
    """Once per process."""
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_MMAP_THRESHOLD, _LARGEST)
        mallopt(_MMAP_MAX, 0)  # larger arrays too come from the heap
        mallopt(_TRIM_THRESHOLD, _KEPT)
