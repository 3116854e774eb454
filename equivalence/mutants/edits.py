"""Copies of programs, and the small edits that mutation operators are made of.

Takes Programs; gives clone, places, Edit and helpers that insert, replace and drop ops.  Knows no mutation operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowering.ir.ops import RECORDS
from lowering.ir.ops.record import REQUIRED, TypeRuleError
from lowering.ir.program import Block, Function, Op, Program, Value
from lowering.ir.types import DType, TensorType


@dataclass(frozen=True, slots=True)
class Place:
    """An op, where it stands and the blocks around it (innermost last)."""

    program: Program
    blocks: tuple[Block, ...]
    op: Op

    @property
    def block(self) -> Block:
        return self.blocks[-1]

    @property
    def index(self) -> int:
        return next(i for i, op in enumerate(self.block.ops) if op is self.op)


@dataclass(frozen=True, slots=True)
class Edit:
    """One change, not yet made: ``what`` in words, ``apply`` makes it in place."""

    what: str
    apply: Callable[[], object]


def clone(program: Program) -> Program:
    """A copy that shares nothing that an edit changes (types, spans and attribute values are immutable by custom)."""
    values: dict[Value, Value] = {}

    def value(v: Value) -> Value:
        return values.setdefault(v, Value(v.name, v.type))

    def block(b: Block) -> Block:
        return Block([value(v) for v in b.args], [op(o) for o in b.ops])

    def op(o: Op) -> Op:
        operands, results = [value(v) for v in o.operands], [value(v) for v in o.results]
        return Op(o.name, operands, results, dict(o.attrs), [block(r) for r in o.regions], o.span)

    kernels = {
        name: Function(k.name, [value(v) for v in k.params], block(k.body), dict(k.attrs))
        for name, k in program.kernels.items()
    }
    body = block(program.body)
    outputs = [(name, value(v)) for name, v in program.outputs]
    return Program(body, list(program.input_names), outputs, kernels, dict(program.attrs), list(program.notes))


def places(program: Program) -> Iterator[Place]:
    """Every op of every kernel and of the body, in textual order."""

    def within(blocks: tuple[Block, ...]) -> Iterator[Place]:
        for op in list(blocks[-1].ops):
            yield Place(program, blocks, op)
            for region in op.regions:
                yield from within((*blocks, region))

    for kernel in program.kernels.values():
        yield from within((kernel.body,))
    yield from within((program.body,))


def well_formed(program: Program) -> bool:
    """Whether every record still accepts its op and gives the types that the results have."""
    for op in program.walk():
        try:
            inferred = RECORDS[op.name].infer([v.type for v in op.operands], op.attrs, op.regions)
        except (TypeRuleError, IndexError, KeyError, ValueError):
            return False
        if op.results and inferred != [v.type for v in op.results]:
            return False
    return all(_view_fits(program, op) for op in program.walk() if op.name in ("read", "write"))


def _view_fits(program: Program, op: Op) -> bool:
    """A host view within its buffer: frameworks make no others."""
    made = definition(program, op.operands[0])
    if made is None or made.name != "alloc":
        return True
    type_ = op.results[0].type if op.name == "read" else op.operands[1].type
    reach = op.attrs["offset"] + sum((n - 1) * s for n, s in zip(type_.shape, op.attrs["strides"], strict=True))
    return op.attrs["offset"] >= 0 and (reach + 1) * type_.dtype.nbytes <= made.attrs["bytes"]


# -- making and moving ops ---------------------------------------------------------------------------------------


def fresh(program: Program, type_: TensorType) -> Value:
    """A value with a name that no other value has."""
    taken = sum(1 for op in program.walk() for _ in op.results)
    return Value(f"new{taken}", type_)


def make(place: Place, name: str, operands: list[Value], **attrs: Any) -> Op:
    """An op with the record's defaults, not yet in any block; raises TypeRuleError for what its record refuses."""
    full = {key: attrs.pop(key, default) for key, default in RECORDS[name].attrs.items()}
    if attrs or any(v is REQUIRED for v in full.values()):
        raise TypeRuleError(f"{name}: attributes {attrs}")
    types = RECORDS[name].infer([v.type for v in operands], full, [])
    return Op(name, operands, [fresh(place.program, t) for t in types], full, [], place.op.span)


def before(place: Place, name: str, operands: list[Value], **attrs: Any) -> Value:
    """A new op just before the place; its result."""
    op = make(place, name, operands, **attrs)
    place.block.ops.insert(place.index, op)
    return op.results[0]


def after(place: Place, name: str, operands: list[Value], **attrs: Any) -> Op:
    """A new op just after the place."""
    op = make(place, name, operands, **attrs)
    place.block.ops.insert(place.index + 1, op)
    return op


def constant(place: Place, value: float, dt: DType, shape: tuple[int, ...]) -> Value:
    """A literal just before the place."""
    return before(place, "constant", [], to=dt.name, shape=shape, value=float(value) if dt.is_float else int(value))


def replace_uses(program: Program, old: Value, new: Value, but: Op | None = None) -> None:
    """Every use of ``old`` becomes one of ``new``."""
    for op in program.walk():
        if op is not but:
            op.operands = [new if v is old else v for v in op.operands]
    program.outputs = [(name, new if v is old else v) for name, v in program.outputs]


def wrap(place: Place, name: str, *others: Value, **attrs: Any) -> None:
    """Passes the op's result through a new op before anyone uses it."""
    result = place.op.results[0]
    new = after(place, name, [result, *others], **attrs)
    replace_uses(place.program, result, new.results[0], but=new)


def wrap_operand(place: Place, position: int, name: str, *others: Value, **attrs: Any) -> None:
    """Passes one operand through a new op on its way in."""
    place.op.operands[position] = before(place, name, [place.op.operands[position], *others], **attrs)


def bypass(place: Place, operand: int) -> None:
    """The op's result becomes one of its operands."""
    replace_uses(place.program, place.op.results[0], place.op.operands[operand])


def drop(place: Place) -> None:
    del place.block.ops[place.index]


def definition(program: Program, value: Value) -> Op | None:
    """The op that makes ``value``; None for an argument."""
    return next((op for op in program.walk() if any(v is value for v in op.results)), None)


def used(program: Program) -> set[int]:
    """Ids of values that something reads: a change to anything else is no change."""
    ids = {id(v) for op in program.walk() for v in op.operands}
    return ids | {id(v) for _, v in program.outputs}


def is_array(value: object) -> bool:
    return isinstance(value, np.ndarray)
