"""`neuronxcc.nki.language`: Beta-1's tensors, moves between memories, constants; the other functions by family.

Instructions give tiles (NKI.md §1.3, 1.8).  A documented name that is not modelled says so when it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from lowering.capture.nki import instructions
from lowering.capture.nki.assign_beta1 import noted
from lowering.capture.nki.compiler_beta1 import Allocation
from lowering.capture.nki.dtypes import HELD, DType, dtype_name, size_of
from lowering.capture.nki.indices_beta1 import Index, arange, mgrid, par_dim
from lowering.capture.nki.language_new import MemoryRegion, tile_size
from lowering.capture.nki.loops_beta1 import (
    affine_range,
    all_reduce,
    loop_reduce,
    nc,
    num_programs,
    program_id,
    program_ndim,
    sequential_range,
    spmd_dim,
    static_range,
)
from lowering.capture.nki.masks_beta1 import regions
from lowering.capture.nki.math_beta1 import *  # noqa: F403  (the functions of nki.language)
from lowering.capture.nki.math_beta1 import copy
from lowering.capture.nki.matmul_beta1 import load_transpose2d, matmul, transpose
from lowering.capture.nki.ops import ACTIVATIONS, ALU, Op
from lowering.capture.nki.placeholders import placeholder
from lowering.capture.nki.produce_beta1 import hbm_of, produced, result, tensor_of, tile_of, under
from lowering.capture.nki.reductions_beta1 import all, max, mean, min, prod, rms_norm, softmax, sum, var
from lowering.capture.nki.tensor_beta1 import Tensor, block_count
from lowering.capture.nki.tile import Tile, dense
from lowering.capture.nki.trace import HBM, PSUM, SBUF, SHARED_HBM
from lowering.capture.nki.tracer import current, here, unmodelled

sbuf, psum = MemoryRegion(SBUF), MemoryRegion(PSUM)
hbm, shared_hbm = MemoryRegion(HBM), MemoryRegion(SHARED_HBM)
private_hbm = hbm
PSUM_ZEROS = "beta1_psum_zeros: the first product that is added to zeros of nl.zeros in PSUM overwrites them"
FUNCTIONS = [
    affine_range, all_reduce, loop_reduce, nc, num_programs, program_id, program_ndim, sequential_range, spmd_dim,
    static_range, load_transpose2d, matmul, transpose, all, max, mean, min, prod, rms_norm, softmax, sum, var, arange,
    mgrid, par_dim, tile_size,
]  # fmt: skip


class fp32:
    """Limits of float32, as the hardware's instructions name them."""

    min = float(np.finfo(np.float32).min)


class bfp16:
    """0xff80, which is minus infinity."""

    min = float("-inf")


def sizeinbytes(dtype: Any) -> int:
    """Bytes of an element; a name of `nki.language.constants`."""
    return size_of(dtype_name(dtype))


def finfo(dtype: Any) -> Any:
    return ml_dtypes.finfo(HELD[dtype_name(dtype)])


# -- tensors ----------------------------------------------------------------------------------------------------------


def ndarray(shape: Any, dtype: Any, buffer: Any = None, name: str = "", **_: Any) -> Tensor:
    """Memory of undefined contents; dimensions before a par_dim are blocks."""
    extents = tuple(shape) if isinstance(shape, list | tuple) else (shape,)
    kind = dtype_name(dtype)
    if not isinstance(buffer, Allocation):
        return Tensor.allocated(str(buffer or sbuf), extents, kind, name=name)
    blocks = block_count(extents)
    free = [int(n) for n in extents[blocks + 1 :]]
    nbytes = int(np.prod(free)) * size_of(kind)
    tiles, pins = buffer.tiles([int(n) for n in extents[:blocks]], int(extents[blocks]), nbytes)
    place = {"pins": tuple(pins)} if blocks else {"pinned": pins[0] if pins else None}
    return Tensor.allocated(buffer.space, extents, kind, tiles, name=name, **place)


def full(shape: Any, fill_value: Any, dtype: Any, buffer: Any = None, name: str = "", **_: Any) -> Tensor:
    made = ndarray(shape, dtype, buffer, name)
    for part in _tiles_of(made):
        instructions.memset(part, fill_value)
        noted(part, float(fill_value) != 0.0)
    if made.storage.space == PSUM and float(fill_value) == 0.0:
        current().trace.assumed[PSUM_ZEROS] = None
        current().cleared.add(made.storage.id)
    return made


def _tiles_of(tensor: Tensor) -> list[Tensor]:
    """All of its memory: one view, or one for each tile that the source places."""
    storage = tensor.storage
    if not storage.pins:
        return [Tensor.whole(storage)]
    shape = storage.shape[storage.blocks :]
    return [Tensor(storage, shape, dense(shape), int(np.prod(shape)) * n) for n in range(len(storage.pins))]


def zeros(shape: Any, dtype: Any, buffer: Any = None, name: str = "", **_: Any) -> Tensor:
    return full(shape, 0, dtype, buffer, name)


def ones(shape: Any, dtype: Any, buffer: Any = None, name: str = "", **_: Any) -> Tensor:
    return full(shape, 1, dtype, buffer, name)


def zeros_like(a: Any, dtype: Any = None, buffer: Any = None, name: str = "", **_: Any) -> Tensor:
    return zeros(a.shape, dtype or a.dtype, buffer or a.buffer, name)


def empty_like(a: Any, dtype: Any = None, buffer: Any = None, name: str = "", **_: Any) -> Tensor:
    return ndarray(a.shape, dtype or a.dtype, buffer or a.buffer, name)


