"""From a captured run of a host function to one KIR Program.

Takes a HostTrace (torch-hosted) or a JaxTrace; gives a Program.  The only place where front ends meet.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import numpy as np

from lowering.capture.trace import (
    AtenCall,
    HostFault,
    HostRead,
    HostTrace,
    KernelArg,
    KernelRun,
    Launch,
    PointerArg,
    Storage,
    TensorRef,
    UnsynchronisedRead,
)
from lowering.errors import UNKNOWN_SPAN, Span, Unsupported
from lowering.frontends import aten
from lowering.frontends.aten.dtypes import KIR_NAMES, TORCH_NAMES
from lowering.ir.builder import Builder
from lowering.ir.inlined import inlined
from lowering.ir.program import Block, Function, Program, Value
from lowering.ir.types import DTYPES, U8, DType, TensorType
from lowering.memory import Memory

_UNORDERED = "two_streams"  # the kernel that stands for work on two streams without a wait


def lower(trace: Any) -> Program:
    """The program of either kind of trace."""
    if isinstance(trace, HostTrace):
        return lower_torch(trace)
    from lowering.frontends.stablehlo import lower_module  # jax is needed only for its own subjects

    return lower_module(
        trace.stablehlo,
        input_names=[spec.name for spec in trace.inputs],
        output_names=[spec.name for spec in trace.outputs],
        input_dtypes=[spec.dtype for spec in trace.inputs],
        key=trace.key,
        notes=trace.notes,
    )


def lower_torch(trace: HostTrace) -> Program:
    """The program of a torch-hosted run."""
    lowering = _TorchLowering(trace)
    lowering.write_inputs()
    for number, event in enumerate(trace.events):
        lowering.race(trace.races.get(number), event.span)
        lowering.event(event)
    lowering.race(trace.races.get(len(trace.events)), UNKNOWN_SPAN)
    program = lowering.finish()
    drop_unread_buffers(program)
    return program


class _TorchLowering:
    """One run: its buffers, and what is known to be in them."""

    def __init__(self, trace: HostTrace) -> None:
        self.trace = trace
        self.library, self.notes = aten.Library(trace.target), _notes(trace)
        self.builder = Builder()
        self.memory = _Memory(self.builder, trace)
        self.kernels: dict[str, Function] = {}
        self.faults: list[str] = []  # rows of those of kernels that the host called
        self._names: dict[str, str] = {}  # digest of TTIR and options -> name of the kernel

    def write_inputs(self) -> None:
        """The program's arguments are dense; they go to memory with the strides they were passed with."""
        for _, ref in self.trace.inputs:
            argument = self.builder.value(TensorType(kir_dtype(ref), tuple(ref.shape)))
            self.builder.block.args.append(argument)
            self.memory.write(ref, argument)

    def event(self, event: AtenCall | Launch | HostRead) -> None:
        with self.builder.at(event.span):
            if isinstance(event, KernelRun):
                self._kernel_run(event)
            elif isinstance(event, AtenCall):
                library = replace(self.library, **{flag: True for flag in event.flags if "=" not in flag})
                aten.lower_call(self.builder, event, self.memory.read, self.memory.write, library)
            elif isinstance(event, Launch):
                self._launch(event)
            else:
                self.builder.op("observe", [self.memory.read(event.tensor)])

    def _kernel_run(self, event: KernelRun) -> None:
        """An NKI kernel's run, as part of the program."""
        from lowering.legality.report import faults
        from lowering.nki_program import lower_nki

        program = lower_nki(event.run)
        values = inlined(self.builder, program, [self.memory.read(ref) for ref in event.args])
        for ref, value in zip(event.outputs, values, strict=True):
            self.memory.write(ref, value)
        rows, notes = faults(event.run)
        self.faults += rows
        self.notes += [note for note in [*program.notes, *notes] if note not in self.notes]

    def race(self, words: str | None, span: Span) -> None:
        """Work of two streams without a wait, as two program instances, one of which reads what the other writes."""
        if words is None:
            return
        b, number = self.builder, DTYPES["i32"]
        with b.at(span):
            pointer = self.memory.scratch(words, number.nbytes)
            if _UNORDERED not in self.kernels:
                with b.into(Block()) as body:
                    place = b.value(pointer.type)
                    b.op("store", [place, b.constant(0, number)])
                    b("load", place, to=number.name)
                    b.op("yield", [])
                attrs = {"level": "aten", "contract": False, "key": _UNORDERED}
                self.kernels[_UNORDERED] = Function(_UNORDERED, [place], body, attrs)
            b.op("launch", [pointer], kernel=_UNORDERED, grid=(2, 1, 1))

    def _launch(self, launch: Launch) -> None:
        kernel = self.kernels[self._kernel(launch)]
        operands = [self._argument(a, p.type) for a, p in zip(launch.args, kernel.params, strict=True)]
        self.builder.op("launch", operands, kernel=kernel.name, grid=tuple(launch.grid))
        for storage in (*(a.value.storage for a in launch.args if isinstance(a.value, PointerArg)), *launch.reached):
            self.memory.forget(storage)

    def _kernel(self, launch: Launch) -> str:
        """The name of the launch's kernel, lowered once per TTIR and options."""
        from lowering.frontends.ttir import lower_kernel

        options = json.dumps(launch.options, sort_keys=True, default=str)
        key = hashlib.sha256((launch.ttir + options).encode()).hexdigest()
        if key not in self._names:
            taken = sum(name.split("#")[0] == launch.kernel for name in self.kernels)
            name = f"{launch.kernel}#{taken}" if taken else launch.kernel
            self.kernels[name] = lower_kernel(launch.ttir, name=name, options=launch.options, key=key)
            self._names[key] = name
        return self._names[key]

    def _argument(self, arg: KernelArg, type_: TensorType) -> Value:
        if isinstance(arg.value, PointerArg):
            return self.memory.pointer(arg.value)
        number = arg.value if arg.value is not None else 0
        if type_.dtype.is_integer:
            number = _wrapped(int(number), type_.dtype)
        return self.builder.constant(number, type_.dtype)

    def finish(self) -> Program:
        outputs = [(name, self.memory.read(ref)) for name, ref in self.trace.outputs]
        attrs: dict[str, Any] = {"level": "aten", "contract": False, "key": _digest(self.trace)}
        if self.trace.host_draws:
            attrs["draws"] = list(self.trace.host_draws)
        if self.trace.contents:
            attrs["contents"] = [_held(name, number) for name, number in self.trace.contents.items()]
        if self.trace.unsynchronised:
            attrs["unsynchronised"] = [_read_too_early(read) for read in self.trace.unsynchronised]
        faults = [*map(_fault, self.trace.faults), *self.faults]
        if faults:
            attrs["faults"] = list(dict.fromkeys(faults))
        if self.trace.attributes:
            types = {name.removeprefix("written:"): value.type for name, value in outputs}
            held = self.trace.attributes
            attrs["attributes"] = [f"{name}\t{types[name]}\t{int(held[name])}" for name in held if name in types]
        names = [name for name, _ in self.trace.inputs]
        return Program(self.builder.block, names, outputs, self.kernels, attrs, [*self.trace.notes, *self.notes])


