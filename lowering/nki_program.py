"""From the trace of an NKI kernel to one KIR Program: storages as buffers, instructions in their order.

Takes an NkiTrace; gives a Program of level 'nki'.
"""

from __future__ import annotations

import hashlib
from math import prod

import numpy as np

from lowering.capture.nki.dtypes import size_of
from lowering.capture.nki.trace import NkiTrace
from lowering.capture.nki.tracer import addresses
from lowering.capture.trace import TensorRef
from lowering.errors import Span, Unsupported
from lowering.frontends.nki import Model, State, lower_instr
from lowering.frontends.nki.numerics import kir_dtype
from lowering.ir.builder import Builder
from lowering.ir.program import Program, Value
from lowering.ir.types import DType, TensorType
from lowering.memory import Memory
from lowering.nki_places import Places


def lower_nki(trace: NkiTrace, model: Model | None = None) -> Program:
    """The program of a kernel's run; ``model``: what is taken for what the documentation leaves open."""
    builder = Builder()
    memory = NkiMemory(builder, trace)
    state = State(trace, builder, memory, model or Model())
    for _, ref in trace.inputs:
        argument = builder.value(TensorType(kir_dtype(ref.dtype), ref.shape))
        builder.block.args.append(argument)
        memory.write(ref, argument)
    for instr in trace.instrs:
        lower_instr(state, instr)
    outputs = [(name, memory.read(ref)) for name, ref in trace.outputs]
    attrs = {"level": "nki", "contract": False, "key": digest(trace)}
    names = [name for name, _ in trace.inputs]
    return Program(builder.block, names, outputs, {}, attrs, [*trace.notes, *state.notes])


class NkiMemory(Memory):
    """The storages of a trace as KIR buffers."""

    def __init__(self, builder: Builder, trace: NkiTrace) -> None:
        super().__init__(builder)
        self._storages, self._places = trace.storages, Places(trace.storages)

    def read(self, ref: TensorRef) -> Value:
        return super().read(self._places.placed(ref))

    def write(self, ref: TensorRef, value: Value) -> None:
        if _repeats(ref):  # which of them stays, or whether they add up in PSUM, is not documented
            raise Unsupported("a destination several of whose elements have one place", self._builder.span)
        super().write(self._places.placed(ref), value)

    def _dtype(self, ref: TensorRef) -> DType:
        return kir_dtype(ref.dtype)

    def _allocated(self, storage: int) -> tuple[int, Span]:
        entry, region = self._storages[storage], self._places.regions.get(storage)
        if region is not None:
            return region.nbytes, entry.span
        return prod(entry.shape) * size_of(entry.dtype), entry.span

    def _enter(self, storage: int) -> None:
        entry = self._storages[storage]
        if entry.origin == "data" and entry.data is not None:
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


def digest(trace: NkiTrace) -> str:
    """What open choices can depend on: the instructions and the target, not where they are written."""
    found = hashlib.sha256(repr((trace.target, trace.version)).encode())
    for instr in trace.instrs:
        found.update(repr((instr.op, instr.engine, instr.dst, instr.src, instr.core)).encode())
        for name, value in {**instr.attrs, "mask": instr.mask}.items():
            found.update(name.encode())
            found.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    return found.hexdigest()
