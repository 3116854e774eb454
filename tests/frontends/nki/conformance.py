"""Functions of nki.isa at the edges of what they take: a table of numpy statements, and the cases made of it.

An Entry says of one function what it is given, what it records and what numpy gives for it.  ``cases`` makes every
combination of two dtypes, the fewest and the most partitions, the fewest and the most free elements, and the variants
that apply: 'plain', 'strided' (operands and results are views with gaps), 'mask' (some elements keep what was there),
'psum' (the result in PSUM, written once) and 'twice' (in PSUM, two passes that add up).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowering.capture.nki import instructions as isa
from lowering.capture.nki.dtypes import HELD, dtype_name
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import PSUM
from tests.frontends.nki.instruction_runs import f32, given, part, rounded, run, same, tile

Arrays = list[np.ndarray]
Shape = tuple[int, ...]
EVERY = slice(None)


@dataclass(frozen=True)
class Entry:
    """``arrays(P, F, dtype)``: the operands; ``shapes(P, F)``: of the results, each with a dtype or '' for the data's;
    ``emit(results, operands, mask)``; ``want(*operands)``: every result, in f32 or in its dtype."""

    name: str
    arrays: Callable[[int, int, str], Arrays]
    shapes: Callable[[int, int], list[tuple[Shape, str]]]
    emit: Callable[[list[Any], list[Any], Any], Any]
    want: Callable[..., list[Any]]
    lanes: tuple[int, int] = (1, 128)
    free: tuple[int, int] = (1, 16384)
    dtypes: tuple[str, str] = ("float32", "bfloat16")
    variants: tuple[str, ...] = ("plain", "strided")


@dataclass(frozen=True)
class Case:
    entry: Entry
    dtype: str
    lanes: int
    free: int
    variant: str

    @property
    def fast(self) -> bool:
        """Whether it is one of those that are always run: few elements."""
        return self.free == self.entry.free[0] or self.lanes * self.free <= 4096

    def __str__(self) -> str:
        return f"{self.entry.name}-{self.dtype}-{self.lanes}x{self.free}-{self.variant}"

    def check(self) -> None:
        """Bit for bit."""
        entry = self.entry
        arrays = entry.arrays(self.lanes, self.free, self.dtype)
        shapes = [(shape, dtype or self.dtype) for shape, dtype in entry.shapes(self.lanes, self.free)]
        wanted = [rounded_to(value, dtype) for value, (_, dtype) in zip(entry.want(*arrays), shapes, strict=True)]
        mask, before = None, given(*shapes[0][0], dtype=shapes[0][1], seed=7)
        if self.variant == "mask":
            mask = np.indices(shapes[0][0]).sum(axis=0) % 3 != 0
            wanted[0] = np.where(mask, wanted[0], before)
        if self.variant == "twice":
            once = entry.want(*arrays)[0]
            wanted[0] = rounded_to(f32(rounded_to(once, shapes[0][1])) + once, shapes[0][1])

        def body(*operands: Tile) -> tuple[Tile, ...]:
            *data, held = operands
            views = [narrowed(x, array) for x, array in zip(data, arrays, strict=True)] if strided else list(data)
            results = [result(shape, dtype, strided, PSUM if in_psum else "sbuf") for shape, dtype in shapes]
            if mask is not None:
                isa.copy(results[0], held, "dve")
            for _ in range(2 if self.variant == "twice" else 1):
                entry.emit(results, views, mask)
            return tuple(results)

        strided, in_psum = self.variant == "strided", self.variant in ("psum", "twice")
        ran = run(body, *(map(widened, arrays) if strided else arrays), before, target="gen4")
        for got, want, poison in zip(ran.values, wanted, ran.poison, strict=True):
            assert not poison.any(), self
            same(got, want)


def rounded_to(value: Any, dtype: str) -> np.ndarray:
    value = np.asarray(value)
    return value if value.dtype == np.dtype(HELD[dtype]) else rounded(value, dtype)


def widened(array: np.ndarray) -> np.ndarray:
    """With something else beside every element of the last axis."""
    wide = np.repeat(array, 2, axis=-1)
    wide[..., 1::2] = np.array(3).astype(array.dtype)
    return wide


def narrowed(x: Tile, array: np.ndarray) -> Tile:
    return part(x, *[EVERY] * (array.ndim - 1), slice(0, None, 2))


def result(shape: Shape, dtype: str, strided: bool, space: str) -> Tile:
    whole = tile((*shape[:-1], shape[-1] * (2 if strided else 1)), dtype, space)
    return part(whole, *[EVERY] * (len(shape) - 1), slice(0, None, 2)) if strided else whole


def cases(entries: list[Entry]) -> Iterator[Case]:
    """Every combination; one partition, one element and so on where the fewest and the most are the same."""
    for entry in entries:
        for dtype in entry.dtypes:
            for lanes in sorted(set(entry.lanes)):
                for free in sorted(set(entry.free)):
                    for variant in entry.variants:
                        yield Case(entry, dtype, lanes, free, variant)


# -- operands ----------------------------------------------------------------------------------------------------------


def whole(lanes: int, free: int, dtype: str, seed: int = 0) -> np.ndarray:
    """Small whole numbers: sums of them are exact in every order."""
    return np.random.default_rng([seed, lanes, free]).integers(-3, 4, (lanes, free)).astype(HELD[dtype])


def column(lanes: int, seed: int = 9) -> np.ndarray:
    """One f32 for each partition."""
    return given(lanes, 1, seed=seed)


def data(count: int = 1, lanes: int = 0, make: Callable[..., np.ndarray] | None = None) -> Callable[..., Arrays]:
    """So many tiles of the data's dtype, then so many columns."""
    made = make or given

    def arrays(partitions: int, free: int, dtype: str) -> Arrays:
        tiles = [made(partitions, free, dtype=dtype, seed=n) for n in range(count)]
        return [*tiles, *(column(partitions, 9 + n) for n in range(lanes))]

    return arrays


def like_data(*more: tuple[str, str]) -> Callable[[int, int], list[tuple[Shape, str]]]:
    """A result of the data's shape and dtype; ``more``: 'column' or a number of elements, and the dtype of each."""
    return lambda lanes, free: [
        ((lanes, free), ""), *(((lanes, 1 if size == "column" else int(size)), dtype) for size, dtype in more)
    ]  # fmt: skip


__all__ = ["Case", "Entry", "cases", "column", "data", "dtype_name", "like_data", "whole"]
