"""`neuronxcc.nki.compiler`: decorators that change nothing, and where tiles are placed (NKI.md §1.3).

An Allocation says which blocks of a tensor share a place: these are one tile; writing one overwrites the other.
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
    """``placed``: from a block's indices, the partitions and the bytes of a tile to its place, any hashable."""

    def __init__(self, space: str, placed: Callable[[tuple[int, ...], int, int], Any] | None) -> None:
        self.space, self.placed = space, placed

    def tiles(self, blocks: Sequence[int], partitions: int, nbytes: int) -> np.ndarray | None:
        """The number of each block's tile; None where every block has its own."""
        if self.placed is None or not blocks:
            return None
        numbers: dict[Any, int] = {}
        made = np.zeros(tuple(blocks), int)
        for at in np.ndindex(*made.shape):
            made[at] = numbers.setdefault(self.placed(tuple(int(i) for i in at), partitions, nbytes), len(numbers))
        return None if len(numbers) == made.size else made


class _Memory:
    """``ncc.sbuf`` and ``ncc.psum``."""

    def __init__(self, space: str) -> None:
        self.space = space

    def auto_alloc(self) -> Allocation:
        return Allocation(self.space, None)

    def alloc(self, func: Callable[..., Any]) -> Allocation:
        """``func(idx, pdim_size, fdim_size)`` gives the place of a block."""
        wanted = inspect.signature(func).parameters

        def placed(at: tuple[int, ...], partitions: int, nbytes: int) -> Any:
            given = {"idx": at, "pdim_size": partitions, "fdim_size": nbytes}
            place = func(**given) if given.keys() <= wanted.keys() else func(*given.values())
            return tuple(int(n) for n in place)

        return Allocation(self.space, placed)

    def mod_alloc(
        self, *, base_addr: int = 0, base_partition: int = 0, num_par_tiles: Any = (), num_free_tiles: Any = (),
        base_bank: int = 0, num_bank_tiles: Any = (),
    ) -> Allocation:  # fmt: skip
        """Blocks go round the tiles of each kind, all of them at once; a count that is not given is one tile."""
        counts = [_tuple(num) for num in (num_par_tiles, num_free_tiles, num_bank_tiles)]

        def placed(at: tuple[int, ...], partitions: int, nbytes: int) -> Any:
            if any(len(count) not in (0, len(at)) for count in counts):
                told = f"{len(at)} block dimensions"
                raise UsageError(f"{here()}: mod_alloc counts tiles along another number of dimensions than {told}")
            return tuple(tuple(i % n for i, n in zip(at, count or (1,) * len(at), strict=True)) for count in counts)

        return Allocation(self.space, placed)


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
