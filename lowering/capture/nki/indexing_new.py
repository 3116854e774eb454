"""numpy's basic indices of the new API's tensors, numbers and what only the device knows (NKI.md §1.4).

Takes one index and the dimension's extent; gives places.  Knows no tensor.
"""

from __future__ import annotations

from typing import Any

from lowering.capture.nki.registers import VirtualRegister, dynamic_index
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.tracer import here, unmodelled
from lowering.capture.trace import TensorRef
from lowering.errors import UsageError


class Stop(int):
    """The end of a slice ``nl.ds(start, size)`` whose start only the device knows."""

    size_of_slice: int

    def __new__(cls, size: int) -> Stop:
        made = super().__new__(cls, size)
        made.size_of_slice = size
        return made


def slice_of(one: slice, dim: int, extent: int) -> tuple[int, int, int, TensorRef | None]:
    """(start, count, step, register of the start) of a slice."""
    if isinstance(one.start, VirtualRegister | Tile):
        number, register = dynamic_index(one.start)
        if register is not None:
            size = getattr(one.stop, "size_of_slice", None)
            if size is None:
                raise unmodelled("a slice whose start only the device knows", "write nl.ds(start, size)")
            return 0, size, 1, register
        one = slice(number, one.stop, one.step)
    step = 1 if one.step is None else int(one.step)
    stop = extent if one.stop is None else int(one.stop)
    start = 0 if one.start is None else int(one.start)
    if step == 0:
        raise UsageError(f"{here()}: a slice of dimension {dim} with step 0")
    if start < 0 or stop < 0 or step < 1:
        start, stop, step = one.indices(extent)
    if stop > extent:
        raise UsageError(f"{here()}: {one.start}:{one.stop} is out of bounds of dimension {dim}, {extent}")
    count = -(-(stop - start) // step)
    if count < 1:
        raise UsageError(f"{here()}: {one.start}:{one.stop} takes no element of dimension {dim}, of {extent}")
    return start, count, step, None


def place_of(one: Any, dim: int, extent: int) -> tuple[int, TensorRef | None]:
    """(number, None), or (0, register) where only the device knows it."""
    place, register = dynamic_index(one)
    if register is None and not -extent <= place < extent:
        raise UsageError(f"{here()}: index {place} is out of bounds of dimension {dim}, {extent}")
    return place % extent, register


def filled(keys: tuple[Any, ...], rank: int) -> list[Any]:
    """Ellipsis and missing dimensions as whole slices."""
    dots = sum(key is Ellipsis for key in keys)
    if dots > 1 or len(keys) - dots > rank:
        raise UsageError(f"{here()}: {len(keys)} indices of a tensor of {rank} dimensions")
    if not dots:
        keys = (*keys, Ellipsis)
    at = next(i for i, key in enumerate(keys) if key is Ellipsis)
    return [*keys[:at], *[slice(None)] * (rank - len(keys) + 1), *keys[at + 1 :]]