def _held(name: str, number: bool | int | float) -> str:
    """'i64 2 len(cache)': a number that a container among the arguments held before the call."""
    kind = "bool" if isinstance(number, bool) else "int64" if isinstance(number, int) else "float64"
    return f"{KIR_NAMES[kind]} {number!r} {name}"


def _read_too_early(read: UnsynchronisedRead) -> str:
    """Where the host reads, the line of the copy, and by what it reads; tabs in between."""
    return _row(read.span.file, read.span.line, read.copied.line, read.construct)


def _fault(fault: HostFault) -> str:
    """The code of a finding, where, and what is said; tabs in between."""
    return _row(fault.code, fault.span.file, fault.span.line, fault.said)


def _row(*cells: str | int) -> str:
    """Cells with tabs in between, and none inside (a path may have one)."""
    return "\t".join(str(cell).replace("\t", " ") for cell in cells)


def _notes(trace: HostTrace) -> list[str]:
    """A note where f32 convolutions are taken to be IEEE, which is not torch's default."""
    calls = (event for event in trace.events if isinstance(event, AtenCall))
    ieee = [e for e in calls if e.op.startswith("aten.convolution") and "convolution_tf32" not in e.flags]
    if trace.target == "cpu" or not any(ref.dtype == "float32" for ref in _refs(ieee)):
        return []
    return ["f32 convolutions are IEEE, as with torch.backends.cudnn.allow_tf32 = False (its default is True)"]


def _digest(trace: HostTrace) -> str:
    """What the library's open orders can depend on: the ops and the layouts they get, not where they are written."""
    calls = [(e.op, e.args, e.kwargs, e.outputs, e.flags) for e in trace.events if isinstance(e, AtenCall)]
    return hashlib.sha256(repr((trace.target, calls)).encode()).hexdigest()


