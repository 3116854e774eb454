"""Orders of lanes that a source leaves open and that nothing can tell: before a reduction over all lanes.

Takes a lowered kernel's block and changes it in place: a ``reorder`` whose lanes are only computed with one by one,
beside values that all lanes share, and then reduced over their one axis, goes.  Must not know about MLIR.
"""

from __future__ import annotations

from collections.abc import Iterator

from lowering.ir.ops import RECORDS
from lowering.ir.program import Block, Op, Value


def drop_reorders(body: Block) -> None:
    """Leaves out the reorders that cannot matter."""
    if not any(op.name == "reorder" for op in body.walk()):
        return
    makers = {value: op for op in body.walk() for value in op.results}
    users: dict[Value, list[Op]] = {}
    for op in body.walk():
        for value in op.operands:
            users.setdefault(value, []).append(op)
    harmless = {
        op.result: op.operands[0] for op in body.walk() if op.name == "reorder" and _all_reduced(op, users, makers)
    }
    for op in body.walk():
        op.operands = [_without(value, harmless) for value in op.operands]
    for block in body.blocks():
        block.ops = [op for op in block.ops if op.name != "reorder" or op.result not in harmless]


def _without(value: Value, harmless: dict[Value, Value]) -> Value:
    while value in harmless:
        value = harmless[value]
    return value


def _all_reduced(reorder: Op, users: dict[Value, list[Op]], makers: dict[Value, Op]) -> bool:
    """Whether every use of the lanes ends in a reduction over all of them."""
    if reorder.result.type.rank != 1:
        return False
    moved = {reorder.result}
    waiting = [reorder.result]
    while waiting:
        for op in users.get(waiting.pop(), ()):
            if op.name == "reduce":
                if op.attrs["order"] != "unordered" or not all(v in moved or _reorders(v, makers) for v in op.operands):
                    return False
            elif not RECORDS[op.name].primitive or len(op.results) != 1 or op.regions or op.name in _ALONG:
                return False
            elif op.result not in moved:
                moved.add(op.result)
                waiting.append(op.result)
    return all(_shared(v, moved, makers) for v in _beside(moved, makers))


#: Primitives that do not work lane by lane.
_ALONG = frozenset({"reduce", "scan", "dot", "sort", "scatter", "atomic_rmw"})


def _reorders(value: Value, makers: dict[Value, Op]) -> bool:
    """An operand of a reduction of tuples: Triton reorders each of them, all in one way."""
    return value in makers and makers[value].name == "reorder"


def _beside(moved: set[Value], makers: dict[Value, Op]) -> Iterator[Value]:
    """What the lanes are computed with."""
    for value in moved:
        if makers[value].name != "reorder":
            yield from makers[value].operands


def _shared(value: Value, moved: set[Value], makers: dict[Value, Op]) -> bool:
    """Whether it is moved alike, or the same in every lane."""
    maker = makers.get(value)
    if value in moved:
        return True
    if maker is None:
        return False
    if maker.name == "constant":
        return isinstance(maker.attrs["value"], bool | int | float)
    return maker.name == "broadcast" and maker.operands[0].type.size == 1
