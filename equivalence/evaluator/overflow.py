"""Offsets that wrap in 32 bits on the way to an address: `row * stride` where the product needs more.

Takes an integer operation with its concrete operands; leaves an event 'int32-overflow' with its line.  Hashes wrap on
purpose (Philox, LCGs), so only what flows into a pointer's offset through arithmetic counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from equivalence.evaluator.lanes import Lanes
from lowering.ir.program import Block, Op, Program, Value

if TYPE_CHECKING:
    from equivalence.evaluator.machine import Machine

WATCHED = frozenset({"add", "sub", "mul"})
_LOW, _HIGH = -(1 << 31), (1 << 31) - 1
_PASSED_ON = frozenset(
    {"add", "sub", "mul", "neg", "min", "max", "select", "cast", "broadcast", "reshape", "transpose", "concat", "slice"}
)


def watch(m: Machine, op: Op, operands: Sequence[Lanes]) -> None:
    """Looks at the extremes of the operands first: almost no operation comes near the limits."""
    a, b = (x.data for x in operands)
    if not a.size or not b.size:
        return
    ends = [_apply(op.name, x, y) for x in _ends(a) for y in _ends(b)]
    if min(ends) >= _LOW and max(ends) <= _HIGH:
        return
    exact = _apply(op.name, a.astype(np.int64), b.astype(np.int64))
    beyond = exact[(exact < _LOW) | (exact > _HIGH)]
    if beyond.size and reaches_an_address(m.program, op):
        m.event("int32-overflow", f"{op.name} gives {int(beyond.flat[0])}, which wraps in 32 bits", op.span)


def _ends(x: np.ndarray) -> tuple[int, int]:
    return int(x.min()), int(x.max())


def _apply(name: str, a: Any, b: Any) -> Any:
    return a + b if name == "add" else a - b if name == "sub" else a * b


def reaches_an_address(program: Program, op: Op) -> bool:
    """Whether the result becomes part of an offset, through loops and branches as well."""
    bodies = [program.body, *(kernel.body for kernel in program.kernels.values())]
    flow = {value: targets for body in bodies for value, targets in _flow(body)}
    seen: set[Value] = set()
    pending = list(op.results)
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        for target in flow.get(value, ()):
            if target is None:
                return True
            pending.append(target)
    return False


def _flow(body: Block) -> Iterator[tuple[Value, list[Value | None]]]:
    """By value: what it becomes; None stands for an address."""
    found: dict[Value, list[Value | None]] = {}
    for op in body.walk():
        if op.name == "addptr":
            found.setdefault(op.operands[1], []).append(None)
        elif op.name in _PASSED_ON and op.results:
            for operand in op.operands:
                found.setdefault(operand, []).append(op.results[0])
        elif op.regions:
            for value, target in _through(op):
                found.setdefault(value, []).append(target)
    yield from found.items()


def _through(op: Op) -> Iterator[tuple[Value, Value]]:
    """What enters and leaves the regions of a loop or a branch, by position from the end (bounds come first)."""
    for region in op.regions:
        yield from zip(reversed(op.operands), reversed(region.args))
        last = region.ops[-1] if region.ops else None
        if last is not None and last.name in ("yield", "condition"):
            yield from zip(reversed(last.operands), reversed(op.results))
            yield from zip(reversed(last.operands), reversed(region.args))


__all__ = ["WATCHED", "reaches_an_address", "watch"]
