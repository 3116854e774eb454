"""The grid of a pallas_call as a device runs it: which axes run at once, which block each step has, in which order.

Takes jax's grid mapping and compiler parameters; gives a Grid.  Must not know the kernel's body.

TPU: axes are sequential unless ``dimension_semantics`` calls one parallel (jax docs, pallas/tpu/details, "Multicore TPU
configurations"), vmapped ones are parallel (mosaic/lowering.py).  GPU: all program instances run at once (Triton), or
all but the axes that Mosaic GPU is told are sequential (mosaic_gpu/lowering.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from lowering.capture.jax_scalars import NO_AXES, Axes, Known
from lowering.capture.jax_steps import Steps

TPU, GPU, ANY = "TPU", "GPU", "unsaid"
#: Points that are looked at; of a larger grid the first values of each axis and its last.
POINTS = 1024


@dataclass(frozen=True)
class Blocks:
    """Which block of an array each step has.  ``starts``: in elements, by point and dimension; None where not known."""

    starts: np.ndarray | None
    axes: Axes
    squeezed: tuple[bool, ...]
    shape: tuple[int, ...]
    in_window: bool  # copied to and from fast memory by the pipeline, rather than addressed where it lies

    @cached_property
    def numbers(self) -> np.ndarray:
        """The same number for the same block."""
        assert self.starts is not None
        return np.unique(self.starts, axis=0, return_inverse=True)[1].reshape(-1)


@dataclass(frozen=True, slots=True)
class Grid:
    """``points``: coordinates, in the order of a sequential run.  ``at_once``: axes whose steps have no order."""

    extents: tuple[int, ...]
    points: np.ndarray
    device: str
    at_once: Axes
    program_axes: tuple[int, ...]
    inputs: list[Blocks]
    outputs: list[Blocks]

    @property
    def is_whole(self) -> bool:
        """Whether every point is looked at."""
        return len(self.points) == prod(self.extents)


def grid_of(mapping: Any, compiler_params: Any, interpret: Any, device: str) -> Grid | None:
    """The grid; None where its extents are not known, or where nothing is ever run twice."""
    extents = tuple(mapping.grid)
    if not all(isinstance(n, int) for n in extents) or prod(extents) < 2:
        return None
    points = _points(extents)
    kind = _kind(mapping, compiler_params, interpret) or device
    program_axes = tuple(a for a in range(len(extents)) if a not in mapping.vmapped_dims)
    at_once = _at_once(kind, compiler_params, program_axes) | (
        frozenset(mapping.vmapped_dims) if kind != ANY else NO_AXES
    )
    blocks = [_blocks(block, points, extents) for block in mapping.block_mappings]
    inputs = mapping.num_inputs
    return Grid(
        extents,
        points,
        kind,
        frozenset(a for a in at_once if extents[a] > 1),
        program_axes,
        blocks[:inputs],
        blocks[inputs:],
    )


def _points(extents: Sequence[int]) -> np.ndarray:
    """All points of a small grid, else those at the beginning and the end of every axis; in row-major order."""
    most = max(extents)
    while prod(min(n, most) for n in extents) > POINTS and most > 2:
        most = max(2, most * 3 // 4)
    chosen = [np.arange(n) if n <= most else np.r_[: most - 1, n - 1] for n in extents]
    return np.stack(np.meshgrid(*chosen, indexing="ij"), axis=-1).reshape(-1, len(extents))


def _kind(mapping: Any, compiler_params: Any, interpret: Any) -> str:
    """The device that the call itself is written for, by the modules whose things it uses; '' where it says nothing."""
    spaces = [getattr(aval, "memory_space", None) for aval in mapping.scratch_avals]
    spaces += [block.transformed_block_aval.memory_space for block in mapping.block_mappings]
    used = {type(thing).__module__ for thing in (compiler_params, interpret, *spaces, *mapping.scratch_avals)}
    if any("pallas.mosaic_gpu" in module or "pallas.triton" in module for module in used):
        return GPU
    is_tpu = mapping.num_index_operands or any("pallas.mosaic" in module for module in used)
    return TPU if is_tpu else ""


def _at_once(kind: str, compiler_params: Any, program_axes: Sequence[int]) -> Axes:
    semantics = getattr(compiler_params, "dimension_semantics", None)
    if semantics is None:
        return frozenset(program_axes) if kind == GPU else NO_AXES
    words = [str(getattr(word, "value", word)) for word in semantics]
    return frozenset(axis for axis, word in zip(program_axes, words) if word.endswith("parallel"))


def _blocks(block: Any, points: np.ndarray, extents: Sequence[int]) -> Blocks:
    steps = Steps(points, extents, range(len(extents)))
    coordinates = [Known(points[:, axis], frozenset({axis})) for axis in range(len(extents))]
    prefetched = [steps.ref(v.aval, NO_AXES) for v in block.index_map_jaxpr.jaxpr.invars[len(extents) :]]
    everywhere = np.ones(len(points), bool)
    found = steps.run(block.index_map_jaxpr.jaxpr, [*coordinates, *prefetched], everywhere)
    names = [type(dim).__name__ for dim in block.block_shape]
    sizes = [int(getattr(dim, "block_size", 1)) for dim in block.block_shape]
    starts = None
    if all(index.data is not None for index in found) and not set(names) - {"Blocked", "Squeezed", "Element"}:
        unit = [size if name == "Blocked" else 1 for name, size in zip(names, sizes)]
        columns = [np.broadcast_to(i.data * step, len(points)) for i, step in zip(found, unit, strict=True)]
        starts = np.stack(columns, axis=-1) if columns else np.zeros((len(points), 0), int)
    space = str(getattr(block.transformed_block_aval.memory_space, "value", ""))
    return Blocks(
        starts,
        NO_AXES.union(*(index.axes for index in found)),
        tuple(name == "Squeezed" for name in names),
        tuple(sizes),
        space not in ("any", "hbm"),
    )
