"""Instructions of Beta-1 that fold, scan, search and gather; names of `neuronxcc.nki.isa` (NKI.md §1.6, Appendix A)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowering.capture.nki import instructions, reductions_beta1
from lowering.capture.nki.dtypes import dtype_name
from lowering.capture.nki.ops import alu
from lowering.capture.nki.produce_beta1 import like, produced, result, tile_of, under, unmasked
from lowering.capture.nki.promotion_beta1 import promoted
from lowering.capture.nki.tensor_beta1 import Tensor
from lowering.capture.nki.tracer import unmodelled

# -- folds ------------------------------------------------------------------------------------------------------------


def tensor_reduce(
    op: Any, data: Any, axis: Any, *, mask: Any = None, dtype: Any = None, negate: bool = False,
    keepdims: bool = False, **_: Any,
) -> Tensor:  # fmt: skip
    return reductions_beta1.fold(alu(op), data, axis, dtype, mask, keepdims, negate)


def tensor_scalar_reduce(
    *, data: Any, op0: Any, operand0: Any, reduce_op: Any, reduce_res: Any, reverse0: bool = False, dtype: Any = None,
    mask: Any = None, **_: Any,
) -> Tensor:  # fmt: skip
    tile, dst = like("data of tensor_scalar_reduce", data, dtype)
    first, folded = alu(op0), alu(reduce_op)

    def emit(d: Tensor, x: Tensor, a: Any, r: Any, m: Any) -> None:
        instructions.tensor_scalar_reduce(d, x, first, a, folded, r, reverse0, mask=m)

    return produced(dst, [tile, operand0, reduce_res], mask, emit)


def tensor_partition_reduce(op: Any, data: Any, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tensor:
    tile = tile_of("data of tensor_partition_reduce", data)
    if mask is not None:
        raise unmodelled("nisa.tensor_partition_reduce under a mask")
    dst = result((1, *tile.shape[1:]), tile.dtype_name if dtype is None else dtype_name(dtype))
    name = alu(op)
    return produced(dst, [tile], None, lambda d, x, m: instructions.tensor_partition_reduce(d, name, x, m))


def tensor_tensor_scan(
    data0: Any, data1: Any, initial: Any, op0: Any, op1: Any, reverse0: bool = False, reverse1: bool = False, *,
    dtype: Any = None, mask: Any = None, **_: Any,
) -> Tensor:  # fmt: skip
    x, y = tile_of("data0 of tensor_tensor_scan", data0), tile_of("data1 of tensor_tensor_scan", data1)
    dst = result(x.shape, promoted(x, y) if dtype is None else dtype_name(dtype))
    first, second = alu(op0), alu(op1)

    _scans_whole_rows(mask, x, y, dst)

    def emit(d: Tensor, a: Tensor, b: Tensor, start: Any, m: Any) -> None:
        instructions.tensor_tensor_scan(d, a, b, start, first, second, reverse0, reverse1, m)

    return produced(dst, [x, y, initial], mask, emit)


def _scans_whole_rows(mask: Any, *tiles: Tensor) -> None:
    """A mask has to leave the first elements of a partition, as many as it likes: what comes after is not looked at.

    One that goes on after a gap, or begins later, would have to say what a scan carries over the gap.
    """
    rows: dict[int, int] = {}
    for box, concrete in under(mask, tiles, tiles[-1].shape):
        free = tuple(slice(*bounds) for bounds in box[1:])
        for lane in range(*box[0]):
            kept = np.zeros(tiles[-1].shape[1:], bool)
            kept[free] = True if concrete is None else concrete[lane][free]
            rows[lane] = rows.get(lane, 0) + 1
            if rows[lane] > 1 or not kept.ravel()[: int(kept.sum())].all():
                raise unmodelled("nisa.tensor_tensor_scan under a mask that leaves out elements before others")


def bn_stats(data: Any, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tensor:
    return _statistics("bn_stats", data, 6, mask, dtype)


def bn_aggr(data: Any, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tensor:
    return _statistics("bn_aggr", data, 2, mask, dtype)


def _statistics(name: str, data: Any, count: int, mask: Any, dtype: Any) -> Tensor:
    """A mask leaves fewer partitions, or fewer elements of each."""
    tile = tile_of(f"data of {name}", data)
    dst = result((tile.partitions, count), tile.dtype_name if dtype is None else dtype_name(dtype))
    for box, concrete in under(mask, [tile], tile.shape):
        if concrete is not None:
            raise unmodelled(f"nisa.{name} under a mask that is no box")
        getattr(instructions, name)(dst.cut((box[0], (0, count))), tile.cut(box))
    return dst


# -- searches and gathers ---------------------------------------------------------------------------------------------


def max8(*, src: Any, mask: Any = None, dtype: Any = None, **_: Any) -> Tensor:
    tile = tile_of("src of max8", src)
    unmasked("max8", mask)
    dst = result((tile.partitions, 8), tile.dtype_name if dtype is None else dtype_name(dtype))
    return produced(dst, [tile], None, instructions.max8)


def nc_find_index8(*, data: Any, vals: Any, mask: Any = None, dtype: Any = None, **_: Any) -> Tensor:
    unmasked("nc_find_index8", mask)
    tile, wanted = tile_of("data of nc_find_index8", data), tile_of("vals of nc_find_index8", vals)
    dst = result((tile.partitions, 8), "uint32" if dtype is None else dtype_name(dtype))
    return produced(dst, [tile, wanted], None, instructions.find_index8)


def nc_match_replace8(
    *, data: Any, vals: Any, imm: float, dst_idx: Any = None, mask: Any = None, dtype: Any = None, **_: Any
) -> Tensor:
    unmasked("nc_match_replace8", mask)
    tile, dst = like("data of nc_match_replace8", data, dtype)
    wanted = tile_of("vals of nc_match_replace8", vals)
    return produced(dst, [tile, wanted], None, lambda d, a, v, m: instructions.match_replace8(d, a, v, imm, dst_idx, m))


def nc_stream_shuffle(src: Any, dst: Any, shuffle_mask: Any, *, mask: Any = None, **_: Any) -> None:
    unmasked("nc_stream_shuffle", mask)
    place, tile = tile_of("dst of nc_stream_shuffle", dst), tile_of("src of nc_stream_shuffle", src)
    produced(place, [tile], None, lambda d, s, m: instructions.shuffle(d, s, shuffle_mask, m)).made = None


def local_gather(
    src_buffer: Any, index: Any, num_elem_per_idx: int = 1, num_valid_indices: int | None = None, *, mask: Any = None
) -> Tensor:
    """A result of (partitions, indices / 16, 16, num_elem_per_idx), of (partitions, indices, ...) for other numbers."""
    source, places = tile_of("src_buffer of local_gather", src_buffer), tile_of("index of local_gather", index)
    unmasked("local_gather", mask)
    count = int(num_valid_indices) if num_valid_indices else places.free * 16
    by_16 = (count // 16, 16) if count % 16 == 0 else (count,)
    dst = result((source.partitions, *by_16, int(num_elem_per_idx)), source.dtype_name)
    instructions.local_gather(dst, source, places, int(num_elem_per_idx), num_valid_indices)
    return dst


def sequence_bounds(*, segment_ids: Any, dtype: Any = None) -> Tensor:
    tile = tile_of("segment_ids of sequence_bounds", segment_ids)
    dst = result((tile.partitions, 2, tile.free), tile.dtype_name if dtype is None else dtype_name(dtype))
    instructions.sequence_bounds(dst, tile)
    return dst
