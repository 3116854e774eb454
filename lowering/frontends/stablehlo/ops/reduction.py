"""stablehlo.reduce -> KIR reduce: named combiners, jax's argmax and argmin, any other region as a region.

StableHLO leaves the order open ('unordered').  KIR's reduce has no initial value: a neutral one is dropped, any other
is combined with the result (named combiners) or becomes the first lane (regions).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowering.frontends.stablehlo.node import Node, handles
from lowering.frontends.stablehlo.ops import combiners
from lowering.ir.builder import Builder
from lowering.ir.program import Value
from lowering.ir.types import BOOL


@handles("stablehlo.reduce")
def _reduce(node: Node) -> Sequence[Value]:
    n = len(node.operands) // 2
    arrays, inits = node.operands[:n], node.operands[n:]
    dims = node.ints("dimensions")
    flat = [merge_axes(node.b, x, dims) for x in arrays]
    axis = flat[0][1]
    return fold(node, node.region(), [x for x, _ in flat], inits, axis)


def merge_axes(b: Builder, x: Value, dims: Sequence[int]) -> tuple[Value, int]:
    """x with ``dims`` merged into one axis, and that axis (a new one of extent 1 when there are none)."""
    dims, kept = sorted(dims), [d for d in range(x.type.rank) if d not in dims]
    if dims and dims != list(range(dims[0], dims[-1] + 1)):
        x = b("transpose", x, perm=(*kept, *dims))
        dims = list(range(len(kept), x.type.rank))
    axis = dims[0] if dims else x.type.rank
    shape, merged = x.type.shape, 1
    for d in dims:
        merged *= shape[d]
    return b.reshape(x, (*shape[:axis], merged, *shape[axis + len(dims) :])), axis


def fold(node: Node, block: Any, arrays: Sequence[Value], inits: Sequence[Value], axis: int) -> list[Value]:
    """Folds ``axis`` away with the region of ``block``, initial values included."""
    shape = arrays[0].type.shape
    rest = shape[:axis] + shape[axis + 1 :]
    if shape[axis] == 0:
        return [node.b.broadcast(v, rest) for v in inits]
    if len(arrays) == 1:
        combine = combiners.named(block, arrays[0].type.dtype)
        if combine is not None:
            return [_named(node, combine, arrays[0], inits[0], axis)]
    combine = combiners.arg_extremum(block) if len(arrays) == 2 and _indexed(arrays) else None
    if combine is None:
        return _region(node, block, _with_first(node.b, arrays, inits, axis), axis)
    if not _neutral_pair(node, combine, arrays, inits):
        arrays = _with_first(node.b, arrays, inits, axis)
    return node.b.op("reduce", arrays, axis=axis, combine=combine, tie="lowest", nan="propagate").results


def _indexed(arrays: Sequence[Value]) -> bool:
    return arrays[1].type.dtype.is_integer and arrays[1].type.dtype is not BOOL


def _named(node: Node, combine: str, x: Value, init: Value, axis: int) -> Value:
    result = node.b("reduce", x, axis=axis, combine=combine)
    if combiners.same(node.b.literal(init), combiners.neutral(combine, x.type.dtype)):
        return result
    return node.b(combine, node.b.broadcast(init, result.type.shape), result)


def _neutral_pair(node: Node, combine: str, arrays: Sequence[Value], inits: Sequence[Value]) -> bool:
    """Whether (worst value, 0) changes nothing: it ties only with lanes of which one has index 0."""
    worst = combiners.neutral(combine, arrays[0].type.dtype)
    first, index = (node.b.literal(v) for v in inits)
    source = node.b.definition(arrays[1])
    while source is not None and source.name in ("reshape", "transpose", "broadcast"):
        source = node.b.definition(source.operands[0])
    return combiners.same(first, worst) and combiners.same(index, 0) and source is not None and source.name == "iota"


def _with_first(b: Builder, arrays: Sequence[Value], inits: Sequence[Value], axis: int) -> list[Value]:
    """The initial values as lane 0 of ``axis``."""
    made = []
    for x, init in zip(arrays, inits, strict=True):
        shape = (*x.type.shape[:axis], 1, *x.type.shape[axis + 1 :])
        made.append(b("concat", b.broadcast(init, shape), x, axis=axis))
    return made


def _region(node: Node, block: Any, arrays: Sequence[Value], axis: int) -> list[Value]:
    region = node.translator.region(block)
    return node.b.op("reduce", arrays, [region], axis=axis, combine="region").results
