"""nki.isa of the new API (0.2 to 0.6): destination first (NKI.md Appendix A).

Signatures are those of 0.6; what other releases have differently, ``api`` knows.  instructions.py checks and records.
"""

from __future__ import annotations

from typing import Any

from lowering.capture.nki import instructions, registers
from lowering.capture.nki.enums_new import (
    dge_mode,
    dma_engine,
    engine,
    engine_name,
    gpsimd_engine,
    matmul_perf_mode,
    nc_version,
    oob_mode,
    reduce_cmd,
    scalar_engine,
    sync_engine,
    tensor_engine,
    unknown_engine,
    vector_engine,
    word_of,
)
from lowering.capture.nki.isa_new_search import (
    affine_select,
    bn_aggr,
    bn_stats,
    iota,
    local_gather,
    max8,
    nc_find_index8,
    nc_match_replace8,
    nc_n_gather,
    nonzero_with_count,
    range_select,
    select_reduce,
    sequence_bounds,
    tensor_copy_predicated,
    topk,
)
from lowering.capture.nki.isa_new_vector import (
    activate2,
    activation,
    activation_reduce,
    exponential,
    memset,
    reciprocal,
    scalar_tensor_tensor,
    tensor_copy,
    tensor_partition_reduce,
    tensor_reduce,
    tensor_scalar,
    tensor_scalar_cumulative,
    tensor_scalar_reduce,
    tensor_tensor,
    tensor_tensor_scan,
)
from lowering.capture.nki.loops_new import dynamic_range
from lowering.capture.nki.ops import alu
from lowering.capture.nki.placeholders import NkiInstruction
from lowering.capture.nki.registers import VirtualRegister
from lowering.capture.nki.signatures import api, missing, older_than
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.tracer import active, current, here
from lowering.errors import UsageError

__all__ = [
    "NkiInstruction", "NkiValidationError", "VirtualRegister", "activate2", "activation", "activation_reduce",
    "affine_select", "bn_aggr", "bn_stats", "core_barrier", "dge_mode", "dma_compute", "dma_copy", "dma_engine",
    "dma_transpose", "dropout", "dynamic_range", "engine", "exponential", "get_nc_sub_version", "get_nc_version",
    "gpsimd_engine", "iota", "local_gather", "matmul_perf_mode", "max8", "memset", "nc_find_index8",
    "nc_match_replace8", "nc_matmul", "nc_matmul_mx", "nc_n_gather", "nc_stream_shuffle", "nc_transpose",
    "nc_version", "nonzero_with_count", "oob_mode", "quantize_mx", "rand2", "rand_get_state", "rand_set_state",
    "range_select", "reciprocal", "reduce_cmd", "register_alloc", "register_load", "register_move", "register_store",
    "rng", "scalar_engine", "scalar_tensor_tensor", "select_reduce", "sendrecv", "sequence_bounds", "set_rng_seed",
    "sync_engine", "tensor_copy", "tensor_copy_predicated", "tensor_engine", "tensor_partition_reduce",
    "tensor_reduce", "tensor_scalar", "tensor_scalar_cumulative", "tensor_scalar_reduce", "tensor_tensor",
    "tensor_tensor_scan", "topk", "unknown_engine", "vector_engine",
]  # fmt: skip
UNKNOWN = engine.unknown


class NkiValidationError(Exception):
    """What the official simulator raises; here a usage error is raised instead."""


# -- moves -----------------------------------------------------------------------------------------------------------


@api(
    "nisa.dma_copy",
    added={"priority": "0.4", "engine": "0.3"},
    gone={"dst_rmw_op": ("0.3", "write nisa.dma_compute"), "unique_indices": ("0.3", "write nisa.dma_compute")},
)
def dma_copy(
    dst: Tile, src: Tile, priority: Any = None, oob_mode: Any = oob_mode.error, dge_mode: Any = dge_mode.unknown,
    engine: Any = UNKNOWN, name: Any = None, **old: Any,
) -> None:  # fmt: skip
    if old:
        instructions.dma_copy(dst, src, oob=_oob(oob_mode), **_rmw_of_02(old))
        return
    instructions.dma_copy(dst, src, oob=_oob(oob_mode))
    if dst.shape != src.shape and _squeezed(dst.shape) != _squeezed(src.shape):
        note = f"{here()}: nisa.dma_copy from {src.shape} to {dst.shape}: NKI wants equal shapes"
        if note not in current().trace.notes:
            current().trace.notes.append(note)


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(extent for extent in shape if extent != 1)


def _rmw_of_02(old: dict[str, Any]) -> dict[str, Any]:
    """dst_rmw_op and unique_indices, which 0.2 has; a TypeError, which ``api`` explains, for anything else."""
    if set(old) - {"dst_rmw_op", "unique_indices"} or not older_than("0.3"):
        raise TypeError(f"unexpected keyword {', '.join(old)}")
    op = old.get("dst_rmw_op")
    if op is not None and alu(op) != "add":
        raise UsageError(f"{here()}: nisa.dma_copy: dst_rmw_op has to be nl.add")
    return {"rmw": None if op is None else "add", "unique": old.get("unique_indices", True)}


def _oob(mode: Any) -> str:
    return "error" if mode is oob_mode.error else word_of("oob_mode", mode, oob_mode)


@api(
    "nisa.dma_compute",
    added={"unique_indices": "0.3", "oob_mode": "0.4"},
    order_02=("dst", "srcs", "scales", "reduce_op"),
)
def dma_compute(
    dst: Tile, srcs: list[Tile], reduce_op: Any, scales: Any = None, unique_indices: bool = True,
    oob_mode: Any = oob_mode.error, name: Any = None,
) -> None:  # fmt: skip
    instructions.dma_compute(dst, srcs, alu(reduce_op), scales, unique_indices, _oob(oob_mode))


