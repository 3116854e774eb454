"""Instructions that move elements: DMA, transposes, shuffles of partitions, exchanges between cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowering.capture.nki.cores import barrier, exchange
from lowering.capture.nki.operands import Mask, holds, same_elements, tile
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import PSUM
from lowering.capture.nki.tracer import current, here
from lowering.errors import UsageError

#: the axes that dma_transpose takes where none are given, by rank
AXES = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}
_KEEPS = 255  # in a shuffle's mask: the partition stays as it is


def dma_copy(
    dst: Tile, src: Tile, mask: Mask = None, rmw: str | None = None, oob: str = "error", unique: bool = True
) -> None:
    """``nc_dma_copy`` dst=[dst] src=[src] compute_op oob_mode unique_indices: dst = src, elements in row-major order
    of both.

    compute_op 'add' accumulates into dst ('none' otherwise); oob_mode 'skip': places that an index puts out of bounds
    are neither read nor written.  Either view may be an Indirect.
    """
    if tile("dst of dma_copy", dst).size != tile("src of dma_copy", src).size:
        raise UsageError(f"{here()}: dma_copy: dst has shape {dst.shape}, src {src.shape}")
    current().emit("nc_dma_copy", [dst.view_of], [src.view_of], "dma", mask,
                   compute_op=rmw or "none", oob_mode=oob, unique_indices=bool(unique))  # fmt: skip


def dma_compute(
    dst: Tile, srcs: Sequence[Tile], op: str, scales: Sequence[float] | None = None, unique: bool = True,
    oob: str = "error",
) -> None:  # fmt: skip
    """``dma_compute`` dst=[dst] src=[one to sixteen tiles] reduce_op scales unique_indices oob_mode: dst = the srcs,
    each scaled, combined in f32 (in an open order)."""
    if not isinstance(srcs, list | tuple) or not 1 <= len(srcs) <= 16:
        raise UsageError(f"{here()}: dma_compute takes a list of one to sixteen tiles")
    for src in srcs:
        if tile("a source of dma_compute", src).size != tile("dst of dma_compute", dst).size:
            raise UsageError(f"{here()}: dma_compute: dst has shape {dst.shape}, a source {src.shape}")
    if scales is not None and len(scales) != len(srcs):
        raise UsageError(f"{here()}: dma_compute has {len(srcs)} sources and {len(scales)} scales")
    factors = None if scales is None else tuple(float(scale) for scale in scales)
    current().emit("dma_compute", [dst.view_of], [src.view_of for src in srcs], "dma", None,
                   reduce_op=op, scales=factors, unique_indices=bool(unique), oob_mode=oob)  # fmt: skip


def dma_transpose(
    dst: Tile, src: Tile, axes: Sequence[int] | None = None, mask: Mask = None, oob: str = "error"
) -> None:
    """``dma_transpose`` dst=[dst] src=[src] axes oob_mode: dst.shape[i] = src.shape[axes[i]]."""
    rank = tile("src of dma_transpose", src).ndim
    if axes is None and rank not in AXES:
        raise UsageError(f"{here()}: dma_transpose of {src.shape}: it transposes 2, 3 or 4 dimensions")
    order = tuple(int(axis) for axis in (AXES[rank] if axes is None else axes))
    if sorted(order) != list(range(rank)):
        raise UsageError(f"{here()}: dma_transpose: axes {order} of a tile of {rank} dimensions")
    turned = tuple(src.shape[axis] for axis in order)
    if _squeezed(tile("dst of dma_transpose", dst).shape) != _squeezed(turned):
        raise UsageError(f"{here()}: dma_transpose: dst has shape {dst.shape}; src {src.shape} turned is {turned}")
    current().emit("dma_transpose", [dst.view_of], [src.view_of], "dma", mask, axes=order, oob_mode=oob)


def _squeezed(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(extent for extent in shape if extent != 1)


def nc_transpose(dst: Tile, data: Tile, engine: str = "", mask: Mask = None) -> None:
    """``transpose`` dst=[dst] src=[data]: dst[f, p] = data[p, f], free axes taken as one; on 'pe' or 'dve'."""
    holds("nc_transpose", dst, tile("data of nc_transpose", data).free, data.partitions)
    chosen = engine or ("dve" if max(data.partitions, data.free) <= 32 and dst.storage.space != PSUM else "pe")
    if chosen not in ("pe", "dve"):
        raise UsageError(f"{here()}: nc_transpose runs on the Tensor or the Vector engine")
    current().emit("transpose", [dst.view_of], [data.view_of], chosen, mask)


def shuffle(dst: Tile, src: Tile, shuffle_mask: Sequence[int], mask: Mask = None) -> None:
    """``shuffle`` dst=[dst] src=[src] shuffle_mask: in each quadrant of 32 partitions from q, dst[q + i] =
    src[q + shuffle_mask[i]]; 255 leaves dst[q + i] as it is.  src has the partitions that are named."""
    if tile("dst of nc_stream_shuffle", dst).free != tile("src of nc_stream_shuffle", src).free:
        raise UsageError(f"{here()}: nc_stream_shuffle: dst has shape {dst.shape}, src {src.shape}")
    places = tuple(int(place) for place in shuffle_mask)
    if len(places) != 32 or any(not (0 <= place < 32 or place == _KEEPS) for place in places):
        raise UsageError(f"{here()}: nc_stream_shuffle: shuffle_mask is 32 numbers of 0..31 or {_KEEPS}")
    for i in range(dst.partitions):
        wanted = places[i % 32]
        if wanted != _KEEPS and i // 32 * 32 + wanted >= src.partitions:
            raise UsageError(f"{here()}: nc_stream_shuffle: partition {i} takes {wanted} of its quadrant, and src has "
                             f"{src.partitions} partitions")  # fmt: skip
    current().emit("shuffle", [dst.view_of], [src.view_of], "dve", mask, shuffle_mask=places)


def send_recv(src: Tile, dst: Tile, send_to_rank: int, recv_from_rank: int, pipe_id: int) -> None:
    """``send_recv`` dst=[dst] src=[what the other core sends] send_to_rank recv_from_rank pipe_id, for each core."""
    same_elements("sendrecv", tile("dst of sendrecv", dst), tile("src of sendrecv", src))
    attrs = {"send_to_rank": int(send_to_rank), "recv_from_rank": int(recv_from_rank), "pipe_id": int(pipe_id)}
    exchange(dst.view_of, src.view_of, int(send_to_rank), int(recv_from_rank), attrs)


def core_barrier(data: Tile, cores: Any, engine: str = "pool") -> None:
    """``core_barrier`` src=[data] cores: the cores wait for each other; the trace has it for each core, before."""
    named = tuple(int(core) for core in (cores if isinstance(cores, list | tuple) else (cores,)))
    current().emit("core_barrier", [], [tile("data of core_barrier", data).view_of], engine, None, cores=named)
    barrier()
