"""Instructions of the Tensor engine, and the quantization that feeds it."""

from __future__ import annotations

from lowering.capture.nki.operands import Mask, holds, tile
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import Indirect
from lowering.capture.nki.tracer import current, here, plain, unmodelled
from lowering.errors import UsageError

PERF_MODES = ("none", "double_row")


def nc_matmul(
    dst: Tile, stationary: Tile, moving: Tile, accumulate: bool | None = None, is_transpose: bool = False,
    perf_mode: str = "none", mask: Mask = None,
) -> None:  # fmt: skip
    """``nc_mat_mul`` dst=[dst] src=[stationary, moving] accumulate asked is_transpose perf_mode.

    dst[m, n] (+)= sum over k of stationary[k, m] * moving[k, n]; k is the partition, with perf_mode 'double_row' also
    the first free axis, of extent 2.  accumulate: False overwrites, True adds, a bool array of dst's shape where both
    occur; asked: what the source says (None: overwrite at the first write of a location, add later).
    """
    if tile("stationary of nc_matmul", stationary).partitions != tile("moving of nc_matmul", moving).partitions:
        raise UsageError(
            f"{here()}: nc_matmul contracts over partitions: stationary has {stationary.shape}, moving {moving.shape}"
        )
    _no_groups(stationary, moving)
    if perf_mode not in PERF_MODES:
        raise UsageError(f"{here()}: {perf_mode!r} is no perf_mode; these are: {', '.join(PERF_MODES)}")
    rows, columns = stationary.free, moving.free
    if perf_mode == "double_row":
        for what, operand in (("stationary", stationary), ("moving", moving)):
            if operand.ndim < 3 or operand.shape[1] != 2:
                raise UsageError(f"{here()}: nc_matmul with double_row: {what} is {operand.shape}, and not (K, 2, ...)")
        rows, columns = rows // 2, columns // 2
    holds("nc_matmul", dst, rows, columns)
    tracer = current()
    flag = tracer.accumulates(plain(dst.view_of), accumulate, mask)
    attrs = {"accumulate": flag, "asked": accumulate, "is_transpose": bool(is_transpose), "perf_mode": perf_mode}
    tracer.emit("nc_mat_mul", [dst.view_of], [stationary.view_of, moving.view_of], "pe", mask, **attrs)


def nc_matmul_mx(
    dst: Tile, stationary: Tile, moving: Tile, stationary_scale: Tile, moving_scale: Tile,
    accumulate: bool | None = None,
) -> None:  # fmt: skip
    """``mat_mul_mx`` dst=[dst] src=[stationary, moving, stationary_scale, moving_scale] accumulate asked: as
    nc_mat_mul on elements packed by four, scaled by 2^scale for each 8 partitions x 4."""
    for what, value in (("stationary_scale", stationary_scale), ("moving_scale", moving_scale)):
        tile(f"{what} of nc_matmul_mx", value)
    if tile("stationary of nc_matmul_mx", stationary).partitions != tile("moving of nc_matmul_mx", moving).partitions:
        raise UsageError(f"{here()}: nc_matmul_mx: stationary has {stationary.shape}, moving {moving.shape}")
    holds("nc_matmul_mx", dst, stationary.free, moving.free)
    tracer = current()
    flag = tracer.accumulates(plain(dst.view_of), accumulate)
    src = [stationary.view_of, moving.view_of, stationary_scale.view_of, moving_scale.view_of]
    tracer.emit("mat_mul_mx", [dst.view_of], src, "pe", None, accumulate=flag, asked=accumulate)


def quantize_mx(dst: Tile, src: Tile, dst_scale: Tile) -> None:
    """``quantize_mx`` dst=[dst, packed by four, dst_scale] src=[src]: one scale for each 8 partitions x 4."""
    if tile("src of quantize_mx", src).partitions != tile("dst of quantize_mx", dst).partitions:
        raise UsageError(f"{here()}: quantize_mx: dst has shape {dst.shape}, src {src.shape}")
    scale = tile("dst_scale of quantize_mx", dst_scale)
    current().emit("quantize_mx", [dst.view_of, scale.view_of], [src.view_of], "dve")


def _no_groups(*operands: Tile) -> None:
    """The Tensor engine's groups of an indirect free axis are 32 partitions, and not the view's 16."""
    if any(isinstance(one.view_of, Indirect) and one.view_of.kind == "free" for one in operands):
        raise unmodelled("an indirect free axis as an operand of nc_matmul")
