"""Storages of a run as KIR buffers; views that were just read or written are kept as values.

Takes a Builder and TensorRefs; gives reads and writes.  What a storage is, a subclass says.  Knows no source language.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from lowering.capture.trace import TensorRef
from lowering.disjoint import disjoint
from lowering.errors import Span
from lowering.ir.builder import Builder
from lowering.ir.program import Value
from lowering.ir.types import DType
from lowering.views import as_view

KEPT = 32
View = tuple[str, tuple[int, ...], tuple[int, ...], int]


class Memory(ABC):
    """Buffers by storage.

    A view that was read or written is remembered until something is written that may overlap it, so that a chain of
    ops becomes SSA; of each storage the last KEPT views.
    """

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._buffers: dict[int, Value] = {}
        self._known: dict[int, dict[View, tuple[TensorRef, Value]]] = {}
        self._written: dict[int, list[tuple[TensorRef, Value]]] = {}

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
            if value is None:
                value = self._loaded(buffer, ref)
            known[view] = ref, value
        return known[view][1]

    def write(self, ref: TensorRef, value: Value) -> None:
        buffer = self._buffer(ref.storage)
        self._stored(buffer, ref, value)
        self._overwritten(ref)
        if _injective(ref):
            self._known[ref.storage][_view(ref)] = ref, value
            self._written[ref.storage].append((ref, value))

    def _loaded(self, buffer: Value, ref: TensorRef) -> Value:
        """The op that reads a view."""
        attrs = {"to": self._dtype(ref).name, "shape": ref.shape, "strides": ref.strides, "offset": ref.offset}
        return self._builder("read", buffer, **attrs)

    def _stored(self, buffer: Value, ref: TensorRef, value: Value) -> None:
        """The op that writes a view."""
        self._builder.op("write", [buffer, value], strides=tuple(ref.strides), offset=ref.offset)

    def _from_known(self, ref: TensorRef) -> Value | None:
        """The view in terms of one that was written, if that covers it."""
        for written, value in reversed(self._written.get(ref.storage, [])):
            found = as_view(self._builder, value, written, ref)
            if found is not None:
                return found
        return None

    def _overwritten(self, ref: TensorRef) -> None:
        """Only views that surely share nothing with ``ref`` are still what they were."""
        known, written = self._known.get(ref.storage, {}), self._written.get(ref.storage, [])
        kept = [(view, entry) for view, entry in list(known.items())[-KEPT:] if disjoint(entry[0], ref)]
        self._known[ref.storage] = dict(kept)
        self._written[ref.storage] = [entry for entry in written[-KEPT:] if disjoint(entry[0], ref)]

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
