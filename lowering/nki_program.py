"""From the trace of an NKI kernel to one KIR Program: storages as buffers, instructions in their order.

Takes an NkiTrace; gives a Program of level 'nki'.
"""

from __future__ import annotations

import hashlib

import numpy as np

from lowering.capture.nki.trace import NkiTrace
from lowering.frontends.nki import Model, State, lower_instr
from lowering.frontends.nki.numerics import kir_dtype
from lowering.frontends.nki.packed import unpacked
from lowering.ir.builder import Builder
from lowering.ir.program import Program
from lowering.ir.types import TensorType
from lowering.nki_memory import NkiMemory


def lower_nki(trace: NkiTrace, model: Model | None = None) -> Program:
    """The program of a kernel's run; ``model``: what is taken for what the documentation leaves open."""
    builder = Builder()
    instrs = [unpacked(instr) for instr in trace.instrs]
    memory = NkiMemory(builder, trace, instrs)
    state = State(trace, builder, memory, model or Model())
    for _, ref in trace.inputs:
        argument = builder.value(TensorType(kir_dtype(ref.dtype), ref.shape))
        builder.block.args.append(argument)
        memory.write(ref, argument)
    for instr in instrs:
        lower_instr(state, instr)
    outputs = [(name, memory.read(ref)) for name, ref in trace.outputs]
    attrs = {"level": "nki", "contract": False, "key": digest(trace, state.model)}
    names = [name for name, _ in trace.inputs]
    return Program(builder.block, names, outputs, {}, attrs, [*trace.notes, *state.notes])


def digest(trace: NkiTrace, model: Model | None = None) -> str:
    """What open choices can depend on: instructions, memory, constants, model, target, not where they are written."""
    found = hashlib.sha256(repr((trace.target, trace.version, model or Model())).encode())
    for entry in trace.storages.values():
        place = (entry.id, entry.space, entry.dtype, entry.shape, entry.origin, entry.pinned, entry.pins, entry.blocks,
                 entry.core)  # fmt: skip
        found.update(repr(place).encode())
        if entry.origin == "data" and entry.data is not None:
            found.update(np.ascontiguousarray(entry.data).tobytes())
    for instr in trace.instrs:
        found.update(repr((instr.op, instr.engine, instr.dst, instr.src, instr.core)).encode())
        for name, value in {**instr.attrs, "mask": instr.mask}.items():
            found.update(name.encode())
            found.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    return found.hexdigest()
