"""Windows: reduce_window (pooling, cumulative sums) and select_and_scatter (the gradient of max pooling).

A window is laid out along a new last axis and folded there; a window that reaches back to the first lane is a scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from lowering.frontends.stablehlo.folding import FoldingBuilder
from lowering.frontends.stablehlo.node import Node, handles
from lowering.frontends.stablehlo.ops import combiners
from lowering.frontends.stablehlo.ops.reduction import fold
from lowering.ir.builder import Builder
from lowering.ir.program import Value
from lowering.ir.types import I64

#: Up to this many lanes a window is laid out by strided slices, which cost no index arrays.
_SLICED = 64


@dataclass(frozen=True, slots=True)
class Windows:
    """One entry per dimension: extent of the window, stride, dilation of the window and of the base, padding."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    base_dilation: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]

    @property
    def plain(self) -> bool:
        """Neither strides nor dilation."""
        return all(v == 1 for v in (*self.stride, *self.dilation, *self.base_dilation))

    def padded(self, b: Builder, x: Value, fill: Value) -> Value:
        if not any((*self.low, *self.high)) and all(d == 1 for d in self.base_dilation):
            return x
        interior = tuple(d - 1 for d in self.base_dilation)
        return b("pad", x, fill, low=self.low, high=self.high, interior=interior)

    def counts(self, padded: tuple[int, ...]) -> tuple[int, ...]:
        """How many windows fit along each dimension."""
        reach = (1 + (s - 1) * d for s, d in zip(self.size, self.dilation, strict=True))
        return tuple(max(0, (n - r) // step + 1) for n, r, step in zip(padded, reach, self.stride, strict=True))

    def patches(self, b: Builder, x: Value) -> Value:
        """[counts..., lanes of the window in row-major order] of an already padded x."""
        counts = self.counts(x.type.shape)
        if prod(self.size) <= _SLICED:
            lanes = [self._lane(b, x, at, counts) for at in product(*map(range, self.size))]
            return b("concat", *lanes, axis=len(counts)) if len(lanes) > 1 else lanes[0]
        picked = b("gather", x, *(self._position(b, counts, d) for d in range(len(counts))))
        return b.reshape(picked, (*counts, prod(self.size)))

    def _lane(self, b: Builder, x: Value, at: tuple[int, ...], counts: tuple[int, ...]) -> Value:
        start = tuple(i * d for i, d in zip(at, self.dilation, strict=True))
        limit = tuple(s + max(0, (n - 1) * step + 1) for s, n, step in zip(start, counts, self.stride, strict=True))
        limit = tuple(s if n == 0 else e for s, n, e in zip(start, counts, limit, strict=True))
        return b.reshape(b("slice", x, start=start, limit=limit, step=self.stride), (*counts, 1))

    def _position(self, b: Builder, counts: tuple[int, ...], d: int) -> Value:
        """Index along dimension d of the padded array, for [counts..., size...]."""
        shape, rank = (*counts, *self.size), len(counts)
        outer, inner = b.index(shape, d), b.index(shape, rank + d)
        scaled = (b("mul", v, b.like(k, v)) for v, k in ((outer, self.stride[d]), (inner, self.dilation[d])))
        return b("add", *scaled)


def windows_of(node: Node, rank: int) -> Windows:
    ones = (1,) * rank
    padding = node.ints("padding", (0,) * 2 * rank)
    return Windows(
        node.ints("window_dimensions", ones),
        node.ints("window_strides", ones),
        node.ints("window_dilations", ones),
        node.ints("base_dilations", ones),
        padding[0::2],
        padding[1::2],
    )


@handles("stablehlo.reduce_window")
def _reduce_window(node: Node) -> Sequence[Value]:
    n = len(node.operands) // 2
    arrays, inits = node.operands[:n], node.operands[n:]
    windows = windows_of(node, arrays[0].type.rank)
    if n == 1:
        scanned = _as_scan(node, windows, arrays[0], inits[0])
        if scanned is not None:
            return [scanned]
    b, combine = node.b, combiners.named(node.region(), arrays[0].type.dtype) if n == 1 else None
    fills = inits if combine is None else [_left_out(b, combine, inits[0])]
    laid = [windows.patches(b, windows.padded(b, x, v)) for x, v in zip(arrays, fills, strict=True)]
    return fold(node, node.region(), laid, inits, laid[0].type.rank - 1)


def _left_out(b: FoldingBuilder, combine: str, init: Value) -> Value:
    """What padding holds: XLA leaves it out of the windows, where the specification has the initial value there."""
    neutral = combiners.neutral(combine, init.type.dtype)
    return init if combiners.same(b.literal(init), neutral) else b.constant(neutral, init.type.dtype)


def _as_scan(node: Node, windows: Windows, x: Value, init: Value) -> Value | None:
    """cumsum and its like: one dimension whose window reaches from every lane to the first (or last) one."""
    combine = combiners.named(node.region(), x.type.dtype)
    wide = [d for d, size in enumerate(windows.size) if size > 1]
    if combine is None or len(wide) != 1 or not windows.plain:
        return None
    d, n = wide[0], x.type.shape[wide[0]]
    others = [p for i in range(x.type.rank) if i != d for p in (windows.low[i], windows.high[i])]
    reach = windows.low[d], windows.high[d]
    if windows.size[d] != n or any(others) or reach not in ((n - 1, 0), (0, n - 1)):
        return None
    if not combiners.same(node.b.literal(init), combiners.neutral(combine, x.type.dtype)):
        return None
    return node.b("scan", x, axis=d, combine=combine, reverse=reach[0] == 0)


@handles("stablehlo.select_and_scatter")
def _select_and_scatter(node: Node) -> Value:
    """Each window sends its source lane to its largest (smallest) operand lane, the first one where several tie."""
    b, (x, source, init) = node.b, node.operands
    order = {"ge": ("max", "argmax"), "le": ("min", "argmin")}.get(_selection(node))
    add = combiners.named(node.region(1), x.type.dtype)
    if order is None or add != "add":
        raise node.unsupported("with these regions", "only the gradients of max and min pooling are modelled")
    windows = windows_of(node, x.type.rank)
    fill = b.constant(combiners.neutral(order[0], x.type.dtype), x.type.dtype)
    laid = windows.patches(b, windows.padded(b, x, fill))
    chosen = _chosen(b, laid, order[1])
    index = [_coordinate(b, windows, chosen, d) for d in range(x.type.rank)]
    flat = [b.reshape(v, (source.type.size,)) for v in (source, *index)]
    return b("scatter", b.broadcast(init, x.type.shape), *flat, combine="add")


def _selection(node: Node) -> str:
    tree = combiners.returned(node.region(0))[0]
    return tree[0] if tree[1:] == (("arg", 0), ("arg", 1)) else ""


def _chosen(b: Builder, laid: Value, combine: str) -> Value:
    axis = laid.type.rank - 1
    lanes = b.index(laid.type.shape, axis)
    return b.op("reduce", [laid, lanes], axis=axis, combine=combine, nan="number").results[1]


def _coordinate(b: Builder, windows: Windows, chosen: Value, d: int) -> Value:
    """Where along dimension d of the unpadded operand the chosen lane of each window lies."""
    inside = prod(windows.size[d + 1 :])
    lane = b("rem", b("div", chosen, b.like(inside, chosen)), b.like(windows.size[d], chosen))
    start = b("mul", b.index(chosen.type.shape, d, I64), b.like(windows.stride[d], chosen))
    return b("sub", b("add", start, lane), b.like(windows.low[d], chosen))
