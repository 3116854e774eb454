"""StableHLO ops that only move lanes."""

from __future__ import annotations

from lowering.frontends.stablehlo.attributes import dense
from lowering.frontends.stablehlo.node import Node, handles
from lowering.ir.program import Value


@handles("stablehlo.constant", "chlo.constant")
def _constant(node: Node) -> Value:
    dt, value = dense(node.attr("value"), node.span)
    if getattr(value, "ndim", 1) == 0:
        value = value.item()
    return node.b.constant(value, dt, node.type.shape)


@handles("stablehlo.iota")
def _iota(node: Node) -> Value:
    return node.b("iota", to=node.type.dtype.name, shape=node.type.shape, axis=node.int("iota_dimension"))


@handles("stablehlo.broadcast_in_dim")
def _broadcast_in_dim(node: Node) -> Value:
    """KIR's dims ascend, so the operand is transposed first where StableHLO's do not."""
    b, (x,), dims = node.b, node.operands, node.ints("broadcast_dimensions")
    order = sorted(range(len(dims)), key=lambda i: dims[i])
    if order != list(range(len(dims))):
        x = b("transpose", x, perm=tuple(order))
    return b.broadcast(x, node.type.shape, tuple(sorted(dims)))


@handles("stablehlo.reshape")
def _reshape(node: Node) -> Value:
    return node.b.reshape(node.operands[0], node.type.shape)


@handles("stablehlo.transpose")
def _transpose(node: Node) -> Value:
    return node.b("transpose", node.operands[0], perm=node.ints("permutation"))


@handles("stablehlo.slice")
def _slice(node: Node) -> Value:
    start, limit, step = (node.ints(n) for n in ("start_indices", "limit_indices", "strides"))
    return node.b("slice", node.operands[0], start=start, limit=limit, step=step)


@handles("stablehlo.dynamic_slice")
def _dynamic_slice(node: Node) -> Value:
    return node.b("dynamic_slice", *node.operands, shape=node.ints("slice_sizes"))


@handles("stablehlo.dynamic_update_slice")
def _dynamic_update_slice(node: Node) -> Value:
    return node.b("dynamic_update_slice", *node.operands)


@handles("stablehlo.pad")
def _pad(node: Node) -> Value:
    low, high = node.ints("edge_padding_low"), node.ints("edge_padding_high")
    interior = node.ints("interior_padding")
    if not any((*low, *high, *interior)):
        return node.operands[0]
    return node.b("pad", *node.operands, low=low, high=high, interior=interior)


@handles("stablehlo.concatenate")
def _concatenate(node: Node) -> Value:
    if len(node.operands) == 1:
        return node.operands[0]
    return node.b("concat", *node.operands, axis=node.int("dimension"))


@handles("stablehlo.reverse")
def _reverse(node: Node) -> Value:
    return node.b("reverse", node.operands[0], axes=node.ints("dimensions"))


@handles("stablehlo.optimization_barrier")
def _optimization_barrier(node: Node) -> list[Value]:
    return node.operands


@handles("stablehlo.get_dimension_size")
def _get_dimension_size(node: Node) -> Value:
    return node.b.constant(node.operands[0].type.shape[node.int("dimension")], node.type.dtype)
