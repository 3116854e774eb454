"""A program as part of another: its ops where a builder is, on values that are there.

Takes a Builder, a Program without kernels (which is used up) and its arguments; gives its outputs.
"""

from __future__ import annotations

from collections.abc import Sequence

from lowering.ir.builder import Builder
from lowering.ir.program import Program, Value


def inlined(builder: Builder, program: Program, arguments: Sequence[Value]) -> list[Value]:
    """Appends the program's ops; ``arguments`` stand for its inputs, in their order and of their types."""
    if program.kernels:
        raise ValueError("a program with launches cannot be put into another one")
    stands_for = dict(zip(program.body.args, arguments, strict=True))
    if [given.type for given in arguments] != [own.type for own in program.body.args]:
        raise ValueError(f"arguments {[given.type for given in arguments]} for {[v.type for v in program.body.args]}")
    for block in program.body.blocks():
        for op in block.ops:
            op.operands = [stands_for.get(value, value) for value in op.operands]
            _renamed(builder, op.results)
        if block is not program.body:
            _renamed(builder, block.args)
    builder.block.ops += program.body.ops
    return [stands_for.get(value, value) for _, value in program.outputs]


def _renamed(builder: Builder, values: Sequence[Value]) -> None:
    """Names are unique within a function."""
    for value in values:
        value.name = builder.value(value.type).name
