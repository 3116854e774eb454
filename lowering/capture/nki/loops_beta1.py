"""Ranges, places of a grid, and reductions over loops of Beta-1 (NKI.md §1.2, 1.5)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import takewhile
from math import prod
from typing import Any

from lowering.capture.nki import instructions, math_beta1
from lowering.capture.nki.dtypes import dtype_name
from lowering.capture.nki.indices_beta1 import LoopVar
from lowering.capture.nki.once_beta1 import watched
from lowering.capture.nki.ops import alu
from lowering.capture.nki.produce_beta1 import produced, result, tile_of
from lowering.capture.nki.tensor_beta1 import Tensor
from lowering.capture.nki.tracer import Tracer, current, here, unmodelled
from lowering.capture.user_frames import is_user_file
from lowering.errors import UsageError

LOOP_REDUCE = (
    "beta1_loop_reduce: nl.loop_reduce starts with the value of the first turn, whatever its destination holds"
)


def affine_range(*bounds: Any, **_: Any) -> Iterator[LoopVar]:
    return _turns("affine_range", bounds)


def sequential_range(*bounds: Any, **_: Any) -> Iterator[LoopVar]:
    return _turns("sequential_range", bounds)


def static_range(*bounds: Any, **_: Any) -> Iterator[int]:
    return current().turns("static_range", *_bounds(bounds))


def _bounds(bounds: tuple[Any, ...]) -> list[int]:
    for bound in bounds:
        if isinstance(bound, bool) or not hasattr(bound, "__index__"):
            raise UsageError(f"{here()}: a range helper takes whole numbers, and not a {type(bound).__name__}")
    return [int(bound) for bound in bounds]


def _turns(kind: str, bounds: tuple[Any, ...]) -> Iterator[LoopVar]:
    tracer = current()
    for turn in watched(tracer.turns(kind, *_bounds(bounds)), kind):
        yield LoopVar(turn, tracer.loops[-1].id)


def program_id(axis: int = 0) -> int:
    place = current().place
    return place[axis] if axis < len(place) else 0


def num_programs(axes: Any = None) -> int:
    """The number of instances along the axes named, or in all."""
    grid = current().grid
    named = range(len(grid)) if axes is None else axes if isinstance(axes, list | tuple) else [axes]
    return prod(grid[axis] for axis in named if axis < len(grid))


def program_ndim() -> int:
    return len(current().grid)


class _Cores:
    """``nl.nc(n)``: so many cores, of which the grid's axis is counted like any other."""

    def __call__(self, count: int) -> int:
        return int(count)

    def __getitem__(self, count: int) -> int:
        return int(count)


nc = _Cores()


def spmd_dim(*extents: int) -> int:
    """An axis of the grid that is made of several."""
    total = 1
    for extent in extents:
        total *= int(extent)
    return total


def all_reduce(x: Any, op: Any, program_axes: Any, dtype: Any = None, mask: Any = None, **_: Any) -> Tensor:
    """Over a grid of one instance there is nothing to combine."""
    axes = program_axes if isinstance(program_axes, list | tuple) else [program_axes]
    if any(axis < len(current().grid) and current().grid[axis] > 1 for axis in axes):
        raise unmodelled("nl.all_reduce over several instances of a grid")
    return math_beta1.copy(x, mask=mask, dtype=dtype)


# -- loop_reduce -------------------------------------------------------------------------------------------------------


def loop_reduce(x: Any, op: Any, loop_indices: Any, dtype: Any = None, mask: Any = None, **_: Any) -> Tensor:
    """acc = op(acc, x) over the turns of the named loops, in their order; the first turn gives x (NKI.md §1.5).

    The accumulator belongs to the call in the source; it starts anew with the loops that are reduced over.
    """
    data, tracer = tile_of("x of nl.loop_reduce", x), current()
    indices = loop_indices if isinstance(loop_indices, list | tuple) else [loop_indices]
    if not all(isinstance(index, LoopVar) for index in indices):
        raise UsageError(f"{here()}: nl.loop_reduce: loop_indices are variables of nl.affine_range or sequential_range")
    tracer.trace.assumed[LOOP_REDUCE] = None
    loops = frozenset(index.loop for index in indices)
    key, turns, combined = (_callers(), *_around(tracer, loops)), tuple(tracer.loops), alu(op)
    storage, before = tracer.held.get(key, (None, ()))
    if before == turns:
        raise unmodelled("nl.loop_reduce at one place of the source for several accumulators")
    kind = data.dtype_name if dtype is None else dtype_name(dtype)
    acc = Tensor.whole(storage) if storage is not None else result(data.shape, kind)
    if storage is None:
        produced(acc, [data], mask, lambda d, a, m: instructions.copy(d, a, "dve", m))
    else:
        produced(acc, [data], mask, lambda d, a, m: math_beta1.combine(d, combined, d, a, m))
    started = acc.made is not None and bool(acc.made.instrs)
    if started or storage is not None:
        tracer.held[key] = acc.storage, turns
    if acc.made is not None:
        acc.made.movable = False  # the next turn reads it: it keeps its place
        for pair in acc.made.instrs:
            pair[0].attrs["loop_reduce"] = True  # a dependence between turns that the source asks for
    return acc


def _around(tracer: Tracer, loops: frozenset[int]) -> tuple[Any, ...]:
    """The turns of the loops that are not reduced over; loops inside of these are entered anew in every turn."""
    outer = list(takewhile(lambda loop: loop.id not in loops, tracer.loops))
    inner = [loop for loop in tracer.loops[len(outer) :] if loop.id not in loops]
    return (loops, tuple(outer), tuple((loop.kind, loop.turn) for loop in inner))


def _callers() -> tuple[Any, ...]:
    """The user's lines that lead here."""
    made, frame = [], sys._getframe(1)
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            made.append((frame.f_code.co_filename, frame.f_lineno, frame.f_lasti))
        frame = frame.f_back
    return tuple(made)
