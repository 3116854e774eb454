"""Runs a large program without memory in slabs along one axis of its outputs, so that temporaries stay small.

Gives plan() and run().  Possible where every value is either needed whole or only at the slab's positions: elementwise
ops, broadcasts, transposes, and reductions and products over other axes.  Lanes are moved, never reinterpreted: words,
sites and freedoms are those of the whole run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from equivalence.evaluator.growing import Growing
from equivalence.evaluator.lanes import Lanes
from lowering.ir.program import Block, Op, Program, Value
from lowering.ir.types import TensorType

if TYPE_CHECKING:
    from equivalence.evaluator.frame import Frame
    from equivalence.evaluator.machine import Machine

WORTH = 4  # slabs pay where a value has this many times the lanes of a slab
Demand = tuple[Value, int | None]


@dataclass(frozen=True, slots=True)
class Plan:
    """For each value the axis along which it is cut, None for values needed whole; ``extent`` of that axis."""

    axes: dict[Value, int | None]
    extent: int
    rows: int


def plan(program: Program, lanes: int) -> Plan | None:
    """How to cut ``program`` into slabs of about ``lanes`` lanes a value; None where it is small or cannot be cut."""
    widest = max((v.type.size for op in program.body.ops for v in op.results), default=0)
    if widest < WORTH * lanes or not program.outputs:
        return None
    first = program.outputs[0][1].type.shape
    axis = next((d for d, n in enumerate(first) if n > 1), None)
    if axis is None or any(len(v.type.shape) <= axis or v.type.shape[axis] != first[axis] for _, v in program.outputs):
        return None
    axes = _axes(program.body, [(v, axis) for _, v in program.outputs])
    return None if axes is None else Plan(axes, first[axis], max(1, lanes * first[axis] // widest))


def _axes(body: Block, wanted: Sequence[Demand]) -> dict[Value, int | None] | None:
    axes: dict[Value, int | None] = dict(wanted)
    for op in reversed(body.ops):
        if not op.results or op.name == "yield":
            continue
        if op.regions or len(op.results) != 1:
            return None
        if op.result not in axes:
            continue
        demands = _operands(op, axes[op.result])
        if demands is None or any(axes.setdefault(value, at) != at for value, at in demands):
            return None
    return axes


def _operands(op: Op, axis: int | None) -> list[Demand] | None:
    """What is needed of an op's operands to give its result along ``axis``; None when that cannot be said."""
    if op.name in ("constant", "iota"):
        fixed = isinstance(op.attrs.get("value"), np.ndarray) or op.attrs.get("axis") == axis
        return None if fixed and axis is not None else []
    if op.name not in _MOVED and not _elementwise(op):
        return None
    if axis is None:
        return [(v, None) for v in op.operands]
    return _MOVED[op.name](op, axis) if op.name in _MOVED else [(v, axis) for v in op.operands]


#: A lane of the result is made of the same lane of each operand.  What an opaque function does is not known.
ELEMENTWISE = frozenset(
    ["add", "sub", "mul", "div", "rem", "fma", "neg", "abs", "min", "max", "math", "round", "cmp", "select", "cast",
     "and", "or", "xor", "not"]
)  # fmt: skip


def _elementwise(op: Op) -> bool:
    """Integer arithmetic is left out: it may be a random stream's, which is looked at as a whole."""
    result = op.result.type
    alike = all(v.type.shape == result.shape for v in op.operands)
    return op.name in ELEMENTWISE and alike and (result.dtype.is_float or result.dtype.kind == "bool")


def _broadcast(op: Op, axis: int) -> list[Demand]:
    source, dims = op.operands[0], list(op.attrs["dims"])
    at = dims.index(axis) if axis in dims else None
    kept = at is not None and source.type.shape[at] == op.result.type.shape[axis]
    return [(source, at if kept else None)]


def _reduce(op: Op, axis: int) -> list[Demand] | None:
    if op.attrs["combine"] in ("region", "argmax", "argmin") or op.attrs["order"] == "sequential":
        return None
    return [(op.operands[0], axis if axis < op.attrs["axis"] else axis + 1)]


def _scan(op: Op, axis: int) -> list[Demand] | None:
    """Along another axis every slab has its own; along the cut one a slab needs those before it."""
    combine = op.attrs["combine"]
    if combine == "region" or op.attrs["axis"] == axis or len(op.operands) != 1 or op.regions:
        return None
    return [(op.operands[0], axis)]


