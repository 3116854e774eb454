"""Storages of a run as KIR buffers; views that were just read or written are kept as values.

Takes a Builder and TensorRefs; gives reads and writes.  What a storage is, a subclass says.  Knows no source language.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from lowering.capture.trace import TensorRef
from lowering.errors import Span
from lowering.ir.builder import Builder
from lowering.ir.program import Value
from lowering.ir.types import DType
from lowering.views import as_view

View = tuple[str, tuple[int, ...], tuple[int, ...], int]


class Memory(ABC):
    """Buffers by storage.

    A view that was just read or written is remembered until its storage changes, so that a chain of ops becomes SSA.
    """

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._buffers: dict[int, Value] = {}
        self._known: dict[int, dict[View, Value]] = {}
        self._written: dict[int, tuple[TensorRef, Value]] = {}

    @abstractmethod
    def _dtype(self, ref: TensorRef) -> DType:
        """What the elements of a view are."""

    @abstractmethod
    def _allocated(self, storage: int) -> tuple[int, Span]:
        """Bytes of a storage, and where it was made."""

    @abstractmethod
    def _enter(self, storage: int) -> None:
        """Writes what a storage holds before anything is done to it."""

    def read(self, ref: TensorRef) -> Value:
        buffer = self._buffer(ref.storage)  # entering a constant makes a view known
        view, known = _view(ref), self._known.setdefault(ref.storage, {})
        if view not in known:
            value = self._from_known(ref)
            if value is not None:
                known[view] = value
                return value
            attrs = {"to": self._dtype(ref).name, "shape": ref.shape, "strides": ref.strides, "offset": ref.offset}
            known[view] = self._builder("read", buffer, **attrs)
        return known[view]

    def write(self, ref: TensorRef, value: Value) -> None:
        buffer = self._buffer(ref.storage)
        self._builder.op("write", [buffer, value], strides=tuple(ref.strides), offset=ref.offset)
        self.forget(ref.storage)
        if _injective(ref):
            self._known[ref.storage] = {_view(ref): value}
            self._written[ref.storage] = (ref, value)

    def _from_known(self, ref: TensorRef) -> Value | None:
        """The view in terms of what was last written, if that covers it."""
        last = self._written.get(ref.storage)
        return None if last is None else as_view(self._builder, last[1], last[0], ref)

    def forget(self, storage: int) -> None:
        """Its contents may have changed."""
        self._known[storage] = {}
        self._written.pop(storage, None)

    def _buffer(self, storage: int) -> Value:
        if storage not in self._buffers:
            nbytes, span = self._allocated(storage)
            with self._builder.at(span if span.line else self._builder.span):
                self._buffers[storage] = self._builder("alloc", bytes=nbytes)
            self._enter(storage)
        return self._buffers[storage]


def _view(ref: TensorRef) -> View:
    return ref.dtype, tuple(ref.shape), tuple(ref.strides), ref.offset


def _injective(ref: TensorRef) -> bool:
    """No two lanes share an element, so that what is written is what is read back."""
    reach = 0
    for stride, extent in sorted(zip(ref.strides, ref.shape, strict=True)):
        if extent > 1 and stride <= reach:
            return False
        reach += stride * (extent - 1) if extent > 1 else 0
    return True
