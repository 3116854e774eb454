"""Finds loop carries that equal the loop's own counter, and lets the body read the counter instead.

fori_loop carries its index beside the scan's, and a Pallas grid its program id beside the iteration number.
"""

from __future__ import annotations

from dataclasses import dataclass

from lowering.ir.program import Block, Op, Value

Number = bool | int | float


@dataclass(frozen=True, slots=True)
class _Loop:
    """A ``for`` with literal bounds, and what defines the values of its body."""

    lower: Number
    upper: Number
    step: Number
    made: dict[Value, Op]

    def literal(self, value: Value) -> Number | None:
        op = self.made.get(value)
        if op is None or op.name != "constant" or value.type.rank:
            return None
        return op.attrs["value"]


def merge_counters(block: Block, renamed: dict[Value, Value], outer: dict[Value, Op] | None = None) -> None:
    """Enters (carry's argument -> counter) into ``renamed`` for every such carry of every loop in ``block``."""
    made = dict(outer or {})
    for op in block.ops:
        made.update((r, op) for r in op.results)
        for region in op.regions:
            merge_counters(region, renamed, made)
        if op.name == "for":
            _merge(op, made, renamed)


def _merge(op: Op, made: dict[Value, Op], renamed: dict[Value, Value]) -> None:
    body = op.regions[0]
    inner = made | {r: o for o in body.ops for r in o.results}
    outside = _Loop(0, 0, 1, inner)
    lower, upper, step = (outside.literal(v) for v in op.operands[:3])
    if lower is None or step is None:
        return
    loop = _Loop(lower, float("inf") if upper is None else upper, step, inner)
    for carry, start, following in zip(body.args[1:], op.operands[3:], body.ops[-1].operands, strict=True):
        if carry.type == body.args[0].type and loop.literal(start) == lower and _counts(loop, carry, following):
            renamed[carry] = body.args[0]


def _counts(loop: _Loop, carry: Value, following: Value) -> bool:
    """carry + step, or the same wrapping to the start only after the last iteration."""
    op = loop.made.get(following)
    if op is not None and op.name == "select":
        return _wraps_late(loop, carry, op)
    return op is not None and _is_next(loop, carry, op)


def _is_next(loop: _Loop, carry: Value, op: Op) -> bool:
    return op.name == "add" and carry in op.operands and any(loop.literal(v) == loop.step for v in op.operands)


def _wraps_late(loop: _Loop, carry: Value, op: Op) -> bool:
    test, following = loop.made.get(op.operands[0]), loop.made.get(op.operands[2])
    if test is None or following is None or test.name != "cmp" or test.attrs["pred"] != "eq":
        return False
    if not _is_next(loop, carry, following) or op.operands[2] not in test.operands:
        return False
    limit = next((loop.literal(v) for v in test.operands if v is not op.operands[2]), None)
    return limit is not None and limit >= loop.upper
