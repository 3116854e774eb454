"""Blocks that a BlockSpec's index_map places outside their array, which jax's interpreter silently shifts inside.

Gives ``guarded_blocks``.  Within it such a block reads as undefined and its writes are dropped.  Blocks that provably
lie inside for every grid point (nearly all) lower exactly as jax lowers them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from math import prod
from typing import Any
from unittest import mock

import numpy as np

_GUARDED = (
    "a block that an index_map may place outside its array is undefined to read and dropped when written "
    "(jax's interpreter would shift it inside)"
)
#: Grids beyond this many points are guarded without trying to prove anything.
_POINTS = 1 << 20


class Starts(tuple[Any, ...]):
    """Start indices of a block; ``inside`` when they fit at every grid point."""

    inside = False


@contextmanager
def guarded_blocks(interpreter: Any, core: Any, primitives: Any, notes: list[str]) -> Iterator[list[Any]]:
    """``interpreter``, ``core`` and ``primitives`` are the modules of those names in jax's Pallas package.

    Yields the grids of the kernels being lowered, outermost first.
    """
    grids: list[tuple[Any, ...]] = []
    with ExitStack() as patches:
        swap = patches.enter_context
        swap(mock.patch.object(interpreter, "pallas_call_hlo_interpret", _tracking(interpreter, grids)))
        swap(mock.patch.object(core.BlockMapping, "compute_start_indices_interpret", _judging(core, grids)))
        swap(mock.patch.object(interpreter, "_dynamic_slice", _reading(interpreter, primitives, notes)))
        swap(mock.patch.object(interpreter, "_dynamic_update_slice", _writing(interpreter)))
        yield grids


def _tracking(interpreter: Any, grids: list[tuple[Any, ...]]) -> Callable[..., Any]:
    original = interpreter.pallas_call_hlo_interpret

    def pallas_call_hlo_interpret(*args: Any, grid_mapping: Any, **params: Any) -> Any:
        grids.append(tuple(grid_mapping.grid))
        try:
            return original(*args, grid_mapping=grid_mapping, **params)
        finally:
            grids.pop()

    return pallas_call_hlo_interpret


def _judging(core: Any, grids: list[tuple[Any, ...]]) -> Callable[..., Any]:
    original = core.BlockMapping.compute_start_indices_interpret

    def compute_start_indices_interpret(mapping: Any, loop_idx: Any, *args: Any) -> Starts:
        starts = Starts(original(mapping, loop_idx, *args))
        starts.inside = not args and _fits(core, mapping, grids[-1])
        return starts

    return compute_start_indices_interpret


def _fits(core: Any, mapping: Any, grid: tuple[Any, ...]) -> bool:
    """Whether the block lies in the padded array at every point of a static grid."""
    if not all(isinstance(n, int) for n in grid) or prod(grid) > _POINTS:
        return False
    sizes = [core._get_block_dim_size(b) for b in mapping.block_shape]
    unit = [1 if isinstance(b, core.Element | core.Squeezed) else n for b, n in zip(mapping.block_shape, sizes)]
    places = _places(mapping.index_map_jaxpr, grid)
    return all(
        bool(np.all(index >= 0)) and bool(np.all(index * step + size <= _padded(extent, size, dim)))
        for index, step, size, extent, dim in zip(
            places, unit, sizes, mapping.array_aval.shape, mapping.block_shape, strict=True
        )
    )


def _padded(extent: int, size: int, dim: Any) -> int:
    """The extent as the interpreter pads it: what the BlockSpec asks for, then up to a multiple of the block."""
    asked = extent + sum(getattr(dim, "padding", (0, 0)))
    return -(-asked // size) * size


def _places(index_map: Any, grid: tuple[int, ...]) -> list[np.ndarray]:
    """What the index map returns, over all grid points."""
    points = [axis.reshape(-1) for axis in np.indices(grid, dtype=np.int32)]
    inputs, outputs = index_map.jaxpr.invars, index_map.jaxpr.outvars
    if not index_map.jaxpr.eqns:
        found = dict(zip(inputs, points, strict=False))
        return [found[v] if not hasattr(v, "val") else np.asarray(v.val) for v in outputs]
    return _evaluated(index_map, points)


def _evaluated(index_map: Any, points: Sequence[np.ndarray]) -> list[np.ndarray]:
    import jax
    from jax.extend.core import jaxpr_as_fun

    with jax.ensure_compile_time_eval():
        return [np.asarray(v) for v in jax.vmap(jaxpr_as_fun(index_map))(*points)]


def _inside(starts: Sequence[Any], shape: Sequence[int], extents: Sequence[int]) -> Any:
    import jax.numpy as jnp

    fits = jnp.bool_(True)
    for start, size, extent in zip(starts, shape, extents, strict=True):
        fits &= (start >= 0) & (start <= extent - size)
    return fits


def _reading(interpreter: Any, primitives: Any, notes: list[str]) -> Callable[..., Any]:
    original = interpreter._dynamic_slice

    def read(starts: Any, block_shape: Any, value: Any, is_squeeze: Any) -> Any:
        import jax.numpy as jnp

        block = original(starts, block_shape, value, is_squeeze)
        if getattr(starts, "inside", False):
            return block
        if _GUARDED not in notes:
            notes.append(_GUARDED)
        nothing = primitives.uninitialized_value(block.shape, block.dtype)
        return jnp.where(_inside(starts, block_shape, value.shape), block, nothing)

    return read


def _writing(interpreter: Any) -> Callable[..., Any]:
    original = interpreter._dynamic_update_slice

    def write(starts: Any, block_shape: Any, value: Any, update: Any, is_squeeze: Any) -> Any:
        import jax.numpy as jnp

        written = original(starts, block_shape, value, update, is_squeeze)
        if getattr(starts, "inside", False):
            return written
        return jnp.where(_inside(starts, block_shape, value.shape), written, value)

    return write
