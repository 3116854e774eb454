"""nki.language of the new API (NKI.md §1.3, 1.4, 1.8): tensors, ranges, values of ``op=``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lowering.capture.nki import instructions
from lowering.capture.nki.dtypes import HELD, DType, dtype_name
from lowering.capture.nki.ops import ACTIVATIONS, ALU, Op
from lowering.capture.nki.tensor_new import NkiTensor
from lowering.capture.nki.tracer import current


class MemoryRegion(str):
    """A kind of memory; compares as its name."""


sbuf, psum = MemoryRegion("sbuf"), MemoryRegion("psum")
hbm, shared_hbm = MemoryRegion("hbm"), MemoryRegion("shared_hbm")
private_hbm = hbm


class NKIObject:
    """Base of configurations that kernels are given: plain Python."""

    def __init__(self, **fields: Any) -> None:
        for key, value in fields.items():
            setattr(self, key, value)


class tile_size:
    """Sizes of the hardware (NKI.md §1.8)."""

    pmax, psum_fmax, psum_bank_fmax, psum_bank_fmax_bytes, psum_num_banks = 128, 512, 512, 2048, 8
    gemm_stationary_fmax, gemm_moving_fmax, bn_stats_fmax = 128, 512, 512


def ndarray(shape: Sequence[int], dtype: Any, buffer: Any = sbuf, name: str = "", address: Any = None) -> NkiTensor:
    """Memory of undefined contents."""
    return NkiTensor.new(str(buffer or sbuf), shape, dtype_name(dtype), name=name, pinned=address)


def full(shape: Sequence[int], fill_value: Any, dtype: Any, buffer: Any = sbuf, name: str = "") -> NkiTensor:
    made = ndarray(shape, dtype, buffer, name)
    instructions.memset(made, fill_value)
    return made


def zeros(shape: Sequence[int], dtype: Any, buffer: Any = sbuf, name: str = "") -> NkiTensor:
    return full(shape, 0, dtype, buffer, name)


def ones(shape: Sequence[int], dtype: Any, buffer: Any = sbuf, name: str = "") -> NkiTensor:
    return full(shape, 1, dtype, buffer, name)


def ds(start: int, size: int) -> slice:
    return slice(int(start), int(start) + int(size))


def affine_range(start: int, stop: int | None = None, step: int = 1) -> Iterator[int]:
    return current().turns("affine_range", *((0, start) if stop is None else (start, stop)), step)


def sequential_range(start: int, stop: int | None = None, step: int = 1) -> Iterator[int]:
    return current().turns("sequential_range", *((0, start) if stop is None else (start, stop)), step)


def static_range(start: int, stop: int | None = None, step: int = 1) -> Iterator[int]:
    return current().turns("static_range", *((0, start) if stop is None else (start, stop)), step)


def program_id(axis: int = 0) -> int:
    place = current().place
    return place[axis] if axis < len(place) else 0


def num_programs(axes: Any = 0) -> Any:
    grid = current().grid
    if isinstance(axes, list | tuple):
        return tuple(grid[axis] if axis < len(grid) else 1 for axis in axes)
    return grid[axes] if axes < len(grid) else 1


def __getattr__(name: str) -> Any:
    """dtypes and values of ``op=``."""
    if name in HELD or name == "bool_":
        return DType("uint8" if name == "bool_" else name)
    if name in ALU or name in ACTIVATIONS:
        return Op(name)
    raise AttributeError(name)
