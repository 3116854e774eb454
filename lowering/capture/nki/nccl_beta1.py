"""`neuronxcc.nki.nccl`: collectives, which are not modelled; importing it is no harm."""

from __future__ import annotations

from typing import Any

from lowering.capture.nki.placeholders import placeholder


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return placeholder(f"nccl.{name}")
