"""Enters into a program that a device leaves its result open, where the interpreter's order of the grid decides it.

Takes a Program and DeviceFindings; adds a launch of two instances, one of which reads what the other writes, for each
error.  The same means by which torch's work on two streams races (lowering.pipeline).
"""

from __future__ import annotations

from collections.abc import Sequence

from lowering.capture.jax_trace import DeviceFinding
from lowering.ir.builder import Builder
from lowering.ir.program import Block, Function, Program
from lowering.ir.types import I32, I64, TensorType

_UNORDERED = "two_steps"


def enter_races(program: Program, findings: Sequence[DeviceFinding]) -> None:
    """Blocks that a TPU does not fetch again are undefined in the program itself (jax_blocks), but for large grids."""
    racing = [finding for finding in findings if finding.severity == "error" and not finding.in_program]
    before = len(program.body.ops)
    builder = Builder()
    builder.block = program.body
    for finding in racing:
        with builder.at(finding.span):
            words = f"{finding.code}: {finding.message}; in effect it"
            buffer = builder("alloc", bytes=I32.nbytes, name=words)
            place = builder("addptr", buffer, builder.constant(0, I64), bytes=1)
            if _UNORDERED not in program.kernels:
                program.kernels[_UNORDERED] = _two_steps(builder, place.type)
            builder.op("launch", [place], kernel=_UNORDERED, grid=(2, 1, 1))
    for op in program.body.ops[before:]:
        for value in op.results:
            value.name = f"open{value.name}"  # numbers of this builder's own, which the program has too


def _two_steps(builder: Builder, pointer: TensorType) -> Function:
    with builder.into(Block()) as body:
        place = builder.value(pointer)
        builder.op("store", [place, builder.constant(0, I32)])
        builder("load", place, to=I32.name)
        builder.op("yield", [])
    return Function(_UNORDERED, [place], body, {"level": "stablehlo", "contract": False, "key": _UNORDERED})
