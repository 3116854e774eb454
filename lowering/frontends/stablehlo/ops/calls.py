"""Calls: functions and composites are inlined; of the custom calls only annotations are known."""

from __future__ import annotations

from collections.abc import Sequence

from lowering.capture.jax_trace import UNDEFINED
from lowering.frontends.stablehlo.node import Node, handles
from lowering.ir.program import Value

#: Custom calls that say where data lives and compute nothing.
_IDENTITY = frozenset(
    {
        "Sharding",
        "SPMDFullToShardShape",
        "SPMDShardToFullShape",
        "annotate_device_placement",
        "LayoutConstraint",
        "xla.sdy.FuncResultSharding",
    }
)


@handles("func.call")
def _call(node: Node) -> Sequence[Value]:
    return node.translator.call(node.attr("callee").value, node.operands, node.span)


@handles("stablehlo.composite")
def _composite(node: Node) -> Sequence[Value]:
    """Its decomposition, except the mark that capture leaves for Pallas's uninitialised memory."""
    if node.attr("name").value == UNDEFINED:
        return [node.b("undefined", to=t.dtype.name, shape=t.shape) for t in node.types]
    return node.translator.call(node.attr("decomposition").value, node.operands, node.span)


@handles("stablehlo.custom_call")
def _custom_call(node: Node) -> Sequence[Value]:
    target = node.attr("call_target_name").value
    if target in _IDENTITY:
        return node.operands
    if not node.op.operation.results:
        node.translator.note("a host callback without results (a debug print) is left out")
        return []
    raise node.unsupported(f"target {target!r}", "library calls have no StableHLO meaning to compare")


@handles("sdy.sharding_constraint")
def _sharding(node: Node) -> Sequence[Value]:
    return node.operands
