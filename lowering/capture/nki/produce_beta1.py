"""How a Beta-1 instruction gives a tile: memory for the result, the mask as boxes or as a bool array, what was made.

``produced`` records an instruction for each box that a mask lets through and returns the tile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lowering.capture.nki import instructions
from lowering.capture.nki.assumptions import assume
from lowering.capture.nki.dtypes import dtype_name
from lowering.capture.nki.made_beta1 import Made
from lowering.capture.nki.masks_beta1 import Box, regions, whole
from lowering.capture.nki.tensor_beta1 import Tensor
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import PSUM, SBUF
from lowering.capture.nki.tracer import current, here, unmodelled
from lowering.errors import UsageError

#: records the instruction: destination, operands, mask
Emit = Callable[..., None]


def result(shape: Sequence[int], dtype: Any, space: str = SBUF) -> Tensor:
    """A new tile, of at least two dimensions."""
    extents = (*shape, 1) if len(shape) == 1 else tuple(shape)
    return Tensor.new(space, extents, dtype if type(dtype) is str else dtype_name(dtype))


def produced(dst: Tensor, operands: Sequence[Any], mask: Any, emit: Emit) -> Tensor:
    """dst, once ``emit(dst, *operands, mask)`` was recorded for what the mask lets through."""
    made = []
    for box, concrete in under(mask, [dst, *operands], dst.shape):
        before = len(current().trace.instrs)
        emit(dst.cut(box), *(part(value, box, dst.shape) for value in operands), concrete)
        made += [(instr, box) for instr in current().trace.instrs[before:] if _writes(instr, dst)]
    dst.made = Made(made)
    if dst.storage.space == PSUM and any(instr.op != "nc_mat_mul" for instr, _ in made):
        if not all(instr.op == "mem_set" and instr.src[0] == 0 for instr, _ in made):
            current().mark(dst.ref, True)
    return dst


def _writes(instr: Any, dst: Tensor) -> bool:
    return getattr(instr.dst[0], "storage", -1) == dst.storage.id


def under(mask: Any, tiles: Sequence[Any], shape: tuple[int, ...]) -> list[tuple[Box, np.ndarray | None]]:
    """The boxes of a mask over ``shape``, with bool arrays only where nothing leaves its tensor."""
    beyond = any(isinstance(one, Tensor) and one.goes_beyond for one in tiles)
    return regions(mask, shape, split=beyond)


def part(value: Any, box: Box, shape: tuple[int, ...]) -> Any:
    """What an operand has in a box of the result; numbers and lanes are for all of it."""
    if not isinstance(value, Tensor) or box == whole(shape):
        return value
    if value.ndim != len(shape) or any(n not in (1, extent) for n, extent in zip(value.shape, shape)):
        raise UsageError(f"{here()}: a mask over {shape} says nothing of an operand of shape {value.shape}")
    return value.cut(box)


def tile_of(what: str, value: Any) -> Tensor:
    """``value``, which has to be a tile on chip whose first dimension is the partitions."""
    tile = tensor_of(what, value)
    if not tile.on_chip:
        raise UsageError(f"{here()}: {what} is in {tile.storage.space}; it has to be in sbuf or psum: nl.load it")
    if tile.blocks:
        raise UsageError(f"{here()}: {what} has block dimensions, {tile.shape}; subscript them, a tile has none")
    return tile


def hbm_of(what: str, value: Any) -> Tensor:
    """``value``, which has to be a tensor in HBM."""
    tensor = tensor_of(what, value)
    if tensor.on_chip:
        raise UsageError(f"{here()}: {what} is in {tensor.storage.space}; it has to be in hbm")
    return tensor


def tensor_of(what: str, value: Any) -> Tensor:
    """``value``, which has to be a tensor of Beta-1."""
    if isinstance(value, Tensor):
        return value
    told = value.__class__.__name__ if isinstance(value, Tile) or not isinstance(value, int | float) else repr(value)
    raise UsageError(f"{here()}: {what} is {told}; it has to be a tile")


def lifted(value: Tensor, rank: int) -> Tensor:
    """With leading dimensions of extent 1, as numpy broadcasts."""
    missing = rank - value.ndim
    return value if missing <= 0 else value.remade((1,) * missing + value.shape, (0,) * missing + value.strides)


def together(what: str, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Both over their common shape, free axes spread; as many elements in other shapes are left as they are."""
    if x.shape == y.shape or (x.partitions, x.free) == (y.partitions, y.free):
        return x, y
    if x.partitions != y.partitions:
        told = f"{x.shape} and {y.shape}"
        raise UsageError(f"{here()}: {what}: the partitions of {told} differ: broadcast_to spreads them")
    try:
        shape = np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        raise UsageError(f"{here()}: {what}: shapes {x.shape} and {y.shape} do not broadcast") from None
    return x.spread(shape), y.spread(shape)


def in_sbuf(tile: Tensor) -> Tensor:
    """A tile for an engine that does not read PSUM: Beta-1's compiler copies what kernels give it from there."""
    if tile.storage.space != PSUM:
        return tile
    assume("beta1_psum_operand")
    moved = Tensor.new(SBUF, tile.shape, tile.dtype_name)
    instructions.copy(moved, tile, "dve")
    return moved


def like(what: str, data: Any, dtype: Any) -> tuple[Tensor, Tensor]:
    """The operand as a tile, and a result of its shape and of ``dtype``, or of its own."""
    tile = tile_of(what, data)
    return tile, result(tile.shape, tile.dtype_name if dtype is None else dtype_name(dtype))


def unmasked(name: str, mask: Any) -> None:
    """Refuses an instruction whose mask has no model."""
    if mask is not None:
        raise unmodelled(f"nisa.{name} under a mask")
