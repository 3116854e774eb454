"""Instructions that search, gather, and make elements from their places."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from lowering.capture.nki.operands import Mask, holds, operand, same_elements, tile
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import Operand
from lowering.capture.nki.tracer import current, here
from lowering.errors import UsageError

Pattern = Sequence[Sequence[int]]


def iota(
    dst: Tile, pattern: Pattern | None, offset: Any = 0, channel_multiplier: int = 0,
    values: np.ndarray | None = None, mask: Mask = None,
) -> None:  # fmt: skip
    """``iota`` dst=[dst] src=[offset: number or (1, 1)] pattern=((step, count), ...) channel_multiplier, or values.

    dst[p, i...] = offset + p * channel_multiplier + sum of step * i, in int32, then of dst's dtype.  Beta-1 gives
    ``values``, an int array of dst's shape, instead.
    """
    if values is not None:
        if values.shape != tile("dst of iota", dst).shape:
            raise UsageError(f"{here()}: iota: values of shape {values.shape} for dst of shape {dst.shape}")
        current().emit("iota", [dst.view_of], [0], "pool", mask, values=values)
        return
    pairs = _pattern("iota", pattern, dst)
    attrs = {"pattern": pairs, "channel_multiplier": int(channel_multiplier)}
    current().emit("iota", [dst.view_of], [_offset(offset)], "pool", mask, **attrs)


def affine_select(
    dst: Tile, pattern: Pattern | None, channel_multiplier: int, on_true: Tile, on_false_value: Any,
    cmp_op: str = "is_equal", offset: Any = 0, predicate: np.ndarray | None = None, mask: Mask = None,
) -> None:  # fmt: skip
    """``nc_affine_select`` dst=[dst] src=[on_true, offset: number or (1, 1)] pattern channel_multiplier cmp_op
    on_false_value, or predicate.

    dst = on_true where cmp_op(offset + p * channel_multiplier + sum of step * i, 0), else on_false_value.  Beta-1
    gives ``predicate``, a bool array of dst's shape, instead.
    """
    same_elements("affine_select", dst, on_true)
    fill = _number("on_false_value of affine_select", on_false_value)
    if predicate is not None:
        if predicate.shape != dst.shape:
            raise UsageError(f"{here()}: affine_select: a predicate of {predicate.shape} for dst of {dst.shape}")
        current().emit("nc_affine_select", [dst.view_of], [on_true.view_of, 0], "pool", mask,
                       predicate=predicate, on_false_value=fill)  # fmt: skip
        return
    attrs = {"pattern": _pattern("affine_select", pattern, dst), "channel_multiplier": int(channel_multiplier),
             "cmp_op": cmp_op, "on_false_value": fill}  # fmt: skip
    current().emit("nc_affine_select", [dst.view_of], [on_true.view_of, _offset(offset)], "pool", mask, **attrs)


def _number(what: str, value: Any) -> float:
    found = operand(value)
    if not isinstance(found, int | float):
        raise UsageError(f"{here()}: {what} has to be a number")
    return float(found)


def _offset(value: Any) -> Operand:
    if isinstance(value, Tile) and value.size != 1:
        raise UsageError(f"{here()}: an offset is a number or one element, and not of shape {value.shape}")
    return operand(value)


def _pattern(what: str, pattern: Any, dst: Tile) -> tuple[tuple[int, int], ...]:
    """Pairs (step, count) over the free dimensions of dst."""
    try:
        pairs = tuple((int(step), int(count)) for step, count in pattern)
    except (TypeError, ValueError):
        raise UsageError(f"{here()}: {what}: pattern is a list of [step, count], and not {pattern!r}") from None
    if prod(count for _, count in pairs) != tile(f"dst of {what}", dst).free:
        raise UsageError(f"{here()}: {what}: pattern {pattern} does not fill a tile of shape {dst.shape}")
    return pairs


def max8(dst: Tile, src: Tile, mask: Mask = None) -> None:
    """``max8`` dst=[(P, 8)] src=[src]: the eight largest of each partition, descending."""
    holds("max8", dst, tile("src of max8", src).partitions, 8)
    _at_least_8("max8", src)
    current().emit("max8", [dst.view_of], [src.view_of], "dve", mask)


def find_index8(dst: Tile, data: Tile, vals: Tile, mask: Mask = None) -> None:
    """``find_index8`` dst=[(P, 8)] src=[data, vals: (P, 8)]: the first place of each value, all ones where there is
    none; equal values take successive places."""
    partitions = tile("data of nc_find_index8", data).partitions
    holds("nc_find_index8", dst, partitions, 8)
    holds("nc_find_index8 (vals)", vals, partitions, 8)
    _at_least_8("nc_find_index8", data)
    current().emit("find_index8", [dst.view_of], [data.view_of, vals.view_of], "dve", mask)


def match_replace8(
    dst: Tile, data: Tile, vals: Tile, imm: float, dst_idx: Tile | None = None, mask: Mask = None
) -> None:
    """``match_replace8`` dst=[dst, dst_idx?: (P, 8)] src=[data, vals: (P, 8)] replace_value: dst = data with the first
    place of each value replaced, values taken from the last to the first."""
    same_elements("nc_match_replace8", dst, data)
    holds("nc_match_replace8 (vals)", vals, data.partitions, 8)
    if dst_idx is not None:
        holds("nc_match_replace8 (dst_idx)", dst_idx, data.partitions, 8)
    results = [dst.view_of, *([dst_idx.view_of] if dst_idx is not None else [])]
    value = _number("imm of nc_match_replace8", imm)
    current().emit("match_replace8", results, [data.view_of, vals.view_of], "dve", mask, replace_value=value)


def _at_least_8(what: str, data: Tile) -> None:
    if data.free < 8:
        raise UsageError(f"{here()}: {what} needs 8 elements per partition or more: its data are {data.shape}")


def local_gather(
    dst: Tile, src: Tile, index: Tile, num_elem_per_idx: int = 1, num_valid_indices: int | None = None,
    mask: Mask = None,
) -> None:  # fmt: skip
    """``nc_local_gather`` dst=[dst] src=[src, index] num_elem_per_idx num_valid_indices: in each group of 16
    partitions, the group's indices, taken partition first, choose runs of num_elem_per_idx elements of every one."""
    for what, value in (("dst", dst), ("src_buffer", src), ("index", index)):
        tile(f"{what} of local_gather", value)
    if dst.partitions != src.partitions:
        raise UsageError(f"{here()}: local_gather: dst has shape {dst.shape}, src_buffer {src.shape}")
    valid = None if num_valid_indices is None else int(num_valid_indices)
    current().emit("nc_local_gather", [dst.view_of], [src.view_of, index.view_of], "pool", mask,
                   num_elem_per_idx=int(num_elem_per_idx), num_valid_indices=valid)  # fmt: skip


