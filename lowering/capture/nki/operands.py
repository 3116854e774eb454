"""What instructions take: tiles as views, numbers, one element per partition; the rules of shape that they share.

Takes Tiles of either generation; gives what an Instr records.  Knows no instruction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowering.capture.nki.tile import Tile
from lowering.capture.nki.trace import Operand, View
from lowering.capture.nki.tracer import here
from lowering.errors import UsageError

Scalar = Tile | float | int
Mask = np.ndarray | None
REDUCE_CMDS = ("idle", "reset", "reduce", "reset_reduce", "load_reduce")
_NUMBERS = (bool, int, float, np.generic, type(None))


def operand(value: Any) -> Operand:
    """A tile as its view, a number as itself."""
    if isinstance(value, Tile):
        return value.view_of
    if isinstance(value, _NUMBERS):
        return value.item() if isinstance(value, np.generic) else value
    number = getattr(value, "number", None)  # a register that holds a number
    if isinstance(number, int):
        return number
    raise UsageError(f"{here()}: {type(value).__name__} is no operand of an instruction: a tile or a number is")


def tile(what: str, value: Any) -> Tile:
    """``value``, which has to be a tile; ``what`` names the instruction and its argument."""
    if not isinstance(value, Tile):
        raise UsageError(f"{here()}: {what} is {_described(value)}; it has to be a tile")
    return value


def _described(value: Any) -> str:
    return repr(value) if isinstance(value, bool | int | float | str) else f"a {type(value).__name__}"


def same_elements(what: str, *tiles: Tile) -> None:
    """Partitions and elements per partition have to agree; free dimensions are just an order of elements."""
    first = tiles[0]
    if not isinstance(first, Tile):
        raise UsageError(f"{here()}: an argument of {what} is {_described(first)}; it has to be a tile")
    for other in tiles[1:]:
        if not isinstance(other, Tile):
            raise UsageError(f"{here()}: an argument of {what} is {_described(other)}; it has to be a tile")
        if other.shape != first.shape and (other.partitions, other.free) != (first.partitions, first.free):
            raise UsageError(f"{here()}: {what}: shapes {first.shape} and {other.shape} hold different elements")


def lane_or_number(what: str, value: Any, data: Tile) -> Operand:
    """An operand that is a number or one element per partition."""
    if isinstance(value, Tile):
        if value.free != 1 or value.partitions != data.partitions:  # one partition is not spread over the others
            raise UsageError(f"{here()}: {what} is {value.shape}; it has to be a number or ({data.partitions}, 1)")
        return value.view_of
    return operand(value)


def reduced(what: str, dst: Tile, reduce_res: Any, reduce_cmd: str) -> list[View]:
    """The destinations of an instruction with an accumulator: dst, and the tile that gets the accumulator, if any."""
    if reduce_cmd not in REDUCE_CMDS:
        raise UsageError(f"{here()}: {what}: {reduce_cmd!r} is no reduce_cmd; these are: {', '.join(REDUCE_CMDS)}")
    if reduce_res is None:
        return [dst.view_of]
    result = tile(f"reduce_res of {what}", reduce_res)
    if (result.partitions, result.free) != (dst.partitions, 1):
        raise UsageError(f"{here()}: {what}: reduce_res is {result.shape}; it has to be ({dst.partitions}, 1)")
    return [dst.view_of, result.view_of]


def folded_axes(what: str, data: Tile, axes: Sequence[int]) -> tuple[int, ...]:
    """The axes of a fold over the free dimensions, ascending; only trailing ones fold."""
    if any(not -data.ndim <= axis < data.ndim for axis in axes):
        raise UsageError(f"{here()}: {what}: axis {tuple(axes)} of a tile of shape {data.shape}")
    named = sorted({axis % data.ndim for axis in axes})
    if not named or named != list(range(data.ndim - len(named), data.ndim)) or 0 in named:
        raise UsageError(f"{here()}: {what}: axis {tuple(axes)} of {data.shape}: only trailing free axes fold")
    return tuple(named)


def holds(what: str, dst: Tile, partitions: int, free: int) -> None:
    """dst has to be a tile of so many partitions and elements per partition."""
    if (tile(f"dst of {what}", dst).partitions, dst.free) != (partitions, free):
        raise UsageError(f"{here()}: {what}: dst has shape {dst.shape}; it has to hold ({partitions}, {free})")
