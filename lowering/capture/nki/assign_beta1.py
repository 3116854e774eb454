"""Assignment in Beta-1: ``dst[...] = value``, ``dst += value`` (NKI.md §1.4).

A value that an instruction has just made goes to its destination directly: the instruction is given another one, and
`+=` of a matmul into PSUM becomes an accumulating pass of the PE.  Where the value is needed once more, that is undone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lowering.capture.nki import instructions, math_beta1
from lowering.capture.nki.assumptions import assume
from lowering.capture.nki.dtypes import FLOATS
from lowering.capture.nki.masks_beta1 import Box
from lowering.capture.nki.ops import ALU
from lowering.capture.nki.tensor_beta1 import Tensor
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import PSUM, Indirect, Instr, Operand
from lowering.capture.nki.tracer import current, here, plain, unmodelled
from lowering.capture.trace import TensorRef
from lowering.disjoint import disjoint
from lowering.errors import UsageError

_LOADS = frozenset(["nc_dma_copy", "dma_transpose"])
_MOVES = _LOADS | {"nc_copy", "transpose"}
#: these read an element for another place than the one they write
_ELSEWHERE = frozenset(["transpose", "dma_transpose", "shuffle", "nc_local_gather", "nc_n_gather", "nc_mat_mul"])


def assign(dst: Tensor, value: Any) -> None:
    """``dst[...] = value``: a tile, or a number."""
    dst.occupy()
    if isinstance(value, bool | int | float | np.generic):
        instructions.memset(dst, value)
        noted(dst, float(value) != 0.0)
        return
    if not isinstance(value, Tensor):
        raise UsageError(f"{here()}: a {type(value).__name__} is assigned to a tensor: a tile or a number can be")
    if _same(dst, value) or _retarget(dst, value, asked=False):
        return
    for box, mask in _defined(value, dst):
        _copy(dst.cut(box), value.cut(box) if value.shape == dst.shape else value, mask)
    noted(dst, True)


def add_into(dst: Tensor, value: Any) -> Tensor:
    """``dst += value``."""
    dst.occupy()
    if isinstance(value, Tensor) and dst.storage.space == PSUM and _is_matmul(value):
        if _retarget(dst, value, asked=None):
            return dst
    return combine_into(dst, value, "add")


def combine_into(dst: Tensor, value: Any, name: str) -> Tensor:
    """``dst = dst op value``: both to f32, one rounding to dst's dtype."""
    if not isinstance(value, Tile | int | float | np.generic):
        raise UsageError(f"{here()}: a {type(value).__name__} is no operand of a tensor")
    if isinstance(value, Tensor):
        for box, mask in _defined(value, dst):
            part = value.cut(box) if value.shape == dst.shape else value
            math_beta1.combine(dst.cut(box), ALU[name], dst.cut(box), part, mask)
    else:
        math_beta1.combine(dst, ALU[name], dst, value)
    noted(dst, True)
    return dst


def noted(dst: Tensor, written: bool) -> None:
    """What is in PSUM is added to by the next matmul, unless it is zeros."""
    if dst.storage.space == PSUM:
        current().mark(dst.ref, written)


def _copy(dst: Tensor, value: Tensor, mask: np.ndarray | None) -> None:
    if (value.partitions, value.free) != (dst.partitions, dst.free) and value.shape != dst.shape:
        value = value.spread(dst.shape)
    if dst.on_chip and value.on_chip:
        instructions.copy(dst, value, "dve", mask)
    else:
        instructions.dma_copy(dst, value, mask)


def _defined(value: Tensor, dst: Tensor) -> list[tuple[Box, np.ndarray | None]]:
    """Where a value that was just made under a mask holds something; else all of it."""
    if _is_fresh(value) and value.shape == dst.shape and value.made is not None:
        return [(box, instr.mask) for instr, box in value.made.instrs]
    return [(tuple((0, extent) for extent in dst.shape), None)]


def _is_fresh(value: Tensor) -> bool:
    """The instructions that made it are the last ones."""
    if value.made is None or value.moved is not None or value.made.at != len(current().trace.instrs):
        return False
    made = [instr for instr, _ in value.made.instrs]
    last = current().trace.instrs[len(current().trace.instrs) - len(made) :]
    return all(a is b for a, b in zip(made, last, strict=True))


def _is_matmul(value: Tensor) -> bool:
    return _is_fresh(value) and value.made is not None and all(i.op == "nc_mat_mul" for i, _ in value.made.instrs)


