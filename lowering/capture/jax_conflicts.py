"""Steps of a Pallas grid that meet in memory, where a device differs from the interpreter.

Takes a Grid and its Operands; gives DeviceFindings.  jax docs, pallas/tpu/details, "BlockSpecs and grid iteration" and
"Multicore TPU configurations":

* steps along an axis that runs at once have no order, so a block that they share is a race (``parallel-revisit``);
* a TPU writes an output block back when the next step has another one, and fetches none: who returns to a block finds
  what its window held last, not the block (``revisited-block``);
* an output that is an input's memory overwrites it, while the interpreter keeps the input (``aliased-overlap``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from lowering.capture.jax_grid import ANY, GPU, TPU, Blocks, Grid
from lowering.capture.jax_scalars import Axes
from lowering.capture.jax_steps import Access
from lowering.capture.jax_trace import LOST, ORDER, OVERLAP, RACE, DeviceFinding

_MOST = 16  # reads, and writes, of one operand that are compared with each other


@dataclass(frozen=True, slots=True)
class Operand:
    """A Ref of the kernel with what is done to it; ``blocks`` is None for scratch."""

    name: str
    blocks: Blocks | None
    reads: list[Access]
    writes: list[Access]


# -- steps without an order --------------------------------------------------------------------------------------


def shared(grid: Grid, output: Operand, is_used: bool) -> Iterator[DeviceFinding]:
    """An output block that steps without an order read and write, or write differently.

    On a TPU such steps share no window: a step finds what the last one on its own core left there, and its core writes
    back the whole block.
    """
    if grid.device == TPU:
        held = list(carried(grid, output))
        yield from held
        reads, writes = [], _whole(output) if is_used and not held else []
    else:
        reads, writes = output.reads[:_MOST], output.writes if is_used else []
    axes = grid.at_once if grid.device != ANY else frozenset(grid.program_axes)
    for access in [*reads, *writes[:_MOST]]:
        for other in (writes or output.writes)[:_MOST]:
            axis = _clash(grid, axes, output, access, other)
            if axis is None or (access.writes and axis not in access.axes | other.axes):
                continue
            does = "is written with different values" if access.writes else "is read and written"
            what = f"a block of {output.name} {does} by steps that differ along {_axis(grid, axis)}"
            if grid.device != ANY:
                yield DeviceFinding(RACE, f"{what}, which run at once: they race", access.span)
            else:
                more = "in order on a TPU, and a race on a GPU, which runs them at once"
                yield DeviceFinding(ORDER, f"{what}: {more}", access.span, "note")
            return


def _whole(output: Operand) -> list[Access]:
    """The writes, each of the whole block where the block is copied."""
    blocks = output.blocks
    if blocks is None or not blocks.in_window:
        return output.writes
    start = np.asarray(0)
    window = tuple((start, size) for size, squeezed in zip(blocks.shape, blocks.squeezed, strict=True) if not squeezed)
    return [replace(write, window=window) for write in output.writes]


def _clash(grid: Grid, axes: Axes, operand: Operand, access: Access, other: Access) -> int | None:
    """The axis along which one step may touch what ``other`` writes in another; those that differ in nothing else
    are looked for first."""
    overlap = _overlap(operand.blocks, access, operand.blocks, other)
    if overlap is None or not overlap.any():
        return None
    differs = grid.points[:, None, :] != grid.points[None, :, :]
    for axis in sorted(axes):
        alone = differs[:, :, axis] & (differs.sum(axis=2) == 1)
        if (overlap & alone).any():
            return axis
    return next((axis for axis in sorted(axes) if (overlap & differs[:, :, axis]).any()), None)


def _overlap(blocks: Blocks | None, access: Access, others: Blocks | None, other: Access) -> np.ndarray | None:
    """By two points, whether the two touch a common element; None where that is not known."""
    first, second = _region(blocks, access), _region(others, other)
    if first is None or second is None:
        return None
    meet = access.at[:, None] & other.at[None, :]
    for (low, size), (start, extent) in zip(first, second, strict=True):
        meet = meet & (low[:, None] < start[None, :] + extent) & (start[None, :] < low[:, None] + size)
    return meet


def _region(blocks: Blocks | None, access: Access) -> list[tuple[np.ndarray, int]] | None:
    """Start by point, and extent, per dimension of the array."""
    assert blocks is not None and blocks.starts is not None
    window = iter(access.window)
    region: list[tuple[np.ndarray, int]] = []
    for dim, squeezed in enumerate(blocks.squeezed):
        start, extent = (np.asarray(0), 1) if squeezed else next(window)
        if start is None:
            return None
        region.append((blocks.starts[:, dim] + start, extent))
    return region


def carried(grid: Grid, held: Operand) -> Iterator[DeviceFinding]:
    """Memory that a step reads as another left it, where that step differs along an axis that runs at once."""
    if not grid.at_once or not held.writes:
        return
    written = _written(held)
    numbers = held.blocks.numbers if held.blocks is not None else np.zeros(len(grid.points), int)
    for access in held.reads:
        for step in np.flatnonzero(access.at):
            earlier = np.flatnonzero(written[:step] & (numbers[:step] == numbers[step]))
            differs = grid.points[step] != grid.points[earlier[-1]] if len(earlier) else ()
            axis = next((a for a in sorted(grid.at_once) if len(earlier) and differs[a]), None)
            if axis is not None:
                what = f"{held.name} is read as an earlier step left it, along {_axis(grid, axis)}"
                yield DeviceFinding(RACE, f"{what}, whose steps run at once and share none", access.span)
                return


def _axis(grid: Grid, axis: int) -> str:
    if axis not in grid.program_axes:
        return "a vmapped axis"
    return f"axis {grid.program_axes.index(axis)}"


# -- windows that are written back and fetched ---------------------------------------------------------------------


def _runs(blocks: Blocks) -> tuple[np.ndarray, np.ndarray]:
    """By point, the first and the last of the consecutive steps that have its block."""
    numbers = blocks.numbers
    begins = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1]])
    ends = np.r_[begins[1:] - 1, len(numbers) - 1]
    which = np.searchsorted(begins, np.arange(len(numbers)), side="right") - 1
    return begins[which], ends[which]


def returned(grid: Grid, output: Operand) -> Iterator[DeviceFinding]:
    """An output block that is read after other blocks had its window, before the step or its run wrote it; or of which
    that run writes a part, so that the rest is written back as it was not."""
    found = next(_read_again(grid, output), None) or next(_written_in_part(grid, output), None)
    if found is not None:
        yield found


def _read_again(grid: Grid, output: Operand) -> Iterator[DeviceFinding]:
    blocks = output.blocks
    if blocks is None or not blocks.in_window or not output.writes:
        return
    written = _written(output)
    begins, _ = _runs(blocks)
    for access in output.reads:
        for step in np.flatnonzero(access.at):
            begin = begins[step]
            earlier = written[:begin] & (blocks.numbers[:begin] == blocks.numbers[step])
            if earlier.any() and not written[begin:step].any():
                point, last = (_point(grid, at) for at in (step, np.flatnonzero(earlier)[-1]))
                what = f"step {point} reads the block of {output.name} that step {last} wrote"
                more = "other blocks had its window since, and a TPU does not fetch an output block again"
                yield DeviceFinding(LOST, f"{what}: {more}", access.span, in_program=grid.is_whole)


def _written_in_part(grid: Grid, output: Operand) -> Iterator[DeviceFinding]:
    blocks = output.blocks
    if blocks is None or not blocks.in_window or not output.writes:
        return
    ends = _runs(blocks)[1]
    for begin in np.flatnonzero(not_fetched(output)):
        run = slice(begin, ends[begin] + 1)
        writes = [write for write in output.writes if write.at[run].any()]
        covered = sum(_elements(write, run) for write in writes)
        if writes and covered < prod(blocks.shape):
            what = f"step {_point(grid, begin)} returns to a block of {output.name} and writes a part of it"
            more = "other blocks had its window since, and a TPU does not fetch the rest of an output block again"
            yield DeviceFinding(LOST, f"{what}: {more}", writes[0].span, in_program=grid.is_whole)


def _elements(write: Access, run: slice) -> float:
    """At most how many elements are written in the steps of a run; infinity where the places are not known."""
    starts = [start for start, _ in write.window]
    if any(start is None for start in starts):
        return np.inf
    count = len(write.at)
    places = {tuple(np.broadcast_to(start, count)[run][step] for start in starts)  # type: ignore[arg-type]
              for step in np.flatnonzero(write.at[run])}  # fmt: skip
    return len(places) * prod(extent for _, extent in write.window)


def not_fetched(output: Operand) -> np.ndarray:
    """The steps at which a block that was written before gets a window anew."""
    assert output.blocks is not None
    written, numbers, (begins, _) = _written(output), output.blocks.numbers, _runs(output.blocks)
    at = np.zeros(len(numbers), bool)
    for begin in np.unique(begins):
        at[begin] = (written[:begin] & (numbers[:begin] == numbers[begin])).any()
    return at


def _written(operand: Operand) -> np.ndarray:
    return np.logical_or.reduce([a.at for a in operand.writes], axis=0)


def overwritten(grid: Grid, source: Operand, target: Operand) -> Iterator[DeviceFinding]:
    """An input that is read where an output, which is the same memory, was written by another step."""
    assert source.blocks is not None and target.blocks is not None
    fetched, flushed = _runs(source.blocks)[0], _runs(target.blocks)[1]
    in_order = flushed[None, :] < fetched[:, None]
    if grid.device == GPU or not (source.blocks.in_window and target.blocks.in_window):
        in_order = np.tri(len(grid.points), k=-1, dtype=bool)
    differs = grid.points[:, None, :] != grid.points[None, :, :]
    at_once = differs[:, :, sorted(grid.at_once)].any(axis=2)
    for read in source.reads[:_MOST]:
        for write in target.writes[:_MOST]:
            overlap = _overlap(source.blocks, read, target.blocks, write)
            clash = overlap & (at_once | in_order) if overlap is not None else np.zeros((1, 1), bool)
            if clash.any():
                step, other = (_point(grid, at) for at in np.argwhere(clash)[0])
                what = f"step {step} reads of {source.name} what step {other} writes through {target.name}"
                more = "the two are one memory (input_output_aliases), and the interpreter keeps the input as it was"
                yield DeviceFinding(OVERLAP, f"{what}: {more}", read.span)
                return


def _point(grid: Grid, step: Any) -> str:
    return "(" + ", ".join(str(int(c)) for c in grid.points[int(step)]) + ")"
