"""Instructions that choose between two values by a predicate or by the element's place, and those that make places."""

from __future__ import annotations

from math import prod
from typing import Any, cast

import numpy as np

from lowering.capture.nki.trace import Indirect, Instr, Operand
from lowering.capture.trace import TensorRef
from lowering.frontends.nki import alu
from lowering.frontends.nki.elementwise import predicate
from lowering.frontends.nki.numerics import Range, from_f32, to_f32
from lowering.frontends.nki.registers import accumulate
from lowering.frontends.nki.state import EXACT, State, handler
from lowering.ir.program import Value
from lowering.ir.types import F32, I32


@handler("select_reduce")
def select_reduce(state: State, instr: Instr) -> None:
    """on_true where the predicate is not 0, else on_false; bits move untouched where no dtype changes."""
    b, shape, to = state.builder, state.shape(instr.dst[0]), state.dtype(instr.dst[0])
    where = predicate(state, instr.src[0], shape, instr.attrs["reverse_pred"])
    x, y = (state.spread(state.typed(operand, to), shape) for operand in instr.src[1:])
    value = b("select", where, to_f32(b, x), to_f32(b, y))
    accumulate(state, instr, "dve", value)
    state.put(instr, b("select", where, state.converted(x, to), state.converted(y, to)))


@handler("nc_range_select")
def range_select(state: State, instr: Instr) -> None:
    """x where range_start + i lies within both bounds, in f32; else ``on_false_value``."""
    b, shape = state.builder, state.shape(instr.dst[0])
    x, low, high, start = instr.src
    flat = (shape[0], prod(shape[1:]))
    index = _columns(state, start, flat)
    sides = zip(("comp_op0", "comp_op1"), (low, high), strict=True)
    first, second = (alu.holds(state, instr.attrs[name], index, state.f32(bound, flat)) for name, bound in sides)
    inside = b.reshape(b("and", first, second), shape)
    other = b.constant(instr.attrs["on_false_value"], F32, shape)
    value = b("select", inside, state.f32(x, shape), other)
    accumulate(state, instr, "dve", value)
    state.put_f32(instr, value)


def _columns(state: State, start: Operand, shape: tuple[int, int]) -> Value:
    """start + the place along the free axis, in f32."""
    b, places = state.builder, state.builder.index(shape, 1, I32)
    if isinstance(start, int | float) and start == int(start) and abs(start) + shape[1] < EXACT:
        places = b("add", places, b.constant(int(start), I32, shape)) if start else places
        state.ranges[places] = start, start + shape[1] - 1
        return state.converted(places, F32)
    return b("add", b.cast(places, F32), state.f32(start, shape))


@handler("nc_affine_select")
def affine_select(state: State, instr: Instr) -> None:
    """The tile where an affine expression of the place compares with 0 as asked, else a number."""
    b, shape, to = state.builder, state.shape(instr.dst[0]), state.dtype(instr.dst[0])
    x = state.converted(state.spread(state.view(instr.src[0]), shape), to)
    other = from_f32(b, b.constant(instr.attrs["on_false_value"], F32, shape), to)
    given = instr.attrs.get("predicate")
    if given is not None:
        where = state.constant_mask(np.asarray(given, bool), shape)
    else:
        places = b.reshape(affine(state, instr, instr.src[1], shape[0]), shape)
        where = alu.holds(state, instr.attrs["cmp_op"], places, b.like(0, places))
    state.put(instr, b("select", where, x, other))


@handler("iota")
def iota(state: State, instr: Instr) -> None:
    """Places, or an affine expression of them, in int32; then of dst's dtype."""
    b, shape, to = state.builder, state.shape(instr.dst[0]), state.dtype(instr.dst[0])
    values = instr.attrs.get("values")
    if values is not None:
        places = b.constant(np.asarray(values, np.int32), I32)
    else:
        places = affine(state, instr, instr.src[0], shape[0])
    places = b.reshape(places, shape)
    if values is not None:
        state.ranges[places] = int(np.min(values)), int(np.max(values))
    elif isinstance(instr.src[0], int | float):
        state.ranges[places] = _reached(instr, int(instr.src[0]), shape[0])
    same = to.is_integer and to.bits == 32
    state.put(instr, b.bitcast(places, to) if same else state.converted(places, to))


def _reached(instr: Instr, offset: int, lanes: int) -> Range:
    """The least and the greatest value of an affine expression of places."""
    steps = [(instr.attrs["channel_multiplier"], lanes), *instr.attrs["pattern"]]
    ends = [step * (count - 1) for step, count in steps]
    return offset + sum(min(0, end) for end in ends), offset + sum(max(0, end) for end in ends)


def affine(state: State, instr: Instr, offset: Operand, lanes: int) -> Value:
    """offset + p * channel_multiplier + the sum of step * index, in int32: (partitions, *counts)."""
    b, pattern = state.builder, instr.attrs["pattern"]
    shape = (lanes, *(count for _, count in pattern))
    if isinstance(offset, TensorRef | Indirect):
        start = b.cast(b.reshape(state.view(offset), ()), I32)
        total = b.broadcast(start, shape, ())
    else:
        total = b.constant(int(cast("Any", offset) or 0), I32, shape)
    for axis, step in enumerate([instr.attrs["channel_multiplier"], *(step for step, _ in pattern)]):
        if step and shape[axis] > 1:
            total = b("add", total, b("mul", b.index(shape, axis, I32), b.constant(step, I32, shape)))
    return total