def _same(dst: Tensor, value: Tensor) -> bool:
    """``dst[...] += x`` assigns to dst what has been added to it already."""
    return (dst.storage, dst.shape, dst.strides, dst.offset, dst.dtype_name) == (
        value.storage, value.shape, value.strides, value.offset, value.dtype_name
    )  # fmt: skip


def _retarget(dst: Tensor, value: Tensor, asked: bool | None) -> bool:
    """Lets the instructions that made ``value`` write to ``dst``, where that gives the same numbers."""
    if value.made is None or not value.made.movable or not _is_fresh(value):
        return False
    made = value.made.instrs
    if not dst.on_chip or value.shape != dst.shape or not all(_reaches(instr, dst) for instr, _ in made):
        return False
    if not all(_same_numbers(instr, value, dst) for instr, _ in made):
        return False
    if any(_overwrites(src, instr, dst, len(made) > 1) for instr, _ in made for src in instr.src):
        return False
    tracer, pairs = current(), []
    for instr, box in made:
        view = dst.cut(box).view_of
        attrs = instr.attrs
        if instr.op == "nc_mat_mul":
            flag = tracer.accumulates(plain(view), asked, instr.mask)
            if asked is None and flag is not True and dst.storage.id not in tracer.cleared:
                assume("beta1_psum_fresh")
            attrs = {**attrs, "accumulate": flag, "asked": asked}
        else:
            noted(dst.cut(box), not (instr.op == "mem_set" and instr.src[0] == 0))
        pairs.append((instr, replace(instr, dst=(view, *instr.dst[1:]), attrs=attrs)))
    tracer.trace.instrs[len(tracer.trace.instrs) - len(made) :] = [new for _, new in pairs]
    value.moved = lambda: _undo(pairs)
    return True


def _overwrites(src: Operand, instr: Instr, dst: Tensor, several: bool) -> bool:
    """Whether an instruction that writes to dst at once may overwrite what it, or another one, reads later.

    In place, one instruction may read an element where it writes it.
    """
    view = src.base if isinstance(src, Indirect) else src
    if not isinstance(view, TensorRef) or view.storage != dst.storage.id:
        return False
    if several or isinstance(src, Indirect) or instr.op in _ELSEWHERE:
        return True
    to = plain(dst.view_of)
    return not (disjoint(view, to) or (view.dtype, view.offset, _steps(view)) == (to.dtype, to.offset, _steps(to)))


def _steps(view: TensorRef) -> list[tuple[int, int]]:
    return [(stride, extent) for stride, extent in zip(view.strides, view.shape, strict=True) if extent > 1]


def _same_numbers(instr: Instr, value: Tensor, dst: Tensor) -> bool:
    """One rounding to dst gives what rounding to the value's dtype first does."""
    if value.dtype_name == dst.dtype_name:
        return True
    if value.dtype_name == "float32":
        return dst.dtype_name in FLOATS  # an integer of more than 24 bits may be rounded on its way
    moves = instr.op in _MOVES and dst.dtype_name == "float32" and value.dtype_name in FLOATS
    return moves and _dtype(instr.src[0]) == value.dtype_name


def _dtype(operand: Operand) -> str:
    view = operand.base if isinstance(operand, Indirect) else operand
    return view.dtype if isinstance(view, TensorRef) else ""


def _reaches(instr: Instr, dst: Tensor) -> bool:
    """The Tensor engine writes PSUM only, and DMA does not."""
    if instr.engine == "pe":
        return dst.storage.space == PSUM
    return instr.op not in _LOADS or dst.storage.space != PSUM


def _undo(pairs: list[tuple[Instr, Instr]]) -> None:
    """The instructions write to the tile that they made again, and another one moves that to the destination."""
    instrs = current().trace.instrs
    for old, new in pairs:
        at = next(i for i in range(len(instrs) - 1, -1, -1) if instrs[i] is new)
        adds = new.attrs.get("accumulate", False)
        if isinstance(adds, np.ndarray):
            raise unmodelled("a product that is added to PSUM in part, and used once more")
        if adds:
            move = replace(old, op="tensor_tensor", dst=new.dst, src=(new.dst[0], old.dst[0]), attrs={"op": "add"})
        else:
            move = replace(old, op="nc_copy", dst=new.dst[:1], src=old.dst[:1], attrs={})
        instrs[at : at + 1] = [old, replace(move, engine="dve")]
