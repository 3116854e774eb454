"""Blocks that a BlockSpec's index_map places outside their array, which jax's interpreter silently shifts inside.

Gives ``guarded_blocks``.  Within it such a block reads as undefined and its writes are dropped; so reads an output
block that the kernel returns to and expects to be fetched again (jax_order).  Blocks that provably lie inside for
every grid point (nearly all) lower exactly as jax lowers them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from math import prod
from typing import Any
from unittest import mock

import numpy as np

from lowering.capture.jax_order import lost_steps

_GUARDED = (
    "a block that an index_map may place outside its array is undefined to read and dropped when written "
    "(jax's interpreter would shift it inside)"
)
#: Grids beyond this many points are guarded without trying to prove anything.
_POINTS = 1 << 20


class Starts(tuple[Any, ...]):
    """Start indices of a block; ``inside`` when they fit at every grid point; ``lost``: whether another block had its
    window since it was written (None: nowhere)."""

    inside = False
    lost: Any = None


@contextmanager
def guarded_blocks(interpreter: Any, core: Any, primitives: Any, notes: list[str]) -> Iterator[list[Any]]:
    """``interpreter``, ``core`` and ``primitives`` are the modules of those names in jax's Pallas package.

    Yields the grids of the kernels being lowered, outermost first.
    """
    grids: list[tuple[Any, ...]] = []
    lost: dict[int, np.ndarray] = {}  # by block mapping of the kernels being lowered: the steps
    with ExitStack() as patches:
        swap = patches.enter_context
        swap(mock.patch.object(interpreter, "pallas_call_hlo_interpret", _tracking(interpreter, grids, lost)))
        swap(mock.patch.object(core.BlockMapping, "compute_start_indices_interpret", _judging(core, grids, lost)))
        swap(mock.patch.object(interpreter, "_dynamic_slice", _reading(interpreter, primitives, notes)))
        swap(mock.patch.object(interpreter, "_dynamic_update_slice", _writing(interpreter)))
        yield grids


def _tracking(interpreter: Any, grids: list[tuple[Any, ...]], lost: dict[int, np.ndarray]) -> Callable[..., Any]:
    original = interpreter.pallas_call_hlo_interpret

    def pallas_call_hlo_interpret(*args: Any, grid_mapping: Any, **params: Any) -> Any:
        grids.append(tuple(grid_mapping.grid))
        outputs = list(grid_mapping.block_mappings_output)
        lost.update((id(outputs[n]), at) for n, at in lost_steps(grid_mapping=grid_mapping, **params).items())
        try:
            return original(*args, grid_mapping=grid_mapping, **params)
        finally:
            grids.pop()
            for output in outputs:
                lost.pop(id(output), None)

    return pallas_call_hlo_interpret


def _judging(core: Any, grids: list[tuple[Any, ...]], lost: dict[int, np.ndarray]) -> Callable[..., Any]:
    original = core.BlockMapping.compute_start_indices_interpret

    def compute_start_indices_interpret(mapping: Any, loop_idx: Any, *args: Any) -> Starts:
        import jax.numpy as jnp

        starts = Starts(original(mapping, loop_idx, *args))
        starts.inside = not args and _fits(core, mapping, grids[-1])
        if id(mapping) in lost:
            starts.lost = jnp.asarray(lost[id(mapping)].reshape(grids[-1]))[tuple(loop_idx)]
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
        if getattr(starts, "lost", None) is not None:
            block = jnp.where(starts.lost, primitives.uninitialized_value(block.shape, block.dtype), block)
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
