"""The index arithmetic behind an address or a mask, evaluated at one lane.

Takes a Choice (what a load, store or select went by) and a lane; gives Facts: each integer op with its value there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from equivalence.divergence.trace import Choice, Trace
from lowering.ir.program import Op, Value

STRUCTURE = frozenset(("broadcast", "reshape", "transpose"))
GIVEN = frozenset(("iota", "program_id", "num_programs", "constant", "alloc", "addptr"))
Lane = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Fact:
    """``op`` gave ``value`` at the lane; op is None for parameters and loop counters."""

    value_of: Value
    op: Op | None
    value: int
    operands: tuple[int, ...]


def facts(trace: Trace, choice: Choice, root: Value, lane: Lane) -> dict[Value, Fact]:
    """Every index value behind ``root`` at that lane (batch axis first)."""
    found: dict[Value, Fact] = {}
    for value, place in _walk(trace, choice, root, lane):
        op = trace.definers.get(value)
        here = _scalar(choice, value, place)
        if here is not None and value not in found:
            values = [_scalar(choice, v, at) for v, at in _operands(op, place)] if op is not None else []
            found[value] = Fact(value, op, here, tuple(v for v in values if v is not None))
    return found


def _walk(trace: Trace, choice: Choice, root: Value, lane: Lane) -> Iterator[tuple[Value, Lane]]:
    waiting = [(root, lane)]
    seen: set[Value] = set()
    while waiting:
        value, place = waiting.pop()
        if value in seen or value not in choice.values:
            continue
        seen.add(value)
        yield value, place
        op = trace.definers.get(value)
        if op is not None and not op.regions:
            waiting.extend(_operands(op, place))


def _operands(op: Op, lane: Lane) -> list[tuple[Value, Lane]]:
    """Each operand with the lane of it that the op's lane uses."""
    batch, place = lane[0], lane[1:]
    if not op.operands:
        return []
    x, shape = op.operands[0], op.operands[0].type.shape
    if op.name == "broadcast":
        return [(x, (batch, *(place[d] if n > 1 else 0 for d, n in zip(op.attrs["dims"], shape))))]
    if op.name == "reshape":
        flat = int(np.ravel_multi_index(place, op.result.type.shape)) if place else 0
        inner = tuple(int(i) for i in np.unravel_index(flat, shape)) if shape else ()
        return [(x, (batch, *inner))]
    if op.name == "transpose":
        return [(x, (batch, *(place[op.attrs["perm"].index(d)] for d in range(len(shape)))))]
    return [(v, (batch, *place[: v.type.rank])) for v in op.operands if v.type.shape in ((), op.result.type.shape)]


def _scalar(choice: Choice, value: Value, lane: Lane) -> int | None:
    lanes = choice.values.get(value)
    if lanes is None or len(lane) != len(lanes.shape) + 1:
        return None
    index = tuple(0 if n == 1 else min(i, n - 1) for i, n in zip(lane, lanes.data.shape, strict=True))
    return int(lanes.data[index])


def conjuncts(trace: Trace, choice: Choice, mask: Value, lane: Lane) -> list[Fact]:
    """The comparisons whose conjunction the mask is, in textual order; what is no conjunction counts whole."""
    known = facts(trace, choice, mask, lane)
    found: list[Fact] = []
    waiting = [mask]
    while waiting:
        value = waiting.pop()
        fact = known.get(value)
        if fact is None:
            continue
        if fact.op is not None and fact.op.name in (*STRUCTURE, "and"):
            waiting.extend(fact.op.operands)
        else:
            found.append(fact)
    return sorted(found, key=lambda f: trace.order.get(id(f.op), -1))


def margin(fact: Fact) -> int:
    """How far a comparison is from turning over; what is none is as far as can be."""
    if fact.op is None or fact.op.name != "cmp" or len(fact.operands) != 2:
        return 1 << 62
    gap = abs(fact.operands[0] - fact.operands[1])
    return gap - 1 if fact.op.attrs["pred"] in ("lt", "gt") and fact.value else gap


def suspects(trace: Trace, wrong: Sequence[dict[Value, Fact]], right: Sequence[dict[Value, Fact]]) -> list[Fact]:
    """Index values behind wrong accesses and behind no right one, in textual order."""
    innocent = {value for known in right for value in known}
    found = {v: f for known in wrong for v, f in known.items() if v not in innocent}
    real = [f for f in found.values() if f.op is None or f.op.name not in STRUCTURE | GIVEN]
    return sorted(real, key=lambda f: trace.order.get(id(f.op), -1))