def n_gather(dst: Tile, data: Tile, indices: Tile) -> None:
    """``nc_n_gather`` dst=[dst] src=[data, indices]: dst[p, j] = data[p, indices[p, j]], free axes taken as one."""
    same_elements("nc_n_gather", dst, indices)
    if tile("data of nc_n_gather", data).partitions != dst.partitions:
        raise UsageError(f"{here()}: nc_n_gather: dst has shape {dst.shape}, data {data.shape}")
    current().emit("nc_n_gather", [dst.view_of], [data.view_of, indices.view_of], "pool")


def nonzero_with_count(dst: Tile, src: Tile, index_offset: int = 0, padding_val: int = -1) -> None:
    """``nonzero_with_count`` dst=[one element more than src] src=[src] index_offset padding_val: in partitions 0, 16,
    32, ..., the places of src's nonzero elements, ascending, plus index_offset; padding; their number at the end."""
    if tile("dst of nonzero_with_count", dst).free != tile("src of nonzero_with_count", src).free + 1:
        raise UsageError(
            f"{here()}: nonzero_with_count: dst has shape {dst.shape} for src {src.shape}, one more is due"
        )
    if dst.partitions < (src.partitions - 1) // 16 * 16 + 1:
        raise UsageError(f"{here()}: nonzero_with_count: dst has shape {dst.shape} for src {src.shape}")
    attrs = {"index_offset": int(index_offset), "padding_val": int(padding_val)}
    current().emit("nonzero_with_count", [dst.view_of], [src.view_of], "pool", None, **attrs)


def sequence_bounds(dst: Tile, segment_ids: Tile) -> None:
    """``sequence_bounds`` dst=[(1, 2, n)] src=[segment_ids: n elements]: where each element's segment begins,
    and where it has ended; n and -1 for elements of id 0."""
    if tile("dst of sequence_bounds", dst).size != 2 * tile("segment_ids", segment_ids).size:
        raise UsageError(f"{here()}: sequence_bounds: dst has shape {dst.shape} for {segment_ids.shape}")
    current().emit("sequence_bounds", [dst.view_of], [segment_ids.view_of], "pool")


def topk(val_dst: Tile, idx_dst: Tile, src: Tile, n: int) -> None:
    """``topk`` dst=[values: (P, k), places: (P, k)] src=[src] n: the k largest, ascending, of the n elements of each
    group of 16 partitions, taken partition first, and their places; result j in partition j % 16, element j // 16."""
    for what, value in (("val_dst", val_dst), ("idx_dst", idx_dst), ("src", src)):
        if tile(f"{what} of topk", value).partitions != src.partitions or value.partitions % 16:
            raise UsageError(f"{here()}: topk: {what} has shape {value.shape}; groups are of 16 partitions of src")
    if val_dst.free != idx_dst.free or not val_dst.free <= n <= 16 * src.free:
        said = f"val_dst {val_dst.shape}, idx_dst {idx_dst.shape}, src {src.shape}, n={n}"
        raise UsageError(f"{here()}: topk: {said}: as many places as values, from n elements or fewer of 16 partitions")
    current().emit("topk", [val_dst.view_of, idx_dst.view_of], [src.view_of], "pool", None, n=int(n))
