"""The data of KIR: values, ops, blocks, functions and programs.  Holds no rules (ops.py) and no text (printer.py)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lowering.errors import UNKNOWN_SPAN, Span
from lowering.ir.types import TensorType


@dataclass(eq=False, slots=True)
class Value:
    """An SSA value.  ``name`` is only for printing and is unique within its function."""

    name: str
    type: TensorType

    def __repr__(self) -> str:
        return f"%{self.name}: {self.type}"


@dataclass(eq=False, slots=True)
class Block:
    """A straight list of ops with arguments; a region of KIR is one block, ended by ``yield`` (or ``condition``)."""

    args: list[Value] = field(default_factory=list[Value])
    ops: list[Op] = field(default_factory=list["Op"])

    def walk(self) -> Iterator[Op]:
        """Every op, nested ones included, in textual order."""
        for op in self.ops:
            yield op
            for region in op.regions:
                yield from region.walk()

    def blocks(self) -> Iterator[Block]:
        """This block and all nested ones."""
        yield self
        for op in self.ops:
            for region in op.regions:
                yield from region.blocks()

    def drop_unused(self, names: frozenset[str]) -> None:
        """Removes ops called ``names`` whose results nothing uses, until none is left; such ops must be pure."""
        before = -1
        while before != (count := sum(1 for _ in self.walk())):
            before = count
            used = {value for op in self.walk() for value in op.operands}
            for block in list(self.blocks()):
                block.ops = [op for op in block.ops if op.name not in names or any(v in used for v in op.results)]


@dataclass(eq=False, slots=True)
class Op:
    """One operation: its record is ``ops.RECORDS[name]``."""

    name: str
    operands: list[Value]
    results: list[Value]
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])
    regions: list[Block] = field(default_factory=list[Block])
    span: Span = UNKNOWN_SPAN

    @property
    def result(self) -> Value:
        return self.results[0]


@dataclass(eq=False, slots=True)
class Function:
    """A kernel: run once per program instance of its launch grid.

    ``attrs``: ``level`` ('ttir', ...), ``contract`` (a*b+c may become one fma below this level), ``key`` (a digest of
    source IR and compile options: open orders are the same bits only within one key).
    """

    name: str
    params: list[Value]
    body: Block
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(eq=False, slots=True)
class Program:
    """A whole subject: arrays in, arrays out.

    ``body.args`` are the inputs, named by ``input_names``; ``outputs`` pairs a name with a value of ``body``.
    ``attrs`` as for Function, for the ops of ``body`` itself.  ``notes``: assumptions made on the way here.
    """

    body: Block
    input_names: list[str]
    outputs: list[tuple[str, Value]]
    kernels: dict[str, Function] = field(default_factory=dict[str, Function])
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])
    notes: list[str] = field(default_factory=list[str])

    def walk(self) -> Iterator[Op]:
        """Every op of the program and of its kernels."""
        yield from self.body.walk()
        for kernel in self.kernels.values():
            yield from kernel.body.walk()