class _Memory(Memory):
    """The storages of a trace as KIR buffers; those with contents that no event wrote are constants."""

    def __init__(self, builder: Builder, trace: HostTrace) -> None:
        super().__init__(builder)
        self._storages, self._pointers_in = trace.storages, trace.pointers_in
        self._first_dtype = _dtypes_of_constants(trace)

    def _dtype(self, ref: TensorRef) -> DType:
        return kir_dtype(ref)

    def _allocated(self, storage: int) -> tuple[int, Span]:
        entry = self._storages[storage]
        return entry.nbytes, entry.span

    def _enter(self, storage: int) -> None:
        entry = self._storages[storage]
        if entry.origin == "data" and entry.data is not None:
            self._write_constant(entry)

    def scratch(self, name: str, nbytes: int) -> Value:
        """The address of memory of no tensor's."""
        buffer = self._builder("alloc", bytes=nbytes, name=name)
        return self._builder("addptr", buffer, self._builder.constant(0, DTYPES["i64"]), bytes=1)

    def pointer(self, arg: PointerArg) -> Value:
        """The address of the first element a kernel was given."""
        return self._address(arg.storage, arg.byte_offset)

    def _address(self, storage: int, byte_offset: int) -> Value:
        offset = self._builder.constant(byte_offset, DTYPES["i64"])
        return self._builder("addptr", self._buffer(storage), offset, bytes=1)

    def _write_constant(self, entry: Storage) -> None:
        """Contents that no event wrote, as elements of the dtype they are first used with (bytes if that fails).

        Numbers that are addresses of this run become those of the program's buffers.
        """
        dt = self._first_dtype.get(entry.id, U8)
        dt = dt if entry.nbytes % dt.nbytes == 0 else U8
        values = np.array(entry.data).view(dt.numpy)
        ref = TensorRef(entry.id, TORCH_NAMES[dt.name], values.shape, (1,))
        pointers = self._pointers_in(entry) if dt.bits == 64 and dt.is_integer else []
        for at, _, _ in pointers:
            values[at] = 0
        self.write(ref, self._builder.constant(values, dt))
        for at, storage, byte_offset in pointers:
            address = self._builder.bitcast(self._address(storage, byte_offset), dt)
            self.write(TensorRef(entry.id, ref.dtype, (), (), at), address)


def kir_dtype(ref: TensorRef) -> DType:
    if ref.dtype not in KIR_NAMES:
        raise Unsupported(f"a tensor of dtype {ref.dtype}", hint="complex and quantised tensors are not modelled")
    return DTYPES[KIR_NAMES[ref.dtype]]


def _wrapped(number: int, dt: DType) -> int:
    """The integer of dtype ``dt`` with the same low bits."""
    if dt.kind not in ("int", "uint"):
        return number
    number &= (1 << dt.bits) - 1
    return number - (1 << dt.bits) if dt.kind == "int" and number >> (dt.bits - 1) else number


def _dtypes_of_constants(trace: HostTrace) -> dict[int, DType]:
    """For each storage, the dtype it is first used with."""
    found: dict[int, DType] = {}
    for ref in _refs([trace.events, trace.outputs]):
        if ref.dtype in KIR_NAMES:
            found.setdefault(ref.storage, kir_dtype(ref))
    return found


def _refs(values: Any) -> Any:
    if isinstance(values, TensorRef):
        yield values
    elif isinstance(values, AtenCall):
        yield from _refs([values.args, values.kwargs, values.outputs])
    elif isinstance(values, Launch):
        yield from (a.value.tensor for a in values.args if isinstance(a.value, PointerArg))
    elif isinstance(values, HostRead):
        yield values.tensor
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from _refs(value)
    elif isinstance(values, dict):
        yield from _refs(list(values.values()))


def drop_unread_buffers(program: Program) -> None:
    """Removes buffers that are only written to, and then every op without effect whose results nobody uses."""
    body = program.body
    used_otherwise = {id(v) for op in body.walk() for v in op.operands[op.name == "write" :]}
    dead = {id(op.result) for op in body.ops if op.name == "alloc" and id(op.result) not in used_otherwise}
    body.ops = [op for op in body.ops if not (op.name == "write" and id(op.operands[0]) in dead)]
    _drop_dead_code(body, [value for _, value in program.outputs])


def _drop_dead_code(body: Block, wanted: list[Value]) -> None:
    live, kept = {id(v) for v in wanted}, []
    for op in reversed(body.ops):
        if not op.results or any(id(v) in live for v in op.results):
            kept.append(op)
            live.update(id(v) for v in op.operands)
    body.ops = kept[::-1]
