"""Handlers of the Triton dialect that only move lanes, and its small arithmetic (clampf, mulhiui, precise division).

Loads, stores and atomics are in memory.py, dots in dot.py, reductions in regions.py, descriptors in descriptors.py.
"""

from __future__ import annotations

from functools import partial

from jaxlib.mlir import ir

from lowering.frontends.ttir.integers import as_unsigned
from lowering.frontends.ttir.registry import Result, attribute, lowers
from lowering.frontends.ttir.state import Lowering
from lowering.ir.program import Value


@lowers("tt.get_program_id")
def program_id(low: Lowering, op: ir.Operation) -> Result:
    return low.build("program_id", axis=attribute(op, "axis"))


@lowers("tt.get_num_programs")
def num_programs(low: Lowering, op: ir.Operation) -> Result:
    return low.build("num_programs", axis=attribute(op, "axis"))


@lowers("tt.make_range")
def make_range(low: Lowering, op: ir.Operation) -> Result:
    to = low.type(op.results[0])
    return low.build("iota", to=to.dtype.name, shape=to.shape, start=attribute(op, "start"))


@lowers("tt.splat")
def splat(low: Lowering, op: ir.Operation) -> Result:
    return low.build.broadcast(low.value(op.operands[0]), low.type(op.results[0]).shape)


@lowers("tt.broadcast")
def broadcast(low: Lowering, op: ir.Operation) -> Result:
    return low.build.broadcast(low.value(op.operands[0]), low.type(op.results[0]).shape)


@lowers("tt.expand_dims", "tt.unsplat")
def reshaped(low: Lowering, op: ir.Operation) -> Result:
    return low.build.reshape(low.value(op.operands[0]), low.type(op.results[0]).shape)


@lowers("tt.reshape")
def reshape(low: Lowering, op: ir.Operation) -> Result:
    """Triton's own allow_reorder, before a reduction over all axes, does no harm: reorders.py sees that."""
    result = low.build.reshape(low.value(op.operands[0]), low.type(op.results[0]).shape)
    reorders = "allow_reorder" in op.attributes and attribute(op, "allow_reorder", True) is not False
    return low.build("reorder", result) if reorders else result


@lowers("tt.trans")
def trans(low: Lowering, op: ir.Operation) -> Result:
    return low.build("transpose", low.value(op.operands[0]), perm=tuple(attribute(op, "order")))


@lowers("tt.cat")
def cat(low: Lowering, op: ir.Operation) -> Result:
    """tt.cat always may reorder; what need not is a tt.join, a tt.trans and a tt.reshape."""
    return low.build("reorder", low.build("concat", *low.operands(op), axis=0))


@lowers("tt.join")
def join(low: Lowering, op: ir.Operation) -> Result:
    halves = [low.build.reshape(x, (*x.type.shape, 1)) for x in low.operands(op)]
    return low.build("concat", *halves, axis=halves[0].type.rank - 1)


@lowers("tt.split")
def split(low: Lowering, op: ir.Operation) -> Result:
    x = low.value(op.operands[0])
    return [_half(low, x, i) for i in (0, 1)]


def _half(low: Lowering, x: Value, i: int) -> Value:
    outer = x.type.shape[:-1]
    zeros, ones = (0,) * len(outer), (1,) * x.type.rank
    part = low.build("slice", x, start=(*zeros, i), limit=(*outer, i + 1), step=ones)
    return low.build.reshape(part, outer)


@lowers("tt.gather")
def gather(low: Lowering, op: ir.Operation) -> Result:
    """Along ``axis`` the index is given, along the others a lane keeps its own."""
    x, index = low.operands(op)
    axis, shape = attribute(op, "axis"), index.type.shape
    places = [index if d == axis else low.build.index(shape, d, index.type.dtype) for d in range(x.type.rank)]
    return low.build("gather", x, *places)


@lowers("tt.histogram")
def histogram(low: Lowering, op: ir.Operation) -> Result:
    """Counts per bin; lanes that are masked off count 0.

    Of a value outside the bins Triton promises nothing (lowerings take its low bits, or add beyond the counts): the
    counts are then undefined.
    """
    x, *mask = low.operands(op)
    counts, b = low.type(op.results[0]), low.build
    ones = b.cast(mask[0], counts.dtype) if mask else b.constant(1, counts.dtype, x.type.shape)
    inside = b("and", b.cmp("ge", x, b.like(0, x)), b.cmp("lt", x, b.like(counts.shape[0], x)))
    counted = b("or", inside, b("not", mask[0])) if mask else inside
    ones = b("select", counted, ones, b("undefined", to=counts.dtype.name, shape=x.type.shape))
    place = b("select", inside, x, b.like(0, x))
    return b("scatter", b.constant(0, counts.dtype, counts.shape), ones, place, combine="add")


@lowers("tt.mulhiui")
def mulhiui(low: Lowering, op: ir.Operation) -> Result:
    return as_unsigned(low.build, partial(low.build, "mulhi"), *low.operands(op))


@lowers("tt.clampf")
def clampf(low: Lowering, op: ir.Operation) -> Result:
    x, lower, upper = low.operands(op)
    nan = "number" if attribute(op, "propagateNan", 0) == 0 else "propagate"
    return low.build("min", low.build("max", x, lower, nan=nan), upper, nan=nan)


@lowers("tt.precise_sqrt")
def precise_sqrt(low: Lowering, op: ir.Operation) -> Result:
    return low.build("math", low.value(op.operands[0]), fn="sqrt", accuracy="exact")


@lowers("tt.precise_divf")
def precise_divf(low: Lowering, op: ir.Operation) -> Result:
    return low.build("div", *low.operands(op))


@lowers("ttg.barrier", "gpu.barrier", "tt.debug_barrier")
def barrier(low: Lowering, op: ir.Operation) -> Result:
    low.build.op("barrier")
    return None
