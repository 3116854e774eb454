"""The instruction set behind both API generations: checks what an instruction needs, and records it.

Each function takes the destination first and Tiles throughout; ``mask`` is Beta-1's.  Shapes and rules: NKI.md §1.6.
The legality of sizes, engines and dtypes on a target is looked at afterwards, on the trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import PSUM, Operand
from lowering.capture.nki.tracer import current, here, plain
from lowering.errors import UsageError

Scalar = Tile | float | int
Mask = np.ndarray | None


def operand(value: Any) -> Operand:
    """A tile as its view, a number as itself."""
    if isinstance(value, Tile):
        return value.view_of
    if value is None or isinstance(value, bool | int | float | np.generic):
        return value.item() if isinstance(value, np.generic) else value
    raise UsageError(f"{here()}: {type(value).__name__} is no operand of an instruction: a tile or a number is")


def same_elements(what: str, *tiles: Tile) -> None:
    """Partitions and elements per partition have to agree; free dimensions are just an order of elements."""
    first = tiles[0]
    for tile in tiles[1:]:
        if (tile.partitions, tile.free) != (first.partitions, first.free):
            raise UsageError(f"{here()}: {what}: shapes {first.shape} and {tile.shape} hold different elements")


def _lane_or_number(what: str, value: Any, data: Tile) -> Operand:
    """An operand that is a number or one element per partition."""
    if isinstance(value, Tile) and (value.free != 1 or value.partitions not in (1, data.partitions)):
        raise UsageError(f"{here()}: {what} is {value.shape}; it has to be a number or ({data.partitions}, 1)")
    return operand(value)


def copy(dst: Tile, src: Tile, engine: str, mask: Mask = None) -> None:
    """dst = src on one engine."""
    same_elements("tensor_copy", dst, src)
    current().emit("nc_copy", [dst.view_of], [src.view_of], engine, mask)


def dma_copy(dst: Tile, src: Tile, mask: Mask = None, rmw: str | None = None, oob: str = "error") -> None:
    """dst = src by DMA, elements in row-major order of both; ``rmw``: 'add' accumulates into dst."""
    if dst.size != src.size:
        raise UsageError(f"{here()}: dma_copy: dst has shape {dst.shape}, src {src.shape}")
    current().emit("nc_dma_copy", [dst.view_of], [src.view_of], "dma", mask, compute_op=rmw or "none", oob=oob)


def dma_transpose(dst: Tile, src: Tile, axes: Sequence[int], mask: Mask = None) -> None:
    current().emit("dma_transpose", [dst.view_of], [src.view_of], "dma", mask, axes=tuple(axes))


def memset(dst: Tile, value: Any, engine: str = "", mask: Mask = None) -> None:
    current().emit("mem_set", [dst.view_of], [operand(value)], engine or "dve", mask)


def tensor_tensor(dst: Tile, data1: Tile, data2: Tile, op: str, engine: str = "", mask: Mask = None) -> None:
    same_elements("tensor_tensor", data1, data2)
    same_elements("tensor_tensor", dst, data1)
    chosen = engine or ("pool" if op == "pow" or _native_integers(data1, data2, op) else "dve")
    current().emit("tensor_tensor", [dst.view_of], [data1.view_of, data2.view_of], chosen, mask, op=op)


def _native_integers(data1: Tile, data2: Tile, op: str) -> bool:
    """32-bit integers outside of PSUM are added and multiplied on GpSimd, exactly."""
    whole = all(t.dtype in ("int32", "uint32") and t.storage.space != PSUM for t in (data1, data2))
    return whole and op in ("add", "subtract", "mult")


def tensor_scalar(
    dst: Tile, data: Tile, op0: str, operand0: Any, reverse0: bool = False, op1: str | None = None,
    operand1: Any = None, reverse1: bool = False, engine: str = "", mask: Mask = None,
) -> None:  # fmt: skip
    """dst = op1(op0(data, operand0), operand1)."""
    same_elements("tensor_scalar", dst, data)
    scalars = [_lane_or_number(f"operand{i}", value, data) for i, value in enumerate((operand0, operand1))]
    chosen = engine or ("pool" if {op0, op1} & {"pow", "rsqrt"} else "dve")
    attrs = {"op0": op0, "op1": op1, "reverse0": bool(reverse0), "reverse1": bool(reverse1)}
    current().emit("tensor_scalar", [dst.view_of], [data.view_of, *scalars], chosen, mask, **attrs)


def tensor_reduce(dst: Tile, op: str, data: Tile, axes: Sequence[int], negate: bool = False, mask: Mask = None) -> None:
    """Folds the axes of data that are named, which are its last ones."""
    named = sorted(axis % data.ndim for axis in axes)
    if named != list(range(data.ndim - len(named), data.ndim)) or 0 in named:
        raise UsageError(f"{here()}: tensor_reduce: axis {tuple(axes)} of {data.shape}: only trailing free axes fold")
    if dst.size * int(np.prod([data.shape[axis] for axis in named])) != data.size:
        raise UsageError(f"{here()}: tensor_reduce: dst has shape {dst.shape} for data of shape {data.shape}")
    attrs = {"op": op, "axes": tuple(named), "negate": bool(negate)}
    current().emit("tensor_reduce", [dst.view_of], [data.view_of], "dve", mask, **attrs)


def activation(
    dst: Tile, op: str, data: Tile, bias: Any = None, scale: Any = 1.0, reduce_op: str | None = None,
    reduce_res: Tile | None = None, reduce_cmd: str = "idle", mask: Mask = None,
) -> None:  # fmt: skip
    """dst = op(data * scale + bias); the accumulator register takes dst's elements as ``reduce_cmd`` says."""
    same_elements("activation", dst, data)
    scalars = [_lane_or_number("bias", bias, data), _lane_or_number("scale", scale, data)]
    results = [dst.view_of, *([reduce_res.view_of] if reduce_res is not None else [])]
    attrs = {"op": op, "reduce_op": reduce_op, "reduce_cmd": reduce_cmd}
    current().emit("nc_activate", results, [data.view_of, *scalars], "act", mask, **attrs)


