"""Instructions of the Tensor engine, and the quantization that feeds it."""

from __future__ import annotations

from lowering.capture.nki.operands import Mask, holds, tile
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import Indirect
from lowering.capture.nki.tracer import current, here, plain, unmodelled
from lowering.errors import UsageError

PACKED = ("float8_e4m3fn_x4", "float8_e5m2_x4", "float4_e2m1fn_x4")
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
    nc_mat_mul on elements packed by four, each times 2^(scale - 127), one scale for 8 partitions x 4; the scale of
    group r of partitions is in partition 32 * (r // 4) + r % 4."""
    for what, data, scale in (("stationary", stationary, stationary_scale), ("moving", moving, moving_scale)):
        if tile(f"{what} of nc_matmul_mx", data).dtype_name not in PACKED:
            raise UsageError(f"{here()}: nc_matmul_mx: {what} is {data.dtype_name}, and not {' or '.join(PACKED)}")
        _scales(f"{what}_scale of nc_matmul_mx", scale, data.partitions, data.free)
    if stationary.partitions != moving.partitions:
        raise UsageError(f"{here()}: nc_matmul_mx: stationary has {stationary.shape}, moving {moving.shape}")
    holds("nc_matmul_mx", dst, stationary.free, moving.free)
    tracer = current()
    flag = tracer.accumulates(plain(dst.view_of), accumulate)
    src = [stationary.view_of, moving.view_of, stationary_scale.view_of, moving_scale.view_of]
    tracer.emit("mat_mul_mx", [dst.view_of], src, "pe", None, accumulate=flag, asked=accumulate)


def quantize_mx(dst: Tile, src: Tile, dst_scale: Tile) -> None:
    """``quantize_mx`` dst=[dst, packed by four, dst_scale] src=[src]: dst = src / scale, a power of two for each 8
    partitions x 4, as its exponent + 127; that of group r of partitions is in partition 32 * (r // 4) + r % 4."""
    holds("quantize_mx", dst, tile("src of quantize_mx", src).partitions, src.free // 4)
    if src.free % 4 or dst.dtype_name not in PACKED[:2]:
        said = f"{src.shape} into {dst.dtype_name}: it packs four elements to one of {' or '.join(PACKED[:2])}"
        raise UsageError(f"{here()}: quantize_mx: {said}")
    scale = _scales("dst_scale of quantize_mx", dst_scale, src.partitions, dst.free)
    current().emit("quantize_mx", [dst.view_of, scale.view_of], [src.view_of], "dve")


def _scales(what: str, scale: Tile, partitions: int, free: int) -> Tile:
    """A tile of the scales of ``partitions`` x ``free`` packed elements."""
    if partitions % 8:
        raise UsageError(f"{here()}: {what}: {partitions} partitions are no multiple of 8, which share a scale")
    last = partitions // 8 - 1
    needed = last // 4 * 32 + last % 4 + 1
    if tile(what, scale).free != free or scale.partitions < needed or scale.itemsize != 1:
        said = (
            f"it has to be ({needed} or more, {free}) in bytes, the scale of group r in partition 32 * (r // 4) + r % 4"
        )
        raise UsageError(f"{here()}: {what} is {scale.dtype_name}{scale.shape}; {said}")
    return scale


def _no_groups(*operands: Tile) -> None:
    """The Tensor engine's groups of an indirect free axis are 32 partitions, and not the view's 16."""
    if any(isinstance(one.view_of, Indirect) and one.view_of.kind == "free" for one in operands):
        raise unmodelled("an indirect free axis as an operand of nc_matmul")
