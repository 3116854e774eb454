"""Where a view lies: partitions and bytes on chip, lowest and highest element, dimensions that count.

Takes TensorRefs and the storages of a trace; gives numbers.  Knows no instruction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import prod

from lowering.capture.nki.dtypes import size_of
from lowering.capture.nki.trace import ON_CHIP, Indirect, Instr, NkiStorage, NkiTrace, Operand, View
from lowering.capture.trace import TensorRef

Dims = list[tuple[int, int]]  # (stride, count), outermost first


@dataclass(frozen=True, slots=True)
class Access:
    """One view of an instruction.  ``exact``: False where an index chooses among the elements of ``ref``."""

    ref: TensorRef
    writes: bool
    number: int  # which of dst or src
    exact: bool = True


def accesses(instr: Instr) -> Iterator[Access]:
    """Every view, sources first; the index of an indirect view is read."""
    for writes, views in ((False, instr.src), (True, instr.dst)):
        for number, view in enumerate(views):
            if isinstance(view, TensorRef):
                yield Access(view, writes, number)
            elif isinstance(view, Indirect):
                yield Access(view.index, False, number)
                yield Access(view.base, writes, number, exact=False)


def base_of(view: View | Operand) -> TensorRef | None:
    """The view itself, or the elements among which an index chooses; None for a number."""
    if isinstance(view, Indirect):
        return view.base
    return view if isinstance(view, TensorRef) else None


def tiles_of(views: Iterable[View | Operand]) -> list[TensorRef]:
    """The views among operands, in their order."""
    return [base for base in map(base_of, views) if base is not None]


def refs(instr: Instr) -> list[TensorRef]:
    return [access.ref for access in accesses(instr)]


def space(trace: NkiTrace, ref: TensorRef) -> str:
    return trace.storages[ref.storage].space


def on_chip(trace: NkiTrace, ref: TensorRef) -> bool:
    return space(trace, ref) in ON_CHIP


def lowest_highest(ref: TensorRef) -> tuple[int, int]:
    """The least and the greatest element that the view reaches, in elements of its dtype."""
    low = high = ref.offset
    for stride, extent in zip(ref.strides, ref.shape, strict=True):
        if stride < 0:
            low += stride * (extent - 1)
        else:
            high += stride * (extent - 1)
    return low, high


def elements(storage: NkiStorage, dtype: str) -> int:
    """How many elements of ``dtype`` the storage holds."""
    return prod(storage.shape) * size_of(storage.dtype) // size_of(dtype)


def within(trace: NkiTrace, ref: TensorRef) -> bool:
    low, high = lowest_highest(ref)
    return low >= 0 and high < elements(trace.storages[ref.storage], ref.dtype)


def lanes_of(storage: NkiStorage) -> int:
    """Partitions of a tile on chip."""
    return storage.shape[storage.blocks] if len(storage.shape) > storage.blocks else 1


def lane_bytes(storage: NkiStorage) -> int:
    """Bytes of a partition that one tile takes."""
    return prod(storage.shape[storage.blocks + 1 :]) * size_of(storage.dtype)


@dataclass(frozen=True, slots=True)
class Spot:
    """A view on chip.  ``lane``: its first partition within the tile; ``step``: partitions between its rows;
    ``low``, ``high``: its bytes within a partition of the tile (high excluded)."""

    lane: int
    lanes: int
    step: float
    low: int
    high: int


def of_one_tile(storage: NkiStorage, ref: TensorRef) -> TensorRef:
    """The view without the dimensions that go from block to block of a Beta-1 tensor."""
    tile = max(lane_bytes(storage), 1) * lanes_of(storage)
    if storage.blocks and len(ref.shape) > 1 and abs(ref.strides[0]) * size_of(ref.dtype) >= tile:
        return of_one_tile(storage, replace(ref, shape=ref.shape[1:], strides=ref.strides[1:]))
    return ref


def spot(storage: NkiStorage, ref: TensorRef) -> Spot:
    """Where a view of a tile on chip lies, its first dimension being the partitions (after dimensions of blocks)."""
    ref = of_one_tile(storage, ref)
    size, row = size_of(ref.dtype), max(lane_bytes(storage), 1)
    start = ref.offset * size % (row * lanes_of(storage))
    step = ref.strides[0] * size / row if ref.shape and ref.shape[0] > 1 else 1.0
    inner = TensorRef(ref.storage, ref.dtype, ref.shape[1:], ref.strides[1:], start % row // size)
    low, high = lowest_highest(inner)
    return Spot(start // row, ref.shape[0] if ref.shape else 1, step, low * size, (high + 1) * size)


def dims(ref: TensorRef, first: int = 0) -> Dims:
    """(stride, count) of the dimensions from ``first`` on: those of one element left out, dense neighbours as one."""
    made: Dims = []
    for stride, count in zip(ref.strides[first:], ref.shape[first:], strict=True):
        if count == 1:
            continue
        if made and made[-1][0] == stride * count:
            made[-1] = (stride, made[-1][1] * count)
        else:
            made.append((stride, count))
    return made


def run_bytes(ref: TensorRef, first: int = 0) -> int:
    """Bytes of the contiguous runs that the view consists of."""
    found = dims(ref, first)
    return (found[-1][1] if found and found[-1][0] == 1 else 1) * size_of(ref.dtype)


def named(trace: NkiTrace, ref: TensorRef) -> str:
    """A view in a message: 'x[128,512] in sbuf'."""
    storage = trace.storages[ref.storage]
    return f"{storage.name or 'a tile'} [{', '.join(map(str, ref.shape))}] {ref.dtype} in {storage.space}"
