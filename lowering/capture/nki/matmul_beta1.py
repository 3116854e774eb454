"""Products and transposes of Beta-1, which give tiles in PSUM; their masks (NKI.md §1.4, 1.6).

A mask of a product limits its contraction, its rows or its columns: which, its index tiles say, or its shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowering.capture.nki import instructions
from lowering.capture.nki.dtypes import dtype_name
from lowering.capture.nki.indices_beta1 import Mask
from lowering.capture.nki.made_beta1 import Made
from lowering.capture.nki.masks_beta1 import Box, regions, whole
from lowering.capture.nki.produce_beta1 import in_sbuf, result, tensor_of, tile_of
from lowering.capture.nki.tensor_beta1 import Tensor
from lowering.capture.nki.trace import PSUM, SBUF
from lowering.capture.nki.tracer import current, here, unmodelled
from lowering.errors import UsageError


def nc_matmul(
    stationary: Any, moving: Any, mask: Any = None, is_transpose: bool = False, perf_mode: Any = None
) -> Tensor:
    """stationary[k, m] * moving[k, n] over k, a new tile in PSUM."""
    left, right = tile_of("stationary of nc_matmul", stationary), tile_of("moving of nc_matmul", moving)
    double = perf_mode is not None and "double_row" in str(getattr(perf_mode, "name", perf_mode))
    rows = left.free // (2 if double else 1)
    columns = right.shape[2:] if double else right.shape[1:]
    dst = result((rows, *columns), right.dtype_name if is_transpose else "float32", PSUM)
    dst.made = Made([])
    boxes = _limits(mask, left, right)
    if boxes is None:
        return dst
    k, m, n = boxes
    if (k, m, n) != (whole(left.shape[:1]), whole(left.shape[1:]), whole(right.shape[1:])):
        if double or left.ndim != 2:
            raise unmodelled("a mask of nc_matmul over operands of three dimensions or double rows")
        left, right = left.cut(k + m), right.cut(k + n)
        box: Box = m + n
    else:
        box = whole(dst.shape)
    mode = "double_row" if double else "none"
    instructions.nc_matmul(dst.cut(box), in_sbuf(left), in_sbuf(right), False, is_transpose, mode)
    dst.made = Made([(current().trace.instrs[-1], box)])
    return dst


def _limits(mask: Any, left: Tensor, right: Tensor) -> tuple[Box, Box, Box] | None:
    """What a mask leaves of the contraction, of the rows and of the columns; None for nothing at all."""
    if left.partitions != right.partitions:
        told = f"stationary has {left.shape}, moving {right.shape}"
        raise UsageError(f"{here()}: nc_matmul contracts over partitions: {told}")
    if mask is None and left.limit is None and right.limit is None:
        return whole(left.shape[:1]), whole(left.shape[1:]), whole(right.shape[1:])
    shapes = (left.shape[:1], left.shape[1:], right.shape[1:])
    allowed = [_inside(left, 0) & _inside(right, 0), _inside(left, 1), _inside(right, 1)]
    if mask is False or (isinstance(mask, bool | np.bool_) and not mask):
        return None
    if isinstance(mask, Mask):
        for at, bools in enumerate(mask.parts):
            if bools.ndim == 0:
                if not bools:
                    return None
                continue
            bools = _essential(bools)
            role = _role(mask.origins[at], bools, left, right)
            allowed[role] &= _along(bools, role, shapes[role])
    elif mask is not None and mask is not True:
        raise UsageError(f"{here()}: mask= takes comparisons of index tiles, not a {type(mask).__name__}")
    boxes = []
    for each in allowed:
        found = regions_of(each)
        if not found:
            return None
        if len(found) > 1 or found[0][1] is not None:
            raise unmodelled("a mask of nc_matmul that is no box")
        boxes.append(found[0][0])
    return boxes[0], boxes[1], boxes[2]


def _inside(tile: Tensor, part: int) -> np.ndarray:
    """What an operand's own mask leaves of its partitions (0) or of its free axes (1)."""
    taken = slice(0, 1) if part == 0 else slice(1, None)
    made = np.zeros(tile.shape[taken], bool)
    box = tile.limit or whole(tile.shape)
    made[tuple(slice(*bounds) for bounds in box[taken])] = True
    return made


def regions_of(allowed: np.ndarray) -> list[tuple[Box, np.ndarray | None]]:
    return regions(Mask([allowed], [frozenset()]), allowed.shape)


