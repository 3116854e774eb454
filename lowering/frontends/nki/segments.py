"""Instructions whose result depends on where elements are nonzero or equal: compaction, bounds of segments.

Semantics: NKI.md §1.6 (nonzero_with_count, sequence_bounds).
"""

from __future__ import annotations

from math import prod

from lowering.capture.nki.trace import Indirect, Instr
from lowering.capture.trace import TensorRef
from lowering.errors import Unsupported
from lowering.frontends.nki.state import IMPL, State, handler
from lowering.ir.types import I32, I64

EVERY = 16  # nonzero_with_count looks at partitions 0, 16, 32, ...


@handler("nonzero_with_count")
def nonzero_with_count(state: State, instr: Instr) -> None:
    """dst[p] = places of the nonzero elements of src[p], ascending, padding, their number; other partitions stay."""
    b, dst = state.builder, instr.dst[0]
    if isinstance(dst, Indirect):
        raise Unsupported("nonzero_with_count into an indirect view", instr.span)
    whole = state.flat(state.view(instr.src[0]))
    x = b("slice", whole, start=(0, 0), limit=whole.type.shape, step=(EVERY, 1))
    (rows, count), chosen = x.type.shape, b.cmp("ne", x, b.like(0, x))
    number = b("scan", b.cast(chosen, I64), axis=1, combine="add")
    place = b("sub", b("add", b("mul", b.index((rows, count), 0), b.constant(count, I64, (rows, count))), number),
              b.constant(1, I64, (rows, count)))  # fmt: skip
    place = b("select", chosen, place, b.constant(rows * count, I64, (rows, count)))  # beyond the end: dropped
    padding = b.constant(instr.attrs["padding_val"], I32, (rows * count,))
    found = b("add", b.index((rows, count), 1, I32), b.constant(instr.attrs["index_offset"], I32, (rows, count)))
    packed = b.reshape(b("scatter", padding, found, place, impl=IMPL), (rows, count))
    total = b.cast(b("slice", number, start=(0, count - 1), limit=(rows, count), step=(1, 1)), I32)
    value = state.converted(b("concat", packed, total, axis=1), state.dtype(dst))
    shape, strides = (rows, *dst.shape[1:]), (dst.strides[0] * EVERY, *dst.strides[1:])
    target = TensorRef(dst.storage, dst.dtype, shape, strides, dst.offset)
    state.memory.write(target, b.reshape(value, shape))


@handler("sequence_bounds")
def sequence_bounds(state: State, instr: Instr) -> None:
    """For every element: the first place of its segment and the place after its last; (n, -1) for elements of id 0."""
    b, count = state.builder, prod(state.shape(instr.src[0]))
    ids = b.reshape(state.view(instr.src[0]), (count,))
    square = (count, count)
    same = b.cmp("eq", b.broadcast(ids, square, (0,)), b.broadcast(ids, square, (1,)))
    place = b.index(square, 1, I32)
    after = b("add", place, b.constant(1, I32, square))
    beyond, before = b.constant(count, I32, square), b.constant(-1, I32, square)
    first = b("reduce", b("select", same, place, beyond), axis=1, combine="min", order="unordered", impl=IMPL)
    last = b("reduce", b("select", same, after, before), axis=1, combine="max", order="unordered", impl=IMPL)
    none = b.cmp("eq", ids, b.like(0, ids))
    first = b("select", none, b.constant(count, I32, (count,)), first)
    last = b("select", none, b.constant(-1, I32, (count,)), last)
    both = b("concat", b.reshape(first, (1, count)), b.reshape(last, (1, count)), axis=0)
    state.put(instr, state.converted(both, state.dtype(instr.dst[0])))
