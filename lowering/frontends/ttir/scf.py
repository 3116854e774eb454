"""Handlers of structured control: scf.for, scf.while and scf.if are KIR's for, while and if.

Inside tt.map_elementwise a condition has lanes: there an ``if`` of pure ops becomes selects.
"""

from __future__ import annotations

from jaxlib.mlir import ir

from lowering.frontends.ttir.integers import signed, unsigned
from lowering.frontends.ttir.registry import Result, lowers
from lowering.frontends.ttir.state import Lowering
from lowering.ir.program import Block, Value
from lowering.ir.types import TensorType

_EFFECTS = frozenset({"store", "load", "atomic_rmw", "atomic_cas", "barrier", "for", "while", "promise"})


@lowers("scf.for")
def for_(low: Lowering, op: ir.Operation) -> Result:
    _refuse_lanes(low, op)
    bounds, carried = low.flat(list(op.operands)[:3]), low.flat(list(op.operands)[3:])
    is_unsigned = "unsignedCmp" in op.attributes
    if is_unsigned:
        bounds = [unsigned(low.build, bound) for bound in bounds]
    body = _counted(low, op.regions[0].blocks[0], bounds[0].type, [v.type for v in carried])
    return low.build.op("for", [*bounds, *carried], [body]).results


def _counted(low: Lowering, block: ir.Block, counter_type: TensorType, carried: list[TensorType]) -> Block:
    counter, *rest = block.arguments

    def body(i: Value, *args: Value) -> list[Value]:
        low.bind(counter, signed(low.build, i))
        low.bind_all(rest, args)
        return low.straight(block)

    return low.build.region([counter_type, *carried], body)


@lowers("scf.while")
def while_(low: Lowering, op: ir.Operation) -> Result:
    _refuse_lanes(low, op)
    carried = low.flat(op.operands)
    before, after = (region.blocks[0] for region in op.regions)
    condition = low.region(before, [v.type for v in carried], "condition")
    body = low.region(after, [v.type for v in condition.ops[-1].operands[1:]])
    return low.build.op("while", carried, [condition, body]).results


@lowers("scf.if")
def if_(low: Lowering, op: ir.Operation) -> Result:
    condition = low.value(op.operands[0])
    if low.lifted is not None:
        return _selected(low, op, condition)
    arms = [low.region(region.blocks[0], []) if len(region.blocks) else _empty(low) for region in op.regions]
    return low.build.op("if", [condition], arms).results


def _empty(low: Lowering) -> Block:
    return low.build.region([], list)


def _selected(low: Lowering, op: ir.Operation, condition: Value) -> list[Value]:
    """Both arms in place, then one of each pair of results, lane by lane."""
    start = len(low.build.block.ops)
    yes, no = (low.straight(region.blocks[0]) if len(region.blocks) else [] for region in op.regions)
    if any(o.name in _EFFECTS for o in low.build.block.ops[start:]):
        raise low.unsupported("branch with effects inside tt.map_elementwise")
    return [low.build("select", condition, a, b) for a, b in zip(yes, no, strict=True)]


def _refuse_lanes(low: Lowering, op: ir.Operation) -> None:
    if low.lifted is not None:
        raise low.unsupported(f"{op.name} inside tt.map_elementwise", "every lane would have its own trip count")
