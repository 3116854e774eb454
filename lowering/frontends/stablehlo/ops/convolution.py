"""convolution -> windows laid out as rows (im2col), then one dot per feature group.

Strides, padding, both dilations, reversed windows, feature groups and batch groups are covered.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from lowering.frontends.stablehlo.node import Node, handles
from lowering.frontends.stablehlo.ops.products import dot
from lowering.frontends.stablehlo.ops.windows import Windows
from lowering.ir.builder import Builder
from lowering.ir.program import Value


@handles("stablehlo.convolution")
def _convolution(node: Node) -> Value:
    from jaxlib.mlir.dialects import stablehlo

    b, (x, kernel) = node.b, node.operands
    dims = stablehlo.ConvDimensionNumbers(node.attr("dimension_numbers"))
    x = _permuted(b, x, [dims.input_batch_dimension, dims.input_feature_dimension, *dims.input_spatial_dimensions])
    kernel = _kernel(node, b, kernel, dims)
    rows = _rows(node, b, x, kernel.type.shape[2:])
    made = _grouped(node, rows, kernel)
    order = [dims.output_batch_dimension, dims.output_feature_dimension, *dims.output_spatial_dimensions]
    return _permuted(b, made, [order.index(d) for d in range(len(order))])


def _permuted(b: Builder, x: Value, perm: Sequence[int]) -> Value:
    return x if list(perm) == list(range(x.type.rank)) else b("transpose", x, perm=tuple(perm))


def _kernel(node: Node, b: Builder, kernel: Value, dims: Any) -> Value:
    """[out features, in features, window...], reversed where the op says so."""
    order = [dims.kernel_output_feature_dimension, dims.kernel_input_feature_dimension, *dims.kernel_spatial_dimensions]
    kernel = _permuted(b, kernel, order)
    axes = tuple(2 + i for i, flipped in enumerate(node.ints("window_reversal")) if flipped)
    return b("reverse", kernel, axes=axes) if axes else kernel


def _rows(node: Node, b: Builder, x: Value, window: tuple[int, ...]) -> Value:
    """[N, C, out..., lanes of the window] of x [N, C, space...]."""
    ones = (1,) * len(window)
    padding = node.ints("padding", (0,) * 2 * len(window))
    windows = Windows(
        (1, 1, *window),
        (1, 1, *node.ints("window_strides", ones)),
        (1, 1, *node.ints("rhs_dilation", ones)),
        (1, 1, *node.ints("lhs_dilation", ones)),
        (0, 0, *padding[0::2]),
        (0, 0, *padding[1::2]),
    )
    return windows.patches(b, windows.padded(b, x, b.constant(0, x.type.dtype)))


def _grouped(node: Node, rows: Value, kernel: Value) -> Value:
    """[N, O, out...]: group g of the rows meets group g of the out features."""
    features, batches = node.int("feature_group_count"), node.int("batch_group_count")
    groups = features * batches
    b, (n, c, *space, lanes) = node.b, rows.type.shape
    out, inner = kernel.type.shape[:2]
    split = b.reshape(rows, (batches, n // batches, features, c // features, prod(space), lanes))
    left = b("transpose", split, perm=(0, 2, 1, 4, 3, 5))
    left = b.reshape(left, (groups, n // batches * prod(space), c // features * lanes))
    right = b("transpose", b.reshape(kernel, (groups, out // groups, inner * lanes)), perm=(0, 2, 1))
    made = b.reshape(dot(node, left, right, node.type.dtype), (groups, n // batches, prod(space), out // groups))
    return b.reshape(b("transpose", made, perm=(1, 0, 3, 2)), (n // batches, out, *space))