def shared_constant(constant: Any, dtype: Any = None, **_: Any) -> Tensor:
    """A constant of the source, in HBM."""
    data = np.asarray(constant)
    kind = dtype_name(data.dtype if dtype is None else dtype)
    held = np.ascontiguousarray(data.astype(HELD[kind]))
    return Tensor.allocated(HBM, held.shape, kind, origin="data", data=held)


def shared_identity_matrix(n: int, dtype: Any = "uint8", **_: Any) -> Tensor:
    return shared_constant(np.eye(int(n)), dtype)


def ds(start: Any, size: int) -> slice:
    first = int(start)
    return slice(first, first + int(size))


def expand_dims(data: Any, axis: Any) -> Any:
    if isinstance(data, Index):
        return Index(np.expand_dims(data.values, axis), data.origins)
    return tensor_of("nl.expand_dims's operand", data).expand_dims(axis)


def broadcast_to(src: Any, shape: Sequence[int], **_: Any) -> Tensor:
    return tensor_of("nl.broadcast_to's operand", src).broadcast_to(shape)


# -- moves ------------------------------------------------------------------------------------------------------------


def load(src: Any, mask: Any = None, dtype: Any = None, mode: Any = None, **_: Any) -> Tensor:
    """HBM to a new tile in SBUF; what the mask excludes is undefined."""
    data = hbm_of("src of nl.load", src)
    dst = result(data.shape, data.dtype_name if dtype is None else dtype_name(dtype))
    oob = _oob(mode)
    data = data if data.ndim == dst.ndim else data.expand_dims(data.ndim)
    return produced(dst, [data], mask, lambda d, s, m: instructions.dma_copy(d, s, m, oob=oob))


def store(dst: Any, value: Any, mask: Any = None, mode: Any = None, **_: Any) -> None:
    """A tile, or a number, to HBM."""
    place = hbm_of("dst of nl.store", dst)
    if not isinstance(value, Tile):
        value = full(place.shape, value, place.dtype_name)
    source = tile_of("value of nl.store", value)
    if source.storage.space == PSUM:
        source = copy(source)
    if source.shape != place.shape:
        _noted_shapes(source, place)
        source = source.reshape(place.shape) if source.size == place.size else source.spread(place.shape)
    oob = _oob(mode)
    for box, concrete in under(mask, [place, source], place.shape):
        instructions.dma_copy(place.cut(box), source.cut(box), concrete, oob=oob)


def _noted_shapes(source: Tensor, place: Tensor) -> None:
    """As many elements in another shape go in row-major order; the documentation wants equal shapes."""
    kept = [[n for n in shape if n != 1] for shape in (source.shape, place.shape)]
    note = f"{here()}: nl.store of {source.shape} to {place.shape}: NKI wants equal shapes"
    if source.size == place.size and kept[0] != kept[1] and note not in current().trace.notes:
        current().trace.notes.append(note)


def _oob(mode: Any) -> str:
    return "error" if mode is None else getattr(mode, "name", str(mode))


def atomic_rmw(dst: Any, value: Any, op: Any, mask: Any = None, **_: Any) -> None:
    """dst = dst + value in HBM."""
    place, source = hbm_of("dst of nl.atomic_rmw", dst), tile_of("value of nl.atomic_rmw", value)
    if getattr(op, "__name__", str(op)) != "add":
        raise unmodelled(f"nl.atomic_rmw with {op!r}")
    for box, concrete in under(mask, [place, source], place.shape):
        instructions.dma_copy(place.cut(box), source.cut(box), concrete, rmw="add", unique=False)


def gather_flattened(data: Any, indices: Any, mask: Any = None, dtype: Any = None, **_: Any) -> Tensor:
    """data[p, indices[p, j]], free axes taken as one."""
    source, places = tile_of("data of nl.gather_flattened", data), tile_of("indices of nl.gather_flattened", indices)
    if regions(mask, places.shape) != regions(None, places.shape):
        raise unmodelled("nl.gather_flattened under a mask")
    dst = result(places.shape, source.dtype_name if dtype is None else dtype_name(dtype))
    instructions.n_gather(dst, source, places)
    return dst


def dropout(x: Any, rate: Any, dtype: Any = None, mask: Any = None, **_: Any) -> Tensor:
    data = tile_of("nl.dropout's operand", x)
    dst = result(data.shape, data.dtype_name if dtype is None else dtype_name(dtype))
    return produced(dst, [data], mask, lambda d, a, m: instructions.dropout(d, a, rate, m))


def rand(shape: Sequence[int], dtype: Any = "float32", **_: Any) -> Tensor:
    dst = result([int(n) for n in shape], dtype)
    instructions.rand2(dst, 0.0, 1.0)
    return dst


def random_seed(seed: Any, mask: Any = None, **_: Any) -> None:
    held = seed if isinstance(seed, Tile) else full((1, 1), int(seed), "uint32")
    instructions.set_rng_seed(held)


def device_print(prefix: str, x: Any, mask: Any = None, **_: Any) -> None:
    """Prints on the device; nothing is computed."""


gemm_grid, gemm_stationary_grid = placeholder("nl.gemm_grid"), placeholder("nl.gemm_stationary_grid")


def __getattr__(name: str) -> Any:
    """dtypes, and values of ``op=`` that are no functions."""
    if name in HELD or name == "bool_":
        return DType("uint8" if name == "bool_" else name)
    if name in ALU or name in ACTIVATIONS:
        return Op(name)
    raise AttributeError(f"nki.language of Beta-1 has no {name}")
