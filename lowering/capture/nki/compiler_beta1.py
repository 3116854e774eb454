"""`neuronxcc.nki.compiler`: decorators that change nothing, and where tiles are placed (NKI.md §1.3).

An Allocation says where the blocks of a tensor lie: those that share a place are one tile, and tensors whose places
overlap share memory; writing one overwrites the other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from lowering.capture.nki.trace import PSUM, SBUF
from lowering.capture.nki.tracer import here
from lowering.errors import UsageError

BANK_BYTES = 2048


class Allocation:
    """``placed``: from a block's indices, the partitions and the bytes of a tile to its place: (partition, byte within
    the partition); banks of PSUM lie behind each other."""

    def __init__(self, space: str, placed: Callable[[tuple[int, ...], int, int], tuple[int, int]] | None) -> None:
        self.space, self.placed = space, placed

    def tiles(
        self, blocks: Sequence[int], partitions: int, nbytes: int
    ) -> tuple[np.ndarray | None, list[tuple[int, int]]]:
        """The number of each block's tile, None where every block has its own; and the places of the tiles."""
        if self.placed is None:
            return None, []
        numbers: dict[tuple[int, int], int] = {}
        made = np.zeros(tuple(blocks), int)
        for at in np.ndindex(*made.shape):
            made[at] = numbers.setdefault(self.placed(tuple(int(i) for i in at), partitions, nbytes), len(numbers))
        return None if len(numbers) == made.size else made, list(numbers)


class _Memory:
    """``ncc.sbuf`` and ``ncc.psum``."""

    def __init__(self, space: str) -> None:
        self.space = space

    def auto_alloc(self) -> Allocation:
        return Allocation(self.space, None)

    def alloc(self, func: Callable[..., Any]) -> Allocation:
        """``func(idx, pdim_size, fdim_size)`` gives the place of a block."""
        wanted = inspect.signature(func).parameters

        def placed(at: tuple[int, ...], partitions: int, nbytes: int) -> tuple[int, int]:
            given = {"idx": at, "pdim_size": partitions, "fdim_size": nbytes}
            place = func(**given) if given.keys() <= wanted.keys() else func(*given.values())
            return self._within(tuple(int(n) for n in place))

        return Allocation(self.space, placed)

    def _within(self, place: tuple[int, ...]) -> tuple[int, int]:
        """(partition, byte) of what an allocation says: the bank comes first in PSUM."""
        if len(place) != (3 if self.space == PSUM else 2):
            said = "(bank, partition, byte)" if self.space == PSUM else "(partition, byte)"
            raise UsageError(f"{here()}: an allocation gives {place} as the place of a tile; it has to be {said}")
        *bank, partition, byte = place
        return partition, byte + (bank[0] * BANK_BYTES if bank else 0)

    def mod_alloc(
        self, *, base_addr: int = 0, base_partition: int = 0, num_par_tiles: Any = (), num_free_tiles: Any = (),
        base_bank: int = 0, num_bank_tiles: Any = (),
    ) -> Allocation:  # fmt: skip
        """Blocks go round the tiles of each kind, all of them at once; a count that is not given is one tile."""
        counts = [_tuple(num) for num in (num_bank_tiles, num_par_tiles, num_free_tiles)]

        def placed(at: tuple[int, ...], partitions: int, nbytes: int) -> tuple[int, int]:
            if any(len(count) not in (0, len(at)) for count in counts):
                told = f"{len(at)} block dimensions"
                raise UsageError(f"{here()}: mod_alloc counts tiles along another number of dimensions than {told}")
            bank, lane, column = (_turn(at, count) for count in counts)
            places = (base_partition + lane * partitions, base_addr + column * nbytes)
            return self._within((base_bank + bank, *places) if self.space == PSUM else places)

        return Allocation(self.space, placed)


def _turn(at: tuple[int, ...], counts: tuple[int, ...]) -> int:
    """The number of a block's tile: its indices modulo the counts, in row-major order."""
    number = 0
    for i, n in zip(at, counts or (1,) * len(at), strict=True):
        number = number * n + i % n
    return number


def _tuple(counts: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in counts) if isinstance(counts, list | tuple) else (int(counts),)


sbuf, psum = _Memory(SBUF), _Memory(PSUM)


def _unchanged(func: Callable[..., Any] | None = None, *_: Any, **__: Any) -> Any:
    """A decorator, with or without arguments, that gives the function as it is."""
    return func if callable(func) else lambda function: function


enable_stack_allocator = force_auto_alloc = skip_middle_end_transformations = _unchanged


@contextmanager
def no_reorder() -> Iterator[None]:
    yield


@contextmanager
def allocation_scope() -> Iterator[None]:
    yield


@contextmanager
def multi_buffer(factor: int = 2) -> Iterator[None]:
    yield
