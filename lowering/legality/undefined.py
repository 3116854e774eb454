"""What becomes of memory that was never written: which elements of a result have no contents, and where that matters.

Garbage in a lane that nobody uses is no mistake: it passes through elementwise instructions, and is one where it is
summed over or stored to HBM, or where an instruction has nothing else to work on.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from lowering.capture.nki.trace import HBM, SHARED_HBM, Instr, NkiTrace, View
from lowering.capture.trace import TensorRef

Undefined = Sequence[np.ndarray | None]  # one for every source
ELEMENTWISE = frozenset(
    ["nc_copy", "nc_dma_copy", "tensor_tensor", "tensor_scalar", "nc_scalar_tensor_tensor", "nc_activate", "activate2",
     "exponential", "reciprocal", "tensor_scalar_reduce", "dropout"]
)  # fmt: skip
CONTRACTIONS = frozenset(["nc_mat_mul", "mat_mul_mx", "tensor_partition_reduce"])


def where_it_matters(trace: NkiTrace, instr: Instr, undefined: Undefined) -> list[int]:
    """The sources whose undefined elements reach something that has to be defined."""
    given = [number for number, part in enumerate(undefined) if part is not None]
    if instr.op in CONTRACTIONS:
        return [number for number in given if _summed(instr, number, _part(undefined, number))]
    made = result(instr, undefined)
    if made is not None and instr.mask is not None and instr.mask.shape == made.shape:
        made = made & instr.mask
    stores = any(isinstance(v, TensorRef) and trace.storages[v.storage].space in (HBM, SHARED_HBM) for v in instr.dst)
    if made is not None and (made.any() if stores else instr.op == "tensor_reduce" and made.all()):
        return given
    return [number for number in given if _all(instr, _part(undefined, number))]


def _part(undefined: Undefined, number: int) -> np.ndarray:
    part = undefined[number]
    assert part is not None
    return part


def _all(instr: Instr, part: np.ndarray) -> bool:
    """Whether nothing of a source, as far as it is used, has contents."""
    if instr.mask is not None and part.size == instr.mask.size:
        used = instr.mask.reshape(part.shape)
        return bool(used.any() and part[used].all())
    return bool(part.all())


def _summed(instr: Instr, number: int, part: np.ndarray) -> bool:
    """Whether undefined elements of operand ``number`` are summed into an element that is written."""
    dst = instr.dst[0]
    if instr.op == "mat_mul_mx" and number > 1:
        return bool(part[_scales(instr)].any())
    if instr.mask is None or not isinstance(dst, TensorRef) or number > 1 or instr.mask.shape != dst.shape:
        return bool(part.any())
    kept = instr.mask.reshape(dst.shape[0], -1)
    columns = part.reshape(part.shape[0], -1).any(axis=0)
    used = kept.any(axis=1 - number)
    return bool((columns & used).any()) if columns.size == used.size else bool(part.any())


def _scales(instr: Instr) -> np.ndarray:
    """The partitions that scales are taken from: four in each quadrant, one for 8 partitions of the data."""
    view = instr.src[0]
    rows = np.arange(view.shape[0] // 8 if isinstance(view, TensorRef) else 0)
    return rows // 4 * 32 + rows % 4


def result(instr: Instr, undefined: Undefined, number: int = 0) -> np.ndarray | None:
    """Which elements of destination ``number`` come from undefined ones, in its shape; None where none does."""
    view: View | None = instr.dst[number] if len(instr.dst) > number else None
    if not isinstance(view, TensorRef) or all(part is None for part in undefined):
        return None
    if instr.op in ELEMENTWISE:
        parts = [_spread(part, view.shape).astype(np.uint8) for part in undefined if part is not None]
        return np.asarray(sum(parts), bool)
    part = undefined[0] if undefined else None
    if part is None:
        return None
    if instr.op == "transpose":
        return _shaped(part.reshape(part.shape[0], -1).T, view.shape)
    if instr.op == "dma_transpose":
        return _shaped(part.transpose(instr.attrs["axes"]), view.shape)
    if instr.op == "tensor_reduce":
        kept = part.ndim - len(instr.attrs["axes"])
        return _shaped(np.asarray(part.reshape(*part.shape[:kept], -1).any(axis=-1)), view.shape)
    return None


def _shaped(part: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """None where the elements are not as many: a check of shapes is not made here."""
    return part.reshape(shape) if part.size == prod(shape) else None


def _spread(part: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """In a result's shape: element by element, one for each partition, or one for all; a result of one element for each
    partition gathers its partition."""
    if part.size == prod(shape):
        return part.reshape(shape)
    lanes = shape[0] if shape else 1
    if part.ndim and part.shape[0] == lanes:
        per_lane = part.reshape(lanes, -1).any(axis=1)
        return np.broadcast_to(per_lane.reshape(lanes, *[1] * (len(shape) - 1)), shape)
    return np.full(shape, bool(part.any()))
