"""Instructions that combine elements of a partition, or of all partitions, into one: folds, scans, statistics."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from lowering.capture.nki.operands import Mask, folded_axes, holds, lane_or_number, reduced, same_elements, tile
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.tracer import current, here
from lowering.errors import UsageError

_FOLDS = frozenset(["add", "subtract", "mult", "max", "min", "logical_and", "logical_or", "logical_xor", "bitwise_and",
                    "bitwise_or", "bitwise_xor", "abs_max", "abs_min"])  # fmt: skip
_PARTITION_FOLDS = ("add", "average", "max", "bitwise_or", "bitwise_and")
_CUMULATIVE = ("add", "subtract", "mult", "max", "min")


def tensor_reduce(
    dst: Tile, op: str, data: Tile, axes: Sequence[int], negate: bool = False, mask: Mask = None,
    data_mask: Mask = None,
) -> None:  # fmt: skip
    """``tensor_reduce`` dst=[dst] src=[data] op axes negate [data_mask]: folds the axes of data that are named, its
    last ones; ``data_mask`` (Beta-1, data's shape): elements where it is False take no part."""
    named = folded_axes("tensor_reduce", tile("data of tensor_reduce", data), axes)
    _one_of("tensor_reduce", op, _FOLDS)
    folds = prod(data.shape[axis] for axis in named)
    kept = tile("dst of tensor_reduce", dst).partitions == data.partitions
    if not kept or dst.size * folds != data.size:
        raise UsageError(f"{here()}: tensor_reduce: dst has shape {dst.shape} for data of shape {data.shape}")
    attrs: dict[str, Any] = {"op": op, "axes": named, "negate": bool(negate)}
    if data_mask is not None:
        attrs["data_mask"] = data_mask
    current().emit("tensor_reduce", [dst.view_of], [data.view_of], "dve", mask, **attrs)


def tensor_partition_reduce(dst: Tile, op: str, data: Tile, mask: Mask = None) -> None:
    """``tensor_partition_reduce`` dst=[dst of one partition] src=[data] op: folds the partitions."""
    _one_of("tensor_partition_reduce", op, _PARTITION_FOLDS)
    holds("tensor_partition_reduce", dst, 1, tile("data of tensor_partition_reduce", data).free)
    current().emit("tensor_partition_reduce", [dst.view_of], [data.view_of], "pool", mask, op=op)


def tensor_scalar_reduce(
    dst: Tile, data: Tile, op0: str, operand0: Any, reduce_op: str, reduce_res: Tile | None = None,
    reverse0: bool = False, reduce_cmd: str = "reset_reduce", reduce_init: Any = None, negate: bool = False,
    mask: Mask = None,
) -> None:  # fmt: skip
    """``tensor_scalar_reduce`` dst=[dst, reduce_res?] src=[data, operand0: number or (P, 1), reduce_init: likewise or
    None] op0 reverse0 reduce_op reduce_cmd negate: dst = op0(data, operand0); the Vector engine's accumulator folds
    all free elements; negate: reduce_res gets the accumulator's negative."""
    same_elements("tensor_scalar_reduce", dst, data)
    _one_of("tensor_scalar_reduce", reduce_op, ("add", "mult", "max", "min", "abs_max", "abs_min"))
    src = [data.view_of, lane_or_number("operand0", operand0, data), lane_or_number("reduce_init", reduce_init, data)]
    attrs = {"op0": op0, "reverse0": bool(reverse0), "reduce_op": reduce_op, "reduce_cmd": reduce_cmd,
             "negate": bool(negate)}  # fmt: skip
    results = reduced("tensor_scalar_reduce", dst, reduce_res, reduce_cmd)
    current().emit("tensor_scalar_reduce", results, src, "dve", mask, **attrs)


def tensor_scalar_cumulative(
    dst: Tile, src: Tile, op0: str, op1: str, imm0: Any, imm1: Any = None, reduce_cmd: str = "reset_reduce"
) -> None:
    """``tensor_scalar_cumulative`` dst=[dst] src=[src, imm0: number or (P, 1), imm1: likewise or None] op0 op1
    reduce_cmd: from left to right, acc = op1(op0(src[i], imm0), acc); dst[i] = acc.  The Vector engine's accumulator:
    'reset_reduce' starts at op1's identity, 'load_reduce' at imm1, 'reduce' keeps it."""
    same_elements("tensor_scalar_cumulative", dst, src)
    _one_of("tensor_scalar_cumulative", op1, _CUMULATIVE)
    reduced("tensor_scalar_cumulative", dst, None, reduce_cmd)
    if reduce_cmd == "load_reduce" and imm1 is None:
        raise UsageError(f"{here()}: tensor_scalar_cumulative: load_reduce needs imm1")
    lanes = [lane_or_number("imm0", imm0, src), lane_or_number("imm1", imm1, src)]
    current().emit("tensor_scalar_cumulative", [dst.view_of], [src.view_of, *lanes], "dve", None,
                   op0=op0, op1=op1, reduce_cmd=reduce_cmd)  # fmt: skip


def tensor_tensor_scan(
    dst: Tile, data0: Tile, data1: Tile, initial: Any, op0: str, op1: str, reverse0: bool = False,
    reverse1: bool = False, mask: Mask = None,
) -> None:  # fmt: skip
    """``tensor_tensor_scan`` dst=[dst] src=[data0, data1, initial: number or (P, 1)] op0 op1 reverse0 reverse1.

    From left to right, r = op1(op0(data0[i], r), data1[i]); dst[i] = r; r starts as ``initial``.
    """
    same_elements("tensor_tensor_scan", dst, data0, data1)
    src = [data0.view_of, data1.view_of, lane_or_number("initial", initial, data0)]
    current().emit("tensor_tensor_scan", [dst.view_of], src, "dve", mask,
                   op0=op0, op1=op1, reverse0=bool(reverse0), reverse1=bool(reverse1))  # fmt: skip


def bn_stats(dst: Tile, data: Tile, mask: Mask = None) -> None:
    """``batch_norm_stats`` dst=[(P, 6)] src=[data]: count, mean, variance * count of the elements of even index, then
    of odd index."""
    holds("bn_stats", dst, tile("data of bn_stats", data).partitions, 6)
    current().emit("batch_norm_stats", [dst.view_of], [data.view_of], "dve", mask)


def bn_aggr(dst: Tile, data: Tile, mask: Mask = None) -> None:
    """``batch_norm_aggregate`` dst=[(P, 2)] src=[(P, 3n): triples count, mean, variance * count]: mean, variance."""
    if tile("data of bn_aggr", data).free % 3:
        raise UsageError(f"{here()}: bn_aggr: data of shape {data.shape} are no triples (count, mean, var * count)")
    holds("bn_aggr", dst, data.partitions, 2)
    current().emit("batch_norm_aggregate", [dst.view_of], [data.view_of], "dve", mask)


def _one_of(what: str, op: str, known: Sequence[str] | frozenset[str]) -> None:
    if op not in known:
        raise UsageError(f"{here()}: {what} cannot combine by {op}; it can by {', '.join(sorted(known))}")