@api("nisa.dma_transpose", added={"priority": "0.4"})
def dma_transpose(
    dst: Tile, src: Tile, axes: Any = None, priority: Any = None, dge_mode: Any = dge_mode.unknown,
    oob_mode: Any = oob_mode.error, name: Any = None,
) -> None:  # fmt: skip
    instructions.dma_transpose(dst, src, axes, oob=_oob(oob_mode))


@api("nisa.nc_transpose")
def nc_transpose(dst: Tile, data: Tile, engine: Any = UNKNOWN, name: Any = None) -> None:
    instructions.nc_transpose(dst, data, engine_name(engine))


@api("nisa.nc_stream_shuffle")
def nc_stream_shuffle(dst: Tile, src: Tile, shuffle_mask: Any, name: Any = None) -> None:
    instructions.shuffle(dst, src, shuffle_mask)


@api("nisa.sendrecv", added={"dma_engine": "0.3"})
def sendrecv(
    src: Tile, dst: Tile, send_to_rank: Any, recv_from_rank: Any, pipe_id: Any, dma_engine: Any = dma_engine.dma,
    name: Any = None,
) -> None:  # fmt: skip
    instructions.send_recv(src, dst, send_to_rank, recv_from_rank, pipe_id)


@api("nisa.core_barrier")
def core_barrier(data: Tile, cores: Any, engine: Any = engine.gpsimd, name: Any = None) -> None:
    instructions.core_barrier(data, cores, engine_name(engine) or "pool")


# -- the Tensor engine -----------------------------------------------------------------------------------------------


@api("nisa.nc_matmul", added={"accumulate": "0.3"})
def nc_matmul(
    dst: Tile, stationary: Tile, moving: Tile, is_stationary_onezero: bool = False, is_moving_onezero: bool = False,
    is_transpose: bool = False, accumulate: bool | None = None, tile_position: Any = (), tile_size: Any = (),
    perf_mode: Any = matmul_perf_mode.none, name: Any = None,
) -> None:  # fmt: skip
    mode = "none" if perf_mode is None else word_of("perf_mode", perf_mode, matmul_perf_mode)
    instructions.nc_matmul(dst, stationary, moving, accumulate, is_transpose, mode)


@api("nisa.nc_matmul_mx", added={"accumulate": "0.3"})
def nc_matmul_mx(
    dst: Tile, stationary: Tile, moving: Tile, stationary_scale: Tile, moving_scale: Tile, tile_position: Any = None,
    tile_size: Any = None, accumulate: bool | None = None, name: Any = None,
) -> None:  # fmt: skip
    instructions.nc_matmul_mx(dst, stationary, moving, stationary_scale, moving_scale, accumulate)


@api("nisa.quantize_mx")
def quantize_mx(dst: Tile, src: Tile, dst_scale: Tile, name: Any = None) -> None:
    instructions.quantize_mx(dst, src, dst_scale)


# -- random numbers --------------------------------------------------------------------------------------------------


@api("nisa.dropout")
def dropout(dst: Tile, data: Tile, prob: Any, name: Any = None) -> None:
    instructions.dropout(dst, data, prob)


@api("nisa.rng")
def rng(dst: Tile, engine: Any = engine.vector, name: Any = None) -> None:
    instructions.rng(dst, engine_name(engine) or "dve")


@api("nisa.rand2")
def rand2(dst: Tile, min: Any, max: Any, name: Any = None) -> None:
    instructions.rand2(dst, min, max)


@api("nisa.rand_get_state")
def rand_get_state(dst: Tile, engine: Any = engine.gpsimd, name: Any = None) -> None:
    instructions.rand_get_state(dst, engine_name(engine) or "pool")


@api("nisa.rand_set_state")
def rand_set_state(src_seeds: Tile, engine: Any = engine.gpsimd, name: Any = None) -> None:
    instructions.rand_set_state(src_seeds, engine_name(engine) or "pool")


@api("nisa.set_rng_seed")
def set_rng_seed(src_seeds: Tile, name: Any = None) -> None:
    instructions.set_rng_seed(src_seeds)


# -- registers and the target ----------------------------------------------------------------------------------------


@api("nisa.register_alloc")
def register_alloc(x: Any = None) -> VirtualRegister:
    return registers.alloc(x)


@api("nisa.register_move", renamed={"imm": "src"}, gone={"imm": ("0.3", "it is called src now")})
def register_move(dst: VirtualRegister, src: Any) -> None:
    registers.move(dst, src)


@api("nisa.register_load")
def register_load(dst: VirtualRegister, src: Tile) -> None:
    registers.load(dst, src)


@api("nisa.register_store")
def register_store(dst: Tile, src: Any) -> None:
    registers.store(dst, src)


def get_nc_version() -> nc_version:
    if not active():
        raise UsageError(f"{here()}: nisa.get_nc_version() outside of a kernel: the target is known once one runs")
    return nc_version[current().trace.target]


@api("nisa.get_nc_sub_version", since="0.5")
def get_nc_sub_version() -> int:
    return 0


def __getattr__(name: str) -> Any:
    missing("nki.isa", name, _BETA1, _HINTS)


_BETA1 = frozenset(["builtin_custom_op", "fp32", "_tiled_offloaded_memcpy", "_tiled_offloaded_fma"])
_HINTS = {"tensor_copy_dynamic_src": "write nisa.tensor_copy with .ap(scalar_offset=...)",
          "tensor_copy_dynamic_dst": "write nisa.tensor_copy with .ap(scalar_offset=...)"}  # fmt: skip
