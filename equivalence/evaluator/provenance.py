"""What a piece of KIR can touch, read off its text: the buffers a kernel updates, a region and the values it captures.

Takes ops and the addresses given to a launch; gives buffer numbers and canonical texts.  Must not run anything.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from equivalence.evaluator.lanes import Lanes
from lowering.ir.program import Block, Function, Op, Value

if TYPE_CHECKING:
    from equivalence.evaluator.buffers import Buffer

_READING = ("load", "atomic_rmw", "atomic_cas")
_WRITING = ("store", "atomic_rmw", "atomic_cas")
TOUCHING = frozenset({"load", "store", "read", "write", "atomic_rmw", "atomic_cas", "launch"})


def updated_buffers(kernel: Function, operands: Sequence[Lanes], buffers: Mapping[int, Buffer]) -> frozenset[int]:
    """Numbers of the buffers that a launch may both read and write, or write at two places of its kernel."""
    roots, given = _roots(kernel), [set() if x.dtype.is_float else _numbers(x.data) for x in operands]
    everything = set().union(*given)
    everything |= set().union(*(_held(buffers[n]) for n in everything if n in buffers))

    def reached(op: Op) -> set[int]:
        address = op.operands[0]
        return set().union(*(given[i] for i in roots[address])) if address in roots else everything

    accesses = [(op.name, reached(op)) for op in kernel.body.walk() if op.name in _READING or op.name in _WRITING]
    read = set().union(*(numbers for name, numbers in accesses if name in _READING))
    written = Counter(n for name, numbers in accesses if name in _WRITING for n in numbers)
    return frozenset(n for n, times in written.items() if times > 1 or n in read)


def _numbers(addresses: np.ndarray) -> set[int]:
    """The buffers that addresses point into."""
    return {int(n) for n in np.unique(addresses.astype(np.int64) >> 40)}


def _held(buffer: Buffer) -> set[int]:
    """The buffers whose addresses may be in a table of pointers."""
    cells = buffer.cells
    return _numbers(cells.data) if cells is not None and cells.dtype.is_integer and cells.dtype.bits == 64 else set()


def _roots(kernel: Function) -> dict[Value, set[int]]:
    """For each address in the kernel, the parameters it may derive from."""
    roots: dict[Value, set[int]] = {p: {i} for i, p in enumerate(kernel.params) if p.type.dtype.kind == "ptr"}
    grown = True
    while grown:
        before = sum(map(len, roots.values()))
        for op in kernel.body.walk():
            _derive(op, roots)
        grown = sum(map(len, roots.values())) != before
    return roots


def _derive(op: Op, roots: dict[Value, set[int]]) -> None:
    """Every address that an op or its regions define may come from any address that goes in."""
    ends = [v for region in op.regions for v in (region.ops[-1].operands if region.ops else [])]
    known: set[int] = set()
    for value in (*op.operands, *ends):
        known |= roots.get(value, set())
    made = [*op.results, *(v for region in op.regions for v in region.args)]
    for value in made:
        if known and value.type.dtype.kind == "ptr":
            roots.setdefault(value, set()).update(known)


def region_text(op: Op, kernels: Mapping[str, Function]) -> tuple[str, list[Value]]:
    """(an op's regions with values by number, the outer values they use in order of use)."""
    writer = _Writer(kernels)
    for region in op.regions:
        writer.block(region)
    return f"{op.name} " + "\n".join(writer.lines), writer.captured


class _Writer:
    """Canonical text: inner values are numbered as they come, outer ones as they are first used."""

    def __init__(self, kernels: Mapping[str, Function]) -> None:
        self.kernels = kernels
        self.lines: list[str] = []
        self.names: dict[Value, str] = {}
        self.captured: list[Value] = []

    def block(self, block: Block) -> None:
        self.lines.append(f"block {[self.define(v) for v in block.args]}")
        for op in block.ops:
            used = [self.use(v) for v in op.operands]
            attrs = sorted((key, _plain(value)) for key, value in op.attrs.items())
            self.lines.append(f"{op.name} {used} {attrs} {[self.define(v) for v in op.results]}")
            if op.name == "launch":
                self.block(self.kernels[op.attrs["kernel"]].body)
            for region in op.regions:
                self.block(region)

    def define(self, value: Value) -> str:
        self.names[value] = f"%{len(self.names)}"
        return f"{self.names[value]}:{value.type}"

    def use(self, value: Value) -> str:
        if value not in self.names:
            self.names[value] = f"^{len(self.captured)}:{value.type}"
            self.captured.append(value)
        return self.names[value]


def _plain(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{hashlib.blake2b(value.tobytes(), digest_size=16).hexdigest()}"
    return repr(value)
