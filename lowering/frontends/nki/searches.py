"""The largest elements of a partition or of a group, where they are, and replacing them (NKI.md §1.6: max8, topk)."""

from __future__ import annotations

from math import prod

from lowering.capture.nki.trace import Instr
from lowering.errors import Unsupported
from lowering.frontends.nki.moves import GROUP, put_first
from lowering.frontends.nki.numerics import from_f32
from lowering.frontends.nki.state import IMPL, State, handler
from lowering.ir.program import Value
from lowering.ir.types import DTYPES, F32, I32

EIGHT = 8


@handler("max8")
def max8(state: State, instr: Instr) -> None:
    """The eight largest, descending."""
    b, x = state.builder, state.rows(instr.src[0])
    ordered = b("sort", x, axis=1, order="descending")
    top = b("slice", ordered, start=(0, 0), limit=(x.type.shape[0], EIGHT), step=(1, 1))
    state.put_f32(instr, top)


@handler("find_index8")
def find_index8(state: State, instr: Instr) -> None:
    """The first place of each value; equal values take successive places; all ones where there is none left."""
    b, to = state.builder, state.dtype(instr.dst[0])
    x, vals = state.rows(instr.src[0]), state.rows(instr.src[1])
    free = b.true(x.type.shape)
    columns: list[Value] = []
    for j in range(EIGHT):
        place, free = _taken(state, x, vals, j, free)
        columns.append(place)
    found = b("concat", *columns, axis=1)
    state.put(instr, _places(state, found, x.type.shape[1], to.name))


@handler("match_replace8")
def match_replace8(state: State, instr: Instr) -> None:
    """From the last value to the first, its first place that is left gets ``replace_value``; dst[1] gets the places."""
    b, shape, to = state.builder, state.shape(instr.dst[0]), state.dtype(instr.dst[0])
    x, vals = state.rows(instr.src[0]), state.rows(instr.src[1])
    free = b.true(x.type.shape)
    columns: list[Value] = []
    for j in reversed(range(EIGHT)):
        place, free = _taken(state, x, vals, j, free)
        columns.append(place)
    kept = b.reshape(state.converted(state.view(instr.src[0]), to), shape)
    new = from_f32(b, b.constant(instr.attrs["replace_value"], F32, shape), to)
    state.put(instr, b("select", b.reshape(free, shape), kept, new))
    if len(instr.dst) > 1:
        found = b("concat", *reversed(columns), axis=1)
        state.put(instr, _places(state, found, x.type.shape[1], state.dtype(instr.dst[1]).name), 1)


@handler("topk")
def topk(state: State, instr: Instr) -> None:
    """The largest of the first n elements of each group of 16 partitions, taken partition first; ascending.

    Which of equal elements comes first, or is taken at all, is open.
    """
    b, number = state.builder, instr.attrs["n"]
    x = state.flat(state.view(instr.src[0]))
    groups, columns = x.type.shape[0] // GROUP, x.type.shape[1]
    turned = b("transpose", b.reshape(x, (groups, GROUP, columns)), perm=(0, 2, 1))
    snake = b("slice", b.reshape(turned, (groups, columns * GROUP)), start=(0, 0), limit=(groups, number), step=(1, 1))
    ordered = b.op("sort", [snake, b.index(snake.type.shape, 1, I32)], axis=1, order="ascending", stable=False).results
    count = prod(state.shape(instr.dst[0])[1:])
    state.assume("topk")
    for place, whole in enumerate(ordered):
        best = b("slice", whole, start=(0, number - count), limit=(groups, number), step=(1, 1))
        to = state.dtype(instr.dst[place])
        found = state.converted(best, to) if place == 0 else b.cast(best, to)
        put_first(state, instr, _as_snake(state, found), place)


def _as_snake(state: State, x: Value) -> Value:
    """(groups, results) as (partitions, columns); what is left of the last column is undefined."""
    b, (groups, count) = state.builder, x.type.shape
    columns = -(-count // GROUP)
    if columns * GROUP > count:
        rest = b("undefined", to=x.type.dtype.name, shape=(groups, columns * GROUP - count))
        x = b("concat", x, rest, axis=1)
    turned = b("transpose", b.reshape(x, (groups, columns, GROUP)), perm=(0, 2, 1))
    return b.reshape(turned, (groups * GROUP, columns))


def _taken(state: State, x: Value, vals: Value, j: int, free: Value) -> tuple[Value, Value]:
    """Where value j is first found among the free places, (partitions, 1) of i32 (the extent where nowhere); and the
    places that are free then."""
    b, (lanes, extent) = state.builder, x.type.shape
    value = b("slice", vals, start=(0, j), limit=(lanes, j + 1), step=(1, 1))
    hit = b("and", b.cmp("eq", x, b.broadcast(value, x.type.shape, (0, 1))), free)
    index = b.index(x.type.shape, 1, I32)
    candidates = b("select", hit, index, b.constant(extent, I32, x.type.shape))
    place = b("reduce", candidates, axis=1, combine="min", order="unordered", impl=IMPL)
    here = b.cmp("eq", index, b.broadcast(place, x.type.shape, (0,)))
    return b.reshape(place, (lanes, 1)), b("and", free, b("not", here))


def _places(state: State, found: Value, extent: int, to: str) -> Value:
    """Places as unsigned integers; all ones where nothing was found."""
    b, dt = state.builder, DTYPES[to]
    if dt.kind not in ("uint", "int"):
        raise Unsupported(f"places in {dt}", b.span)
    missing = b.cmp("eq", found, b.constant(extent, I32, found.type.shape))
    ones = (1 << dt.bits) - 1 if dt.kind == "uint" else -1
    return b("select", missing, b.constant(ones, dt, found.type.shape), b.cast(found, dt))
