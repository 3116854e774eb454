"""The same arguments as views: other strides, and a first element that is not the first of its memory.

Takes the arguments of one call as data; gives named sets of arguments with equal values.  A JAX function cannot tell
these sets apart; a torch-hosted one passes strides on, calls ``contiguous()``, refuses, or reads the wrong elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from irverify.values import ArrayValue, arrays_in, map_arrays

Arguments = Sequence[tuple[str | None, Any]]
Strides = tuple[int, ...]

PADDED, TRANSPOSED, SPREAD = "padded rows", "transposed", "every other column"
OFFSET, SPREAD_1D = "an offset", "every other element"
#: Elements before a view and behind each row.  Triton compiles anew for a stride or an address that stops being
#: divisible by 16; this keeps what the contiguous argument has.
STEP = 16


def derived(arguments: Arguments) -> Iterator[tuple[str, list[tuple[str | None, Any]]]]:
    """Every layout that changes some argument, with the arguments in it; nothing for scalars."""
    ranks = [array.data.ndim for array in arrays_in([value for _, value in arguments]) if array.data.size > 1]
    for label, strides_of in _layouts(max(ranks, default=0)).items():
        yield label, [(name, map_arrays(value, _viewed(strides_of))) for name, value in arguments]


def _layouts(rank: int) -> dict[str, Callable[[tuple[int, ...]], Strides]]:
    if rank >= 2:
        return {PADDED: padded_rows, TRANSPOSED: transposed, SPREAD: every_other_column}
    return {OFFSET: dense, SPREAD_1D: lambda shape: (2,)} if rank == 1 else {}


def _viewed(strides_of: Callable[[tuple[int, ...]], Strides]) -> Callable[[Any], Any]:
    def change(leaf: Any) -> Any:
        if not isinstance(leaf, ArrayValue) or leaf.data.size <= 1:
            return leaf
        return ArrayValue(leaf.data, strides_of(leaf.data.shape), STEP)

    return change


def dense(shape: tuple[int, ...]) -> Strides:
    """Row-major: (C, 1) for R x C."""
    strides, step = [], 1
    for size in reversed(shape):
        strides, step = [step, *strides], step * size
    return tuple(strides)


def padded_rows(shape: tuple[int, ...]) -> Strides:
    """(C + 16, 1): the left part of a wider matrix.  One axis alone stays dense."""
    return dense((*shape[:-1], shape[-1] + STEP))


def transposed(shape: tuple[int, ...]) -> Strides:
    """(1, R): the last two axes swapped in memory.  One axis alone stays dense."""
    if len(shape) < 2:
        return dense(shape)
    *outer, rows, columns = dense((*shape[:-2], shape[-1], shape[-2]))
    return (*outer, columns, rows)


def every_other_column(shape: tuple[int, ...]) -> Strides:
    """(2C + 16, 2): every other column of a matrix more than twice as wide.  One axis alone stays dense."""
    if len(shape) < 2:
        return dense(shape)
    width = shape[-1]
    as_divisible = (2 * width % STEP == 0) == (width % STEP == 0)
    row = 2 * width + (STEP if as_divisible else STEP + 2)
    return (*(step * row for step in dense(shape[:-1])), 2)
