"""dot_general -> KIR dot on [batch, M, K] x [batch, K, N], with what StableHLO says about precision.

Order and product rounding are the backend's ('unordered', 'open').  Narrow floats accumulate in f32 and are rounded
once to the result type; DEFAULT precision is the operands' own (ieee).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from lowering.frontends.stablehlo.node import Node, handles
from lowering.ir.builder import Builder
from lowering.ir.program import Value
from lowering.ir.types import F32, DType, dtype

_RESOLVED = {
    "DEFAULT": "StableHLO DEFAULT precision is resolved as ieee f32; a TPU would round f32 operands to bf16",
    "HIGH": "StableHLO HIGH precision is resolved as ieee f32; a GPU would round f32 operands to TF32",
}
_NARROW = "a dot of narrow floats is taken to accumulate in f32 and to round once to its result type"


def dot(node: Node, lhs: Value, rhs: Value, result: DType) -> Value:
    """[..., M, K] x [..., K, N] in ``result``, with the node's precision."""
    acc = _accumulator(node, result)
    made = node.b("dot", lhs, rhs, acc=acc.name, precision=_precision(node, lhs, rhs), product="open")
    return node.b.cast(made, result)


def _accumulator(node: Node, result: DType) -> DType:
    """What an explicit algorithm says; else f32 for narrower floats."""
    from jaxlib.mlir.dialects import stablehlo

    attribute = node.attr("algorithm")
    if attribute is not None and result.is_float:
        algorithm = stablehlo.DotAlgorithm(attribute)
        if algorithm.allow_imprecise_accumulation:
            raise node.unsupported("a dot algorithm with imprecise accumulation")
        return dtype(str(algorithm.accumulation_type))
    if result.is_float and result.bits < 32:
        node.translator.note(_NARROW)
        return F32
    return result


def _precision(node: Node, lhs: Value, rhs: Value) -> str:
    algorithm = node.attr("algorithm")
    if algorithm is not None:
        return _of_algorithm(node, algorithm, lhs)
    if F32 in (lhs.type.dtype, rhs.type.dtype):
        for note in {_RESOLVED[name]: None for name in _configured(node) if name in _RESOLVED}:
            node.translator.note(note)
    return "ieee"


def _configured(node: Node) -> list[str]:
    from jaxlib.mlir.dialects import stablehlo

    found = node.attr("precision_config")
    return ["DEFAULT"] if found is None else [stablehlo.PrecisionAttr(a).value for a in found]


def _of_algorithm(node: Node, attribute: Any, lhs: Value) -> str:
    """An explicit dot algorithm: (operand type, primitive operations) names one of KIR's precisions."""
    from jaxlib.mlir.dialects import stablehlo

    algorithm = stablehlo.DotAlgorithm(attribute)
    operand, count = str(algorithm.lhs_precision_type), algorithm.num_primitive_operations
    if operand != str(algorithm.rhs_precision_type):
        raise node.unsupported("an algorithm of two operand precisions")
    if operand == lhs.type.dtype.name and count == 1:
        return "ieee"
    found = {("tf32", 1): "tf32", ("tf32", 3): "tf32x3", ("bf16", 1): "bf16", ("bf16", 3): "bf16x3"}
    found |= {("bf16", 6): "bf16x6"}
    if (operand, count) not in found:
        raise node.unsupported(f"algorithm {operand} x {count}")
    return found[operand, count]


@handles("stablehlo.dot_general")
def _dot_general(node: Node) -> Value:
    from jaxlib.mlir.dialects import stablehlo

    dims = stablehlo.DotDimensionNumbers(node.attr("dot_dimension_numbers"))
    lhs, rhs = node.operands
    batch, lhs_free, left = _arranged(
        node.b, lhs, dims.lhs_batching_dimensions, dims.lhs_contracting_dimensions, last=True
    )
    _, rhs_free, right = _arranged(
        node.b, rhs, dims.rhs_batching_dimensions, dims.rhs_contracting_dimensions, last=False
    )
    made = dot(node, left, right, node.type.dtype)
    return node.b.reshape(made, (*batch, *lhs_free, *rhs_free))


def _arranged(
    b: Builder, x: Value, batching: Sequence[int], contracting: Sequence[int], *, last: bool
) -> tuple[list[int], list[int], Value]:
    """Batch and free extents, and x as [batch, free, K] (``last``) or [batch, K, free].

    There is no batch axis when nothing is batched.
    """
    free = [d for d in range(x.type.rank) if d not in (*batching, *contracting)]
    perm = (*batching, *free, *contracting) if last else (*batching, *contracting, *free)
    if perm != tuple(range(x.type.rank)):
        x_ordered = b("transpose", x, perm=perm)
    else:
        x_ordered = x
    extents = [[x.type.shape[d] for d in group] for group in (batching, free, contracting)]
    m, k = prod(extents[1]), prod(extents[2])
    lead = (prod(extents[0]),) if batching else ()
    return extents[0], extents[1], b.reshape(x_ordered, (*lead, m, k) if last else (*lead, k, m))
