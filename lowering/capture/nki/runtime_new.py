"""The module `nki.runtime`: runs compiled kernels on a device; not modelled, and says so when it is used."""

from __future__ import annotations

from typing import Any

from lowering.capture.nki.placeholders import placeholder


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return placeholder(f"nki.runtime.{name}")
