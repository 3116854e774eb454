"""`neuronxcc.nki.typing`: what annotations of kernels name.  They change nothing."""

from __future__ import annotations

from typing import Any


class _Annotation:
    """Subscripted with a shape and a dtype, or called, it stays what it is."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getitem__(self, key: Any) -> _Annotation:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> _Annotation:
        return self

    def __or__(self, other: Any) -> _Annotation:
        return self

    __ror__ = __or__

    def __repr__(self) -> str:
        return f"nt.{self.name}"


tensor, mutable_tensor, mutable, scalar = (_Annotation(n) for n in ("tensor", "mutable_tensor", "mutable", "scalar"))
