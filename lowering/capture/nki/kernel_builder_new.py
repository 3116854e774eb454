"""The module `nki.compiler.kernel_builder`: not modelled, and says so when it is used."""

from __future__ import annotations

from typing import Any

from lowering.capture.nki.placeholders import placeholder


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return placeholder(f"nki.compiler.kernel_builder.{name}")