def reciprocal(dst: Tile, data: Tile, mask: Mask = None) -> None:
    same_elements("reciprocal", dst, data)
    current().emit("reciprocal", [dst.view_of], [data.view_of], "dve", mask)


def nc_matmul(
    dst: Tile, stationary: Tile, moving: Tile, accumulate: bool | None = None, is_transpose: bool = False,
    perf_mode: str = "none", mask: Mask = None,
) -> None:  # fmt: skip
    """dst[m, n] (+)= sum over k of stationary[k, m] * moving[k, n]; k is the partition."""
    if stationary.partitions != moving.partitions:
        raise UsageError(
            f"{here()}: nc_matmul contracts over partitions: stationary has {stationary.shape}, moving {moving.shape}"
        )
    double = perf_mode != "none"
    rows, columns = (tile.free // (2 if double else 1) for tile in (stationary, moving))
    if (dst.partitions, dst.free) != (rows, columns):
        raise UsageError(f"{here()}: nc_matmul: dst has shape {dst.shape}, the product is ({rows}, {columns})")
    tracer = current()
    flag = tracer.accumulates(plain(dst.view_of), accumulate, mask)
    attrs = {"accumulate": flag, "asked": accumulate, "is_transpose": bool(is_transpose), "perf_mode": perf_mode}
    tracer.emit("nc_mat_mul", [dst.view_of], [stationary.view_of, moving.view_of], "pe", mask, **attrs)


def nc_transpose(dst: Tile, data: Tile, engine: str = "", mask: Mask = None) -> None:
    """dst[f, p] = data[p, f], free axes taken as one."""
    if (dst.partitions, dst.free) != (data.free, data.partitions):
        raise UsageError(f"{here()}: nc_transpose: dst has shape {dst.shape} for data of shape {data.shape}")
    chosen = engine or ("dve" if max(data.partitions, data.free) <= 32 and dst.storage.space != PSUM else "pe")
    current().emit("transpose", [dst.view_of], [data.view_of], chosen, mask)
