"""Whether two views of one storage surely share no element.

Takes TensorRefs; gives True only where that is certain (False says nothing).  Knows no ops and no memory.
"""

from __future__ import annotations

from math import gcd, prod

from lowering.capture.trace import TensorRef

Dims = list[tuple[int, int]]  # (stride, extent), strides positive, extents above 1


def disjoint(a: TensorRef, b: TensorRef) -> bool:
    """Views of one dtype: apart as ranges, as residues of their strides, or as boxes of rows and columns."""
    if prod(a.shape) == 0 or prod(b.shape) == 0:
        return True
    if a.dtype != b.dtype:
        return False
    (first, dims_a), (second, dims_b) = _walk(a), _walk(b)
    if first + _reach(dims_a) < second or second + _reach(dims_b) < first:
        return True
    strides = {stride for stride, _ in dims_a + dims_b}
    if (first - second) % (gcd(*strides) or abs(first - second) + 1):
        return True
    return any(_boxes_apart(pitch, first, dims_a, second, dims_b) for pitch in strides if pitch > 1)


def _walk(ref: TensorRef) -> tuple[int, Dims]:
    """The lowest element, and steps upwards from it."""
    low, dims = ref.offset, []
    for stride, extent in zip(ref.strides, ref.shape, strict=True):
        if stride and extent > 1:
            low += min(0, stride) * (extent - 1)
            dims.append((abs(stride), extent))
    return low, dims


def _reach(dims: Dims) -> int:
    return sum(stride * (extent - 1) for stride, extent in dims)


def _boxes_apart(pitch: int, first: int, dims_a: Dims, second: int, dims_b: Dims) -> bool:
    """Both views as boxes of rows of ``pitch`` elements: no row in common, or no column."""
    box_a, box_b = _box(pitch, first, dims_a), _box(pitch, second, dims_b)
    if box_a is None or box_b is None:
        return False
    (row_a, rows_a, column_a, columns_a), (row_b, rows_b, column_b, columns_b) = box_a, box_b
    return (
        row_a + rows_a < row_b
        or row_b + rows_b < row_a
        or column_a + columns_a < column_b
        or column_b + columns_b < column_a
    )


def _box(pitch: int, low: int, dims: Dims) -> tuple[int, int, int, int] | None:
    """(first row, rows beyond it, first column, columns beyond it); None where it does not stay within its rows."""
    fine = [(stride, extent) for stride, extent in dims if stride < pitch]
    coarse = [(stride // pitch, extent) for stride, extent in dims if stride >= pitch]
    if any(stride % pitch for stride, _ in dims if stride >= pitch):
        return None
    column, columns = low % pitch, _reach(fine)
    return None if column + columns >= pitch else (low // pitch, _reach(coarse), column, columns)
