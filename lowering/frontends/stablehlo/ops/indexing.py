"""stablehlo.gather -> KIR's point gather: one index array per operand dimension, computed with integer ops.

Starts are clamped so that the slice fits, as StableHLO says.
"""

from __future__ import annotations

from collections.abc import Sequence

from lowering.frontends.stablehlo.node import Node, handles
from lowering.frontends.stablehlo.promises import note_promises
from lowering.ir.builder import Builder
from lowering.ir.program import Value
from lowering.ir.types import I32, I64


@handles("stablehlo.gather")
def _gather(node: Node) -> Value:
    from jaxlib.mlir.dialects import stablehlo

    dims = stablehlo.GatherDimensionNumbers(node.attr("dimension_numbers"))
    operand, starts = node.operands
    sizes, shape = node.ints("slice_sizes"), node.type.shape
    window = [d for d in range(operand.type.rank) if d not in (*dims.collapsed_slice_dims, *dims.operand_batching_dims)]
    offset_of = dict(zip(window, dims.offset_dims, strict=True))
    batch = [d for d in range(len(shape)) if d not in dims.offset_dims]
    note_promises(node, starts, dims.index_vector_dim)
    grid = IndexGrid(node.b, starts, dims.index_vector_dim, shape, batch)
    index = [
        grid.along(
            d,
            component=_position(dims.start_index_map, d),
            limit=operand.type.shape[d] - sizes[d],
            offset=offset_of.get(d),
            batching=_position(dims.operand_batching_dims, d),
            batching_dims=dims.start_indices_batching_dims,
        )
        for d in range(operand.type.rank)
    ]
    return node.b("gather", operand, *index, mode="clamp")


def _position(items: Sequence[int], item: int) -> int | None:
    return list(items).index(item) if item in items else None


class IndexGrid:
    """Index arrays of ``shape`` whose dimensions ``batch`` are those of ``starts`` without its index vector."""

    def __init__(self, b: Builder, starts: Value, vector: int, shape: Sequence[int], batch: Sequence[int]) -> None:
        self.b, self.vector, self.shape, self.batch = b, vector, tuple(shape), tuple(batch)
        # a narrow or unsigned index would not hold the arithmetic that follows
        self.starts = starts if starts.type.dtype in (I32, I64) else b.cast(starts, I64)

    def start(self, component: int) -> Value:
        """Component ``component`` of every index vector."""
        starts, v = self.starts, self.vector
        if v == starts.type.rank:
            return starts
        lead, extents = [0] * starts.type.rank, list(starts.type.shape)
        lead[v], extents[v] = component, component + 1
        picked = self.b("slice", starts, start=tuple(lead), limit=tuple(extents), step=(1,) * len(lead))
        return self.b.reshape(picked, starts.type.shape[:v] + starts.type.shape[v + 1 :])

    def spread(self, value: Value) -> Value:
        """A value over the batch dimensions, over all of ``shape``."""
        return self.b.broadcast(value, self.shape, self.batch)

    def lane(self, dimension: int) -> Value:
        return self.b.index(self.shape, dimension, self.starts.type.dtype)

    def batch_dimension(self, starts_dimension: int) -> int:
        """The dimension of ``shape`` that a dimension of ``starts`` became."""
        return self.batch[starts_dimension - (starts_dimension > self.vector)]

    def clamped(self, component: int, limit: int) -> Value:
        b, start = self.b, self.start(component)
        return b("min", b("max", start, b.like(0, start)), b.like(limit, start))

    def along(
        self,
        _dimension: int,
        *,
        component: int | None,
        limit: int | None,
        offset: int | None,
        batching: int | None,
        batching_dims: Sequence[int],
    ) -> Value:
        """Index along one operand dimension: clamped start + offset in the slice + position in the batch."""
        parts = []
        if component is not None:
            start = self.start(component) if limit is None else self.clamped(component, limit)
            parts.append(self.spread(start))
        if offset is not None:
            parts.append(self.lane(offset))
        if batching is not None:
            parts.append(self.lane(self.batch_dimension(batching_dims[batching])))
        total = parts[0] if parts else self.b.constant(0, self.starts.type.dtype, self.shape)
        for part in parts[1:]:
            total = self.b("add", total, part)
        return total
