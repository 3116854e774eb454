"""nki.language of the new API (NKI.md §1.3, 1.4, 1.8): memory, tensors, and every name that is also a value of op=."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from lowering.capture.nki import instructions
from lowering.capture.nki.composites_new import COMPOSITES
from lowering.capture.nki.dtypes import HELD, DType, dtype_name
from lowering.capture.nki.indexing_new import Stop
from lowering.capture.nki.loops_new import (
    affine_range,
    dynamic_range,
    fori_loop,
    sequential_range,
    static_range,
    while_loop,
)
from lowering.capture.nki.ops import ACTIVATIONS, ALU, Op
from lowering.capture.nki.registers import VirtualRegister, dynamic_index
from lowering.capture.nki.signatures import api, missing, older_than
from lowering.capture.nki.sizes_new import tile_size
from lowering.capture.nki.tensor_new import NkiTensor
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import HBM, ON_CHIP, PSUM, SBUF, SHARED_HBM
from lowering.capture.nki.tracer import current, here
from lowering.capture.nki.wrappers_new import ELEMENTWISE
from lowering.errors import UsageError

__all__ = [
    "DType", "MemoryRegion", "NKIObject", "NkiTensor", "VirtualRegister", "affine_range", "dynamic_range",
    "fori_loop", "hbm", "private_hbm", "psum", "sbuf", "sequential_range", "shared_hbm", "static_range", "tile_size",
    "while_loop",
]  # fmt: skip


class MemoryRegion(str):
    """A kind of memory; compares as its name."""

    __slots__ = ()


sbuf, psum = MemoryRegion(SBUF), MemoryRegion(PSUM)
hbm, shared_hbm = MemoryRegion(HBM), MemoryRegion(SHARED_HBM)
private_hbm = hbm


class NKIObject:
    """Base of configurations that kernels are given: plain Python, fields by their names or in their order."""

    def __init__(self, *values: Any, **fields: Any) -> None:
        names = [name for kind in reversed(type(self).__mro__) for name in getattr(kind, "__annotations__", {})]
        if len(values) > len(names):
            raise UsageError(f"{here()}: {type(self).__name__} has {len(names)} fields and is given {len(values)}")
        for key, value in {**dict(zip(names, values, strict=False)), **fields}.items():
            setattr(self, key, value)


# -- memory ----------------------------------------------------------------------------------------------------------


@api("nl.ndarray", added={"address": "0.3"})
def ndarray(shape: Sequence[int], dtype: Any, buffer: Any = sbuf, name: str = "", address: Any = None) -> NkiTensor:
    """Memory of undefined contents; ``address``: (partition, byte within it), for the compiler where it is None."""
    pinned = None if address is None else (int(address[0]), int(address[1]))
    return NkiTensor.new(_space(buffer), _extents(shape), dtype_name(dtype), name=name or "", pinned=pinned)


def _space(buffer: Any) -> str:
    space = "hbm" if buffer == "private_hbm" else str(buffer or sbuf)
    if space not in (SBUF, PSUM, HBM, SHARED_HBM):
        raise UsageError(f"{here()}: {buffer!r} is no memory: nl.sbuf, nl.psum, nl.hbm and nl.shared_hbm are")
    return space


def _extents(shape: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in shape) if isinstance(shape, list | tuple) else (int(shape),)


@api("nl.full", since="0.3")
def full(shape: Sequence[int], fill_value: Any, dtype: Any, buffer: Any = sbuf, name: str = "") -> NkiTensor:
    made = ndarray(shape, dtype, buffer, name)
    instructions.memset(made, fill_value)
    return made


@api("nl.zeros")
def zeros(shape: Sequence[int], dtype: Any, buffer: Any = sbuf, name: str = "") -> NkiTensor:
    made = ndarray(shape, dtype, buffer, name)
    instructions.memset(made, 0)
    return made


@api("nl.ones", since="0.3")
def ones(shape: Sequence[int], dtype: Any, buffer: Any = sbuf, name: str = "") -> NkiTensor:
    return full(shape, 1, dtype, buffer, name)


@api("nl.zeros_like", since="0.3")
def zeros_like(x: NkiTensor, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    return zeros(x.shape, dtype or x.dtype, buffer or x.buffer, name)


@api("nl.empty_like", since="0.3")
def empty_like(x: NkiTensor, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    return ndarray(x.shape, dtype or x.dtype, buffer or x.buffer, name)


@api("nl.shared_constant")
def shared_constant(constant: Any, **old: Any) -> NkiTensor:
    """Data that are known while the kernel is traced, in HBM; 0.2 also takes their dtype."""
    if set(old) - {"dtype"} or (old and not older_than("0.3")):
        raise TypeError(f"unexpected keyword {', '.join(old)}")
    array = np.asarray(constant)
    kind = dtype_name(old["dtype"] if old.get("dtype") is not None else array.dtype)
    data = np.ascontiguousarray(array).astype(HELD[kind])
    return NkiTensor.new(HBM, data.shape, kind, origin="data", data=data)


@api("nl.shared_identity_matrix", added={"dst": "0.3"})
def shared_identity_matrix(n: int, dtype: Any = "uint8", dst: NkiTensor | None = None) -> NkiTensor:
    """The identity in HBM, or written to ``dst``."""
    made = shared_constant(np.eye(int(n), dtype=HELD[dtype_name(dst.dtype if dst is not None else dtype)]))
    if dst is None:
        return made
    instructions.dma_copy(dst, made)
    return dst


@api("nl.ds")
def ds(start: Any, size: int) -> slice:
    """size elements from start, which may be a register."""
    number, register = dynamic_index(start)
    return slice(start, Stop(int(size))) if register is not None else slice(number, number + int(size))


def is_hbm(buffer: Any) -> bool:
    return str(buffer) in (HBM, SHARED_HBM, "private_hbm")


def is_on_chip(buffer: Any) -> bool:
    return str(buffer) in ON_CHIP


def is_psum(buffer: Any) -> bool:
    return str(buffer) == PSUM


def is_sbuf(buffer: Any) -> bool:
    return str(buffer) == SBUF


# -- the grid --------------------------------------------------------------------------------------------------------


@api("nl.program_id")
def program_id(axis: int = 0) -> int:
    place = current().place
    return place[axis] if axis < len(place) else 0


@api("nl.num_programs")
def num_programs(axes: Any = "default") -> Any:
    """Instances along an axis: axis 0 where none is named; in 0.2 all of them."""
    grid = current().grid or (1,)
    if axes == "default" or axes is None:
        axes = tuple(range(len(grid))) if older_than("0.3") or axes is None else 0
    if isinstance(axes, list | tuple):
        return tuple(grid[axis] if axis < len(grid) else 1 for axis in axes)
    return grid[axes] if axes < len(grid) else 1


def program_ndim() -> int:
    return len(current().grid)


# -- without an effect on values -------------------------------------------------------------------------------------


@contextmanager
def no_reorder() -> Iterator[None]:
    """Asks the compiler to keep the order, which a trace keeps."""
    yield


def device_print(print_prefix: str, tensor: Tile) -> None:
    """Prints on the device; of no effect here."""


# -- names that are functions and values of op= ----------------------------------------------------------------------

_HINTS = {
    "arange": "take slices; nl.arange is Beta-1's", "mgrid": "take slices; nl.mgrid is Beta-1's",
    "par_dim": "dimension 0 is the partition; block dimensions are lists of tensors",
    "loop_reduce": "accumulate with nisa.tensor_tensor", "atomic_rmw": "write nisa.dma_compute",
    "static_cast": "the result of an instruction has dst's dtype", "all_reduce": "write nki.collectives",
}  # fmt: skip
_BETA1 = frozenset(["bfp16", "fp32", "finfo", "gemm_grid", "gemm_stationary_grid", "nc", "spmd_dim"])
_ALIASES = {"bool_": "uint8", "bool": "uint8"}


def __getattr__(name: str) -> Any:
    """dtypes, functions, values of ``op=``."""
    if name not in _found:
        _found[name] = _named(name)
    return _found[name]


_found: dict[str, Any] = {}  # a name is one object: kernels compare operations


def _named(name: str) -> Any:
    if name in HELD or name in _ALIASES:
        return DType(_ALIASES.get(name, name))
    function = ELEMENTWISE.get(name) or COMPOSITES.get(name)
    if name in ALU or name in ACTIVATIONS:
        return Op(name, function)
    if function is not None:
        return function
    if name == "range":
        return sequential_range
    return missing("nki.language", name, _BETA1, _HINTS)
