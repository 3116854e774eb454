"""The memory of an NKI kernel as KIR buffers: tensors that share a place share a buffer.

A buffer whose views have elements of several sizes is held as bit patterns of the narrowest of them; a wider element
is put together of those, the first of them its lowest bits (little endian).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from lowering.capture.nki.dtypes import size_of
from lowering.capture.nki.trace import Indirect, Instr, NkiTrace
from lowering.capture.nki.tracer import addresses
from lowering.capture.trace import TensorRef
from lowering.errors import UNKNOWN_SPAN, Span, Unsupported
from lowering.frontends.nki.numerics import kir_dtype
from lowering.frontends.nki.packed import HELD
from lowering.ir.builder import Builder
from lowering.ir.program import Value
from lowering.ir.types import DTYPES, DType
from lowering.memory import Memory
from lowering.nki_places import Places


class NkiMemory(Memory):
    """The storages of a trace as KIR buffers; ``instrs``: the instructions that will be lowered."""

    def __init__(self, builder: Builder, trace: NkiTrace, instrs: Sequence[Instr]) -> None:
        super().__init__(builder)
        self._storages, self._places = trace.storages, Places(trace.storages)
        self._units: dict[int, int] = {}  # bytes of the narrowest elements that a buffer is viewed as
        for storage, dtype in sorted(_viewed(trace, instrs)):
            for buffer in self._places.buffers_of(storage) if storage in self._places.sharing else (storage,):
                self._units[buffer] = min(size_of(dtype), self._units.get(buffer, 8))

    def read(self, ref: TensorRef) -> Value:
        return super().read(self._places.placed(ref))

    def write(self, ref: TensorRef, value: Value) -> None:
        if _repeats(ref):  # which of them stays, or whether they add up in PSUM, is not documented
            raise Unsupported("a destination several of whose elements have one place", self._builder.span)
        super().write(self._places.placed(ref), value)

    def _loaded(self, buffer: Value, ref: TensorRef) -> Value:
        unit, b = self._units[ref.storage], self._builder
        if size_of(ref.dtype) == unit:
            return super()._loaded(buffer, ref)
        parts, wide = super()._loaded(buffer, _in_parts(ref, unit)), DTYPES[f"u{size_of(ref.dtype) * 8}"]
        whole: Value | None = None
        for number in range(parts.type.shape[-1]):
            part = b.cast(_part(b, parts, number), wide)
            moved = b("shl", part, b.like(8 * unit * number, part)) if number else part
            whole = moved if whole is None else b("or", whole, moved)
        assert whole is not None
        return b.bitcast(whole, self._dtype(ref))

    def _stored(self, buffer: Value, ref: TensorRef, value: Value) -> None:
        unit, b = self._units[ref.storage], self._builder
        if size_of(ref.dtype) == unit:
            return super()._stored(buffer, ref, value)
        bits, narrow = b.bitcast(value, DTYPES[f"u{size_of(ref.dtype) * 8}"]), DTYPES[f"u{unit * 8}"]
        parts: list[Value] = []
        for number in range(size_of(ref.dtype) // unit):
            moved = b("shr", bits, b.like(8 * unit * number, bits)) if number else bits
            parts.append(b.reshape(b.cast(moved, narrow), (*value.type.shape, 1)))
        return super()._stored(buffer, _in_parts(ref, unit), b("concat", *parts, axis=len(value.type.shape)))

    def _dtype(self, ref: TensorRef) -> DType:
        return kir_dtype(ref.dtype)

    def _allocated(self, storage: int) -> tuple[int, Span]:
        region, entry = self._places.buffers.get(storage), self._storages.get(storage)
        if region is not None:
            return region.nbytes, UNKNOWN_SPAN if entry is None else entry.span
        assert entry is not None
        return prod(entry.shape) * size_of(entry.dtype), entry.span

    def _enter(self, storage: int) -> None:
        entry = self._storages.get(storage)
        if entry is not None and entry.origin == "data" and entry.data is not None:
            ref = TensorRef(storage, entry.dtype, (entry.data.size,), (1,))
            self.write(ref, self._builder.constant(entry.data.reshape(-1), kir_dtype(entry.dtype)))


def _repeats(ref: TensorRef) -> bool:
    """Whether two elements of a view lie at one place."""
    reach = 0
    for stride, extent in sorted((abs(s), n) for s, n in zip(ref.strides, ref.shape, strict=True) if n > 1):
        if stride <= reach:  # not one within the other: counted
            return np.unique(addresses(ref)).size < prod(ref.shape)
        reach += stride * (extent - 1)
    return False


def _viewed(trace: NkiTrace, instrs: Sequence[Instr]) -> set[tuple[int, str]]:
    """(storage, dtype) of everything that is read or written."""
    found = {(s.id, s.dtype) for s in trace.storages.values() if s.origin == "data"}
    found |= {(ref.storage, ref.dtype) for _, ref in (*trace.inputs, *trace.outputs)}
    return found | {(ref.storage, HELD.get(ref.dtype, ref.dtype)) for instr in instrs for ref in _refs(instr)}


def _refs(instr: Instr) -> Iterator[TensorRef]:
    for view in (*instr.dst, *instr.src):
        if isinstance(view, TensorRef):
            yield view
        elif isinstance(view, Indirect):
            yield view.base
            yield view.index


def _in_parts(ref: TensorRef, unit: int) -> TensorRef:
    """The same bytes as unsigned integers of ``unit`` bytes, those of one element along a last dimension."""
    times = size_of(ref.dtype) // unit
    strides = (*(stride * times for stride in ref.strides), 1)
    return TensorRef(ref.storage, f"uint{unit * 8}", (*ref.shape, times), strides, ref.offset * times)


def _part(b: Builder, parts: Value, number: int) -> Value:
    """parts[..., number]."""
    *outer, _ = parts.type.shape
    rank = len(outer)
    start, limit = (*[0] * rank, number), (*outer, number + 1)
    return b.reshape(b("slice", parts, start=start, limit=limit, step=(1,) * (rank + 1)), outer)
