"""A whole dot as a target evaluates it: operands rounded or split as its precision says, then the unit's adder.

Takes operands, an accumulator, the KIR precision and a Unit; gives the result, or None where the unit's arithmetic is
not modelled for these formats.  Must not know KIR or the evaluator.

An f32 product in several passes is taken as Triton and XLA write it: both operands are split into parts of the narrow
format, each the rounding of what the ones before leave; the products of parts are added from the smallest on, in an
accumulator of their own, and the dot's accumulator is added at the end.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from . import arith
from .formats import Array, isnan, storage_dtype
from .matrix_units import Row, Unit, dot
from .rounding import cast_float

#: Of a precision: the format of the parts, how many there are, and which are multiplied, from the smallest on.
_SPLIT: Final[dict[str, tuple[str, int, tuple[tuple[int, int], ...]]]] = {
    "tf32": ("tf32", 1, ((0, 0),)),
    "bf16": ("bf16", 1, ((0, 0),)),
    "tf32x3": ("tf32", 2, ((1, 0), (0, 1), (0, 0))),
    "bf16x3": ("bf16", 2, ((1, 0), (0, 1), (0, 0))),
    "bf16x6": ("bf16", 3, ((1, 1), (2, 0), (0, 2), (1, 0), (0, 1), (0, 0))),
}
_IMPRECISE = re.compile(r"imprecise=(\d+)")


def rows(unit: Unit, dtypes: tuple[str, str], dtype_acc: str, precision: str) -> Row | None:
    """The row that a dot of these formats uses; None where it is not modelled."""
    first, second = (part_format(unit, dtype, precision) for dtype in dtypes)
    row, other = unit.row(first, dtype_acc), unit.row(second, dtype_acc)
    return row if row is not None and row is other else None


def part_format(unit: Unit, dtype: str, precision: str) -> str:
    """The format in which an operand reaches the unit."""
    if dtype != "f32":
        return dtype
    chosen = _SPLIT.get(_resolved(unit, precision))
    return "f32" if chosen is None else chosen[0]


def _resolved(unit: Unit, precision: str) -> str:
    return unit.passes if precision == "ieee" and unit.passes else precision


def evaluate(
    unit: Unit, a: Array, b: Array, acc: Array | None, dtypes: tuple[str, str], dtype_acc: str, precision: str,
    impl: str = "",
) -> Array | None:  # fmt: skip
    """acc + a @ b for a [..., M, K] and b [..., K, N] in the storage of their formats, as ``unit`` gives it."""
    row = rows(unit, dtypes, dtype_acc, precision)
    if row is None:
        return None
    if dtypes == ("f32", "f32") and _resolved(unit, precision) in _SPLIT:
        return _in_passes(row, a, b, acc, dtype_acc, _resolved(unit, precision))
    if row.promoted:
        return _promoted(row, a, b, acc, dtypes, dtype_acc, impl)
    return dot(a, b, acc, row.adder, dtypes, dtype_acc)


def _in_passes(row: Row, a: Array, b: Array, acc: Array | None, dtype_acc: str, precision: str) -> Array:
    narrow, count, pairs = _SPLIT[precision]
    left, right = (parts(x, narrow, count) for x in (a, b))
    if len(pairs) == 1:
        return dot(left[0], right[0], acc, row.adder, (narrow, narrow), dtype_acc)
    total = None
    for one, other in pairs:
        if total is not None and (one, other) == (0, 0):
            total = np.where(isnan(total), total.dtype.type(0), total)  # inf - inf in the small parts
        total = dot(left[one], right[other], total, row.adder, (narrow, narrow), dtype_acc)
    assert total is not None
    return total if acc is None else arith.add(total, acc.astype(total.dtype), dtype_acc)


def parts(x: Array, narrow: str, count: int) -> list[Array]:
    """f32 values as sums of ``count`` narrow ones, the largest first, as f32."""
    found, rest = [], np.asarray(x, np.float32)
    with np.errstate(all="ignore"):
        for _ in range(count):
            part = cast_float(rest, "f32", narrow).astype(np.float32)
            found.append(part)
            rest = rest - part
    return found


def _promoted(
    row: Row, a: Array, b: Array, acc: Array | None, dtypes: tuple[str, str], dtype_acc: str, impl: str
) -> Array:
    """Short accumulators that are added to the full one every so many products (Hopper's fp8, as Triton uses it)."""
    given = _IMPRECISE.search(impl)
    asked = int(given[1]) if given else 0
    inner, step = a.shape[-1], row.adder.products
    each = max(step, -(-asked // step) * step)
    if asked > inner or not impl:
        return dot(a, b, acc, row.adder, dtypes, dtype_acc)
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    total = np.zeros(shape, storage_dtype(dtype_acc)) if acc is None else acc.astype(storage_dtype(dtype_acc))
    for low in range(0, inner, each):
        part = dot(a[..., low : low + each], b[..., low : low + each, :], None, row.adder, dtypes, dtype_acc)
        total = arith.add(total, part, dtype_acc)
    return total
