"""nki.isa of the new API: selections, searches, gathers, statistics, elements from their places."""

from __future__ import annotations

from typing import Any

from lowering.capture.nki import instructions
from lowering.capture.nki.enums_new import reduce_cmd, word_of
from lowering.capture.nki.ops import Op, alu
from lowering.capture.nki.signatures import api, older_than
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.tracer import current, here
from lowering.errors import UsageError

IDLE, RESET_REDUCE = reduce_cmd.idle, reduce_cmd.reset_reduce
FP32_MIN = -3.4028234663852886e38
EQUAL, MAXIMUM = Op("equal"), Op("maximum")


@api("nisa.tensor_copy_predicated")
def tensor_copy_predicated(dst: Tile, src: Any, predicate: Tile, reverse_pred: bool = False, name: Any = None) -> None:
    instructions.copy_predicated(dst, src, predicate, reverse_pred)


@api("nisa.select_reduce")
def select_reduce(
    dst: Tile, predicate: Tile, on_true: Tile, on_false: Any, reduce_res: Tile | None = None, reduce_cmd: Any = IDLE,
    reduce_op: Any = MAXIMUM, reverse_pred: bool = False, name: Any = None,
) -> None:  # fmt: skip
    command, op = word_of("reduce_cmd", reduce_cmd, type(IDLE)), _maximum("nisa.select_reduce", reduce_op)
    instructions.select_reduce(dst, predicate, on_true, on_false, reduce_res, command, op, reverse_pred)


def _maximum(what: str, op: Any) -> str:
    if alu(op) != "max":
        raise UsageError(f"{here()}: {what}: reduce_op has to be nl.maximum")
    return "max"


@api("nisa.range_select")
def range_select(
    dst: Tile, on_true_tile: Tile, comp_op0: Any, comp_op1: Any, bound0: Tile, bound1: Tile,
    reduce_cmd: Any = RESET_REDUCE, reduce_res: Tile | None = None, reduce_op: Any = MAXIMUM, range_start: Any = 0,
    on_false_value: Any = FP32_MIN, name: Any = None,
) -> None:  # fmt: skip
    """0.2 looked at neither on_false_value nor reduce_cmd."""
    command = word_of("reduce_cmd", reduce_cmd, type(IDLE))
    if older_than("0.3"):
        if on_false_value != FP32_MIN or reduce_cmd is not RESET_REDUCE:
            current().trace.notes.append(f"{here()}: NKI 0.2 ignores on_false_value and reduce_cmd of range_select")
        on_false_value, command = FP32_MIN, "reset_reduce"
    instructions.range_select(
        dst, on_true_tile, alu(comp_op0), alu(comp_op1), bound0, bound1, command, reduce_res,
        _maximum("nisa.range_select", reduce_op), range_start, on_false_value,
    )  # fmt: skip


@api("nisa.iota")
def iota(dst: Tile, pattern: Any, offset: Any = 0, channel_multiplier: Any = 0, name: Any = None) -> None:
    instructions.iota(dst, pattern, offset, channel_multiplier)


@api(
    "nisa.affine_select",
    order_02=("dst", "pattern", "offset", "channel_multiplier", "on_true_tile", "on_false_value", "cmp_op", "name"),
)
def affine_select(
    dst: Tile, pattern: Any, channel_multiplier: Any, on_true_tile: Tile, on_false_value: Any, cmp_op: Any = EQUAL,
    offset: Any = 0, name: Any = None,
) -> None:  # fmt: skip
    instructions.affine_select(dst, pattern, channel_multiplier, on_true_tile, on_false_value, alu(cmp_op), offset)


@api("nisa.bn_stats")
def bn_stats(dst: Tile, data: Tile, name: Any = None) -> None:
    instructions.bn_stats(dst, data)


@api("nisa.bn_aggr")
def bn_aggr(dst: Tile, data: Tile, name: Any = None) -> None:
    instructions.bn_aggr(dst, data)


@api("nisa.max8")
def max8(dst: Tile, src: Tile, name: Any = None) -> None:
    instructions.max8(dst, src)


@api("nisa.nc_find_index8")
def nc_find_index8(dst: Tile, data: Tile, vals: Tile, name: Any = None) -> None:
    instructions.find_index8(dst, data, vals)


@api("nisa.nc_match_replace8")
def nc_match_replace8(
    dst: Tile, data: Tile, vals: Tile, imm: float, dst_idx: Tile | None = None, name: Any = None
) -> None:
    instructions.match_replace8(dst, data, vals, imm, dst_idx)


@api("nisa.local_gather")
def local_gather(
    dst: Tile, src_buffer: Tile, index: Tile, num_elem_per_idx: int = 1, num_valid_indices: Any = None,
    name: Any = None,
) -> None:  # fmt: skip
    instructions.local_gather(dst, src_buffer, index, num_elem_per_idx, num_valid_indices)


@api("nisa.nc_n_gather")
def nc_n_gather(dst: Tile, data: Tile, indices: Tile, name: Any = None) -> None:
    instructions.n_gather(dst, data, indices)


@api("nisa.nonzero_with_count")
def nonzero_with_count(dst: Tile, src: Tile, index_offset: int = 0, padding_val: int = -1, name: Any = None) -> None:
    instructions.nonzero_with_count(dst, src, index_offset, padding_val)


@api("nisa.sequence_bounds")
def sequence_bounds(dst: Tile, segment_ids: Tile, name: Any = None) -> None:
    instructions.sequence_bounds(dst, segment_ids)


@api("nisa.topk", since="0.6")
def topk(val_dst: Tile, idx_dst: Tile, src: Tile, n: int, name: Any = None) -> None:
    instructions.topk(val_dst, idx_dst, src, n)