def _dot(op: Op, axis: int) -> list[Demand] | None:
    rank = len(op.result.type.shape)
    if any(len(v.type.shape) != rank for v in op.operands):
        return None
    rows, columns = axis != rank - 1, axis != rank - 2
    accumulators: list[Demand] = [(v, axis) for v in op.operands[2:]]
    return [(op.operands[0], axis if rows else None), (op.operands[1], axis if columns else None), *accumulators]


_MOVED = {
    "broadcast": _broadcast,
    "transpose": lambda op, axis: [(op.operands[0], op.attrs["perm"][axis])],
    "reduce": _reduce,
    "scan": _scan,
    "dot": _dot,
}


def run(m: Machine, frame: Frame, chosen: Plan, arrays: dict[Value, tuple[str, np.ndarray]]) -> list[Lanes]:
    """The outputs; ``arrays`` holds the inputs by argument."""
    whole = [op for op in m.program.body.ops if op.results and chosen.axes.get(op.result, 0) is None]
    for value, (name, data) in arrays.items():
        if chosen.axes.get(value, 0) is None:
            frame.values[value] = m.input(name, data, value.type.dtype, value.type.shape)
    for op in whole:
        m.op(frame, op)
    outputs = [Growing(v.type.shape, chosen.axes[v], chosen.extent, m.lift) for _, v in m.program.outputs]
    for s in _slabs(chosen):
        for output, part in zip(outputs, _slab(m, frame, chosen, arrays, s), strict=True):
            output.add(part, s)
    return [output.lanes() for output in outputs]


def _slabs(chosen: Plan) -> Iterator[slice]:
    for lo in range(0, chosen.extent, chosen.rows):
        yield slice(lo, min(lo + chosen.rows, chosen.extent))


def _slab(m: Machine, frame: Frame, chosen: Plan, arrays: dict[Value, tuple[str, np.ndarray]], s: slice) -> list[Lanes]:
    known = dict(frame.values)
    block, renamed = _resized(m, chosen, s.stop - s.start)
    for value, (name, data) in arrays.items():
        axis = chosen.axes.get(value)
        if axis is not None:
            frame.values[renamed[value]] = _cut_input(m, value, name, data, axis, s)
    m.block(frame, block)
    results = [frame.values[renamed[v]] for _, v in m.program.outputs]
    frame.values = known
    return results


def _cut_input(m: Machine, value: Value, name: str, data: np.ndarray, axis: int, s: slice) -> Lanes:
    shape = value.type.shape
    pick = (*(slice(None),) * axis, s)
    index = np.arange(value.type.size, dtype=np.int64).reshape(shape) if axis else _leading(shape, s)
    part = data.reshape(shape)[pick]
    return m.input(name, part, value.type.dtype, part.shape, index if not axis else index[pick])


def _leading(shape: tuple[int, ...], s: slice) -> np.ndarray:
    row = int(np.prod(shape[1:], dtype=np.int64))
    return np.arange(s.start * row, s.stop * row, dtype=np.int64).reshape(s.stop - s.start, *shape[1:])


def _resized(m: Machine, chosen: Plan, rows: int) -> tuple[Block, dict[Value, Value]]:
    """The body's sliced part for slabs of ``rows``: the same ops (and sites) on smaller shapes."""
    known = m.resized.get(rows)
    if known is not None:
        return known
    renamed = {v: Value(v.name, _smaller(v.type, at, rows)) for v, at in chosen.axes.items() if at is not None}
    block = Block()
    for op in m.program.body.ops:
        if op.results and op.result in renamed:
            result = renamed[op.result]
            attrs = {**op.attrs, "shape": result.type.shape} if "shape" in op.attrs else op.attrs
            block.ops.append(Op(op.name, [renamed.get(v, v) for v in op.operands], [result], attrs, [], op.span))
            m.numbers[id(block.ops[-1])] = m.numbers[id(op)]
    m.kept.update(id(renamed[v]) for _, v in m.program.outputs)
    m.resized[rows] = block, renamed
    return block, renamed


def _smaller(kind: TensorType, axis: int, rows: int) -> TensorType:
    shape = list(kind.shape)
    shape[axis] = rows
    return TensorType(kind.dtype, tuple(shape))


__all__ = ["Plan", "plan", "run"]
