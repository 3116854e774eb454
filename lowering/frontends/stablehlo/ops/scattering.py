"""stablehlo.scatter -> KIR's point scatter.  A window that does not fit is dropped whole, as XLA does.

The order of colliding updates is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowering.frontends.stablehlo.node import Node, handles
from lowering.frontends.stablehlo.ops import combiners
from lowering.frontends.stablehlo.ops.indexing import IndexGrid
from lowering.frontends.stablehlo.promises import note_promises
from lowering.ir.program import Value


@handles("stablehlo.scatter")
def _scatter(node: Node) -> Sequence[Value]:
    n = (len(node.operands) - 1) // 2
    bases, starts, updates = node.operands[:n], node.operands[n], node.operands[n + 1 :]
    index = _indices(node, bases[0].type.shape, starts, updates[0].type.shape)
    if n > 1:
        raise node.unsupported("of several arrays at once", "scatter them one by one")
    return [_combined(node, bases[0], updates[0], index)]


def _combined(node: Node, base: Value, updates: Value, index: list[Value]) -> Value:
    b, block = node.b, node.region()
    combine = combiners.named(block, base.type.dtype)
    tree = combiners.returned(block)[0]
    if combine is None and tree == ("arg", 1):
        combine = "set"
    if combine is None and tree == ("subtract", ("arg", 0), ("arg", 1)):
        combine, updates = "add", b("neg", updates)  # a - b is a + (-b), bit for bit
    if combine is None:
        raise node.unsupported("with this region", "add, multiply, min, max, and, or, xor and replacement are modelled")
    return b("scatter", base, updates, *index, combine=combine)


def _indices(node: Node, base: tuple[int, ...], starts: Value, shape: tuple[int, ...]) -> list[Value]:
    from jaxlib.mlir.dialects import stablehlo

    dims = stablehlo.ScatterDimensionNumbers(node.attr("scatter_dimension_numbers"))
    window = [d for d in range(len(base)) if d not in (*dims.inserted_window_dims, *dims.input_batching_dims)]
    offset_of = dict(zip(window, dims.update_window_dims, strict=True))
    batch = [d for d in range(len(shape)) if d not in dims.update_window_dims]
    note_promises(node, starts, dims.index_vector_dim)
    grid = IndexGrid(node.b, starts, dims.index_vector_dim, shape, batch)
    fits = _fits(node, grid, dims, base, {d: shape[u] for d, u in offset_of.items()})
    return [_along(node, grid, dims, d, offset_of.get(d), fits) for d in range(len(base))]


def _along(node: Node, grid: IndexGrid, dims: Any, d: int, offset: int | None, fits: Value | None) -> Value:
    mapped, batching = list(dims.scattered_dims_to_operand_dims), list(dims.input_batching_dims)
    index = grid.along(
        d,
        component=mapped.index(d) if d in mapped else None,
        limit=None,
        offset=offset,
        batching=batching.index(d) if d in batching else None,
        batching_dims=dims.scatter_indices_batching_dims,
    )
    return index if fits is None else node.b("select", fits, index, node.b.like(-1, index))


def _fits(node: Node, grid: IndexGrid, dims: Any, base: tuple[int, ...], extents: dict[int, int]) -> Value | None:
    """Whether the whole window of each update is in bounds; None where single lanes decide that for themselves."""
    b, fits = node.b, None
    for component, d in enumerate(dims.scattered_dims_to_operand_dims):
        if extents.get(d, 1) == 1:
            continue
        start = grid.start(component)
        inside = b("and", b.cmp("ge", start, b.like(0, start)), b.cmp("le", start, b.like(base[d] - extents[d], start)))
        fits = inside if fits is None else b("and", fits, inside)
    return None if fits is None else grid.spread(fits)