def _role(origins: frozenset[int], bools: np.ndarray, left: Tensor, right: Tensor) -> int:
    """0: the contraction, 1: the rows (stationary's free axes), 2: the columns (moving's)."""
    sides = [_taken(left, 0) | _taken(right, 0), _taken(left, 1), _taken(right, 1)]
    roles = [role for role, taken in enumerate(sides) if origins & taken]
    if len(roles) == 1:
        return roles[0]
    if not roles:
        if bools.shape[0] == left.partitions and bools.size == left.partitions:
            return 0
        fits = [role for role, tile in ((1, left), (2, right)) if bools.size == tile.free and bools.shape[0] == 1]
        if len(fits) == 1:
            return fits[0]
    raise UsageError(f"{here()}: which of contraction, rows and columns a mask of nc_matmul limits is not to be told")


def _essential(bools: np.ndarray) -> np.ndarray:
    """With extent 1 along the dimensions that make no difference."""
    for dim in range(bools.ndim):
        first = bools.take([0], axis=dim)
        if (bools == first).all():
            bools = first
    return bools


def _taken(tile: Tensor, part: int) -> frozenset[int]:
    """The index tiles that took a tile's partitions (0) or its free axes (1)."""
    chosen = tile.origins[:1] if part == 0 else tile.origins[1:]
    return frozenset().union(*chosen)


def _along(bools: np.ndarray, role: int, shape: tuple[int, ...]) -> np.ndarray:
    if bools.size == np.prod(shape):
        return bools.reshape(shape)
    raise UsageError(f"{here()}: a mask of shape {bools.shape} does not fit the {('K', 'M', 'N')[role]} of {shape}")


def nc_transpose(data: Any, mask: Any = None, dtype: Any = None, engine: str = "") -> Tensor:
    """data[p, f] at [f, p]; the Tensor engine gives a tile in PSUM."""
    tile = tile_of("data of nc_transpose", data)
    small = max(tile.partitions, tile.free) <= 32
    chosen = engine or ("dve" if small else "pe")
    kind = tile.dtype_name if dtype is None else dtype_name(dtype)
    dst = result((tile.free, tile.partitions), kind, PSUM if chosen == "pe" else SBUF)
    dst.made = Made([])
    found = regions(mask, tile.shape)
    for box, concrete in found:
        if concrete is not None or (tile.ndim != 2 and box != whole(tile.shape)):
            raise unmodelled("nc_transpose under a mask that is no box")
        turned = (box[1], box[0]) if tile.ndim == 2 else whole(dst.shape)
        part = tile.cut(box) if chosen == "dve" else in_sbuf(tile.cut(box))
        instructions.nc_transpose(dst.cut(turned), part, chosen)
        dst.made = Made([(current().trace.instrs[-1], turned)])
        if dst.storage.space == PSUM:
            current().mark(dst.cut(turned).ref, True)
    return dst


def matmul(x: Any, y: Any, transpose_x: bool = False, mask: Any = None, **_: Any) -> Tensor:
    """x @ y for x (M, K); with ``transpose_x`` x is given as (K, M)."""
    left = tile_of("x of nl.matmul", x)
    if transpose_x:
        return nc_matmul(left, y, mask)
    if isinstance(mask, Mask):
        raise unmodelled("nl.matmul with a mask and without transpose_x")
    return nc_matmul(in_sbuf(nc_transpose(left)), y, mask)


def transpose(x: Any, dtype: Any = None, mask: Any = None, **_: Any) -> Tensor:
    return nc_transpose(x, mask, dtype)


def load_transpose2d(src: Any, mask: Any = None, dtype: Any = None, **_: Any) -> Tensor:
    """src[a, b] of HBM at [b, a] of a tile."""
    data = tensor_of("src of nl.load_transpose2d", src)
    if data.ndim != 2:
        raise UsageError(f"{here()}: nl.load_transpose2d of a tensor of shape {data.shape}: it takes two dimensions")
    dst = result((data.shape[1], data.shape[0]), data.dtype_name if dtype is None else dtype_name(dtype))
    dst.made = Made([])
    made = []
    for box, concrete in regions(mask, data.shape, split=True):
        assert concrete is None
        turned = (box[1], box[0])
        instructions.dma_transpose(dst.cut(turned), data.cut(box), (1, 0))
        made.append((current().trace.instrs[-1], turned))
    dst.made = Made(made)
    return dst
