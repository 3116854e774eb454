"""Prefix folds, sorting, and what is built on them: cumsum, sort, topk, unique, nonzero, searchsorted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowering.frontends.aten.arithmetic import log_of_sum
from lowering.frontends.aten.context import Context
from lowering.frontends.aten.copies import narrow
from lowering.frontends.aten.indexing import nonzero_positions
from lowering.frontends.aten.reductions import total
from lowering.frontends.aten.registry import aten
from lowering.ir.program import Value
from lowering.ir.types import BOOL, F64, I64, TensorType


def _line(ctx: Context, x: Value) -> Value:
    """A scalar as one lane: scans and sorts need an axis."""
    return x if x.type.rank else ctx.builder.reshape(x, (1,))


def _scan(ctx: Context, self: Any, dim: int, combine: str) -> Value:
    """CUDA folds in the dtype of the result; the CPU goes by index in f64."""
    x = _line(ctx, ctx.value(self, ctx.out.dtype))
    axis = ctx.axis(dim, x.type.rank)
    if ctx.cuda or not x.type.dtype.is_float:
        result = ctx.builder("scan", x, axis=axis, combine=combine, order="unordered", impl="torch")
    else:
        result = ctx.builder("scan", ctx.builder.cast(x, F64), axis=axis, combine=combine, order="sequential")
    return ctx.builder.reshape(result, ctx.out.shape)


@aten("cumsum")
def cumsum(ctx: Context, self: Any, dim: int) -> Value:
    return _scan(ctx, self, dim, "add")


@aten("cumprod")
def cumprod(ctx: Context, self: Any, dim: int) -> Value:
    return _scan(ctx, self, dim, "mul")


@aten("logcumsumexp")
def logcumsumexp(ctx: Context, self: Any, dim: int) -> Value:
    x, b = _line(ctx, ctx.compute(self)), ctx.builder
    region = b.region([TensorType(x.type.dtype)] * 2, lambda acc, new: [log_of_sum(ctx, acc, new)])
    op = b.op("scan", [x], [region], axis=ctx.axis(dim, x.type.rank), combine="region", impl="torch")
    return b.reshape(op.result, ctx.out.shape)


@aten("cummax", "cummin")
def cummax(ctx: Context, self: Any, dim: int) -> Sequence[Value]:
    """Among equal values the latest index wins; so does a NaN."""
    x, b = _line(ctx, ctx.value(self)), ctx.builder
    axis, pred = ctx.axis(dim, x.type.rank), "ge" if "max" in ctx.call.op else "le"

    def fold(acc: Value, acc_index: Value, new: Value, index: Value) -> list[Value]:
        better = b("or", b.cmp(pred, new, acc), b.is_nan(new)) if x.type.dtype.is_float else b.cmp(pred, new, acc)
        return [b("select", better, new, acc), b("select", better, index, acc_index)]

    types = [TensorType(x.type.dtype), TensorType(I64)]
    region = b.region(types * 2, fold)
    op = b.op("scan", [x, b.index(x.type.shape, axis)], [region], axis=axis, combine="region", order="sequential")
    return [b.reshape(result, ctx.out.shape) for result in op.results]


# -- sorting ----------------------------------------------------------------------------------------------------------


def sorted_pair(ctx: Context, x: Value, axis: int, descending: bool, stable: bool) -> tuple[Value, Value]:
    """The sorted values and where they came from."""
    b = ctx.builder
    order = "descending" if descending else "ascending"
    op = b.op("sort", [x, b.index(x.type.shape, axis)], axis=axis, order=order, stable=stable)
    return op.results[0], op.results[1]


def _sort(ctx: Context, self: Any, dim: int, descending: bool, stable: bool) -> list[Value]:
    x = _line(ctx, ctx.value(self))
    pair = sorted_pair(ctx, x, ctx.axis(dim, x.type.rank), descending, stable)
    return [ctx.builder.reshape(v, self.shape) for v in pair]


@aten("sort")
def sort(ctx: Context, self: Any, dim: Any = -1, descending: Any = False, stable: Any = False) -> Sequence[Value]:
    return _sort(ctx, self, dim, bool(descending), bool(stable))


@aten("topk")
def topk(ctx: Context, self: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Sequence[Value]:
    x = _line(ctx, ctx.value(self))
    axis = ctx.axis(dim, x.type.rank)
    pair = [narrow(ctx, v, axis, 0, k) for v in sorted_pair(ctx, x, axis, largest, stable=False)]
    pair = pair if sorted else [ctx.builder("reorder", v) for v in pair]
    return [ctx.builder.reshape(v, ctx.out.shape) for v in pair]


@aten("kthvalue")
def kthvalue(ctx: Context, self: Any, k: int, dim: int = -1, keepdim: bool = False) -> Sequence[Value]:
    x = _line(ctx, ctx.value(self))
    axis = ctx.axis(dim, x.type.rank)
    pair = sorted_pair(ctx, x, axis, False, stable=False)
    return [ctx.builder.reshape(narrow(ctx, v, axis, k - 1, k), ctx.out.shape) for v in pair]


@aten("median")
def median(ctx: Context, self: Any, dim: int | None = None, keepdim: bool = False) -> Value | Sequence[Value]:
    """The lower of the two middle values; a NaN anywhere wins."""
    b, x = ctx.builder, _line(ctx, ctx.value(self))
    x = b.reshape(x, (x.type.size,)) if dim is None else x
    axis = ctx.axis(dim or 0, x.type.rank)
    values, origins = sorted_pair(ctx, x, axis, False, stable=False)
    n = x.type.shape[axis]
    middle, last = ([narrow(ctx, v, axis, k, k + 1) for v in (values, origins)] for k in ((n - 1) // 2, n - 1))
    if x.type.dtype.is_float:
        nan = b.is_nan(last[0])
        middle = [b("select", nan, bad, good) for bad, good in zip(last, middle, strict=True)]
    results = [b.reshape(v, ctx.out.shape) for v in middle]
    return results[0] if dim is None else results


@aten("searchsorted")
def searchsorted(ctx: Context, sorted_sequence: Any, self: Any, out_int32: bool = False, right: bool = False,
                 side: str | None = None, sorter: Any = None) -> Value:  # fmt: skip
    """The number of boundaries before (side 'right': not after) each value; all of them are before a NaN."""
    if sorter is not None:
        raise ctx.unsupported("a sequence that is sorted already", " with a sorter")
    bounds, x = ctx.operands_apart(sorted_sequence, self)
    return _rank(ctx, bounds, x, right or side == "right")


@aten("bucketize")
def bucketize(ctx: Context, self: Any, boundaries: Any, out_int32: bool = False, right: bool = False) -> Value:
    bounds, x = ctx.operands_apart(boundaries, self)
    return _rank(ctx, bounds, x, right)


def _rank(ctx: Context, bounds: Value, x: Value, right: bool) -> Value:
    b, n = ctx.builder, bounds.type.shape[-1]
    shape = (*x.type.shape, n)
    lead = bounds.type.rank - 1
    wide = b.broadcast(bounds, shape, (*range(lead), x.type.rank))
    value = b.broadcast(x, shape, range(x.type.rank))
    before = b.cmp("le" if right else "lt", wide, value)
    before = b("or", before, b.is_nan(value)) if x.type.dtype.is_float else before
    return total(ctx, b.cast(before, I64), x.type.rank)


# -- results whose size depends on the data: capture recorded the size and that the host looked -----------------------


@aten("nonzero")
def nonzero(ctx: Context, self: Any) -> Value:
    count, rank = ctx.out.shape
    b, mask = ctx.builder, ctx.value(self, BOOL)
    if not rank:
        return b.constant(0, I64, ctx.out.shape)
    columns = nonzero_positions(ctx, mask, count)
    return b("concat", *(b.reshape(c, (count, 1)) for c in columns), axis=1)


@aten("masked_select")
def masked_select(ctx: Context, self: Any, mask: Any) -> Value:
    shape = ctx.broadcast_shape(self, mask)
    positions = nonzero_positions(ctx, ctx.value(mask, BOOL, shape), ctx.out.size)
    return ctx.builder("gather", ctx.value(self, shape=shape), *positions)


@aten("_unique", "_unique2")
def unique(ctx: Context, self: Any, sorted: bool = True, return_inverse: bool = False,
           return_counts: bool = False) -> Sequence[Value]:  # fmt: skip
    """(values, inverse, counts) of the flattened tensor, in an order that is open unless it is asked for."""
    x = ctx.value(self)
    flat, order = sorted_pair(ctx, ctx.builder.reshape(x, (x.type.size,)), 0, False, stable=True)
    results = _runs(ctx, flat, order, x.type.shape)
    return results if sorted else [ctx.builder("reorder", v) for v in results]


@aten("unique_consecutive")
def unique_consecutive(ctx: Context, self: Any, return_inverse: bool = False, return_counts: bool = False,
                       dim: int | None = None) -> Sequence[Value]:  # fmt: skip
    if dim is not None:
        raise ctx.unsupported("unique_consecutive of the flattened tensor", " with dim")
    x = ctx.value(self)
    n = x.type.size
    return _runs(ctx, ctx.builder.reshape(x, (n,)), ctx.builder.index((n,), 0), x.type.shape)


def _runs(ctx: Context, line: Value, origins: Value, shape: Sequence[int]) -> list[Value]:
    """Of each run of equal elements the value and the length; of each element, by origin, the number of its run."""
    b, n = ctx.builder, line.type.size
    first = _starts(ctx, line)
    starts = nonzero_positions(ctx, first, ctx.out.size)[0]
    rank = b("scan", b.cast(first, I64), axis=0, combine="add")
    inverse = b("scatter", b.constant(0, I64, (n,)), b("sub", rank, b.like(1, rank)), origins)
    ends = b("concat", narrow(ctx, starts, 0, 1, ctx.out.size), b.constant(n, I64, (1,)), axis=0)
    everything = [b("gather", line, starts), b.reshape(inverse, shape), b("sub", ends, starts)]
    none = b.constant(0, I64, (0,))  # of what was not asked for
    results = [v if ref.shape != (0,) else none for v, ref in zip(everything[1:], ctx.outputs[1:], strict=False)]
    return [everything[0], *results]


def _starts(ctx: Context, line: Value) -> Value:
    """True where an element differs from the one before it, and for the first."""
    b, n = ctx.builder, line.type.size
    changed = b.cmp("ne", narrow(ctx, line, 0, 1, n), narrow(ctx, line, 0, 0, n - 1))
    return b("concat", b.true((1,)), changed, axis=0)


@aten("bincount")
def bincount(ctx: Context, self: Any, weights: Any = None, minlength: int = 0) -> Value:
    b, x = ctx.builder, ctx.value(self, I64)
    amounts = ctx.value(1 if weights is None else weights, ctx.out.dtype, x.type.shape)
    base = b.constant(0, ctx.out.dtype, ctx.out.shape)
    order = "racing" if ctx.cuda and ctx.out.dtype.is_float else "sequential"
    return b("scatter", base, amounts, x, combine="add", order=order, impl="torch")


@aten("repeat_interleave")
def repeat_interleave(ctx: Context, repeats: Any, output_size: int | None = None) -> Value:
    """For each place of the result, how many runs have ended before it."""
    b, n = ctx.builder, ctx.out.size
    lengths = ctx.value(repeats, I64)
    ends = b("scan", lengths, axis=0, combine="add")
    marks = b("scatter", b.constant(0, I64, (n,)), b.like(1, ends), ends, combine="add", order="sequential")
    return b("scan", marks, axis=0, combine="add")
