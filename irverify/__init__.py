"""irverify: says whether a kernel survived its translation.  ``from irverify import compare``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from irverify.api import compare

__version__ = "0.1.0"
__all__ = ["__version__", "compare"]


def __getattr__(name: str) -> Any:  # lazy: the command line must start before numpy is worth importing
    if name == "compare":
        from irverify.api import compare

        return compare
    raise AttributeError(f"module 'irverify' has no attribute {name!r}")
