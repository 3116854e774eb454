"""Makes Pallas kernels lower through jax's interpreter, with memory that nobody wrote marked as undefined.

The interpreter fills padding, scratch and unwritten outputs with NaN or minint, which on hardware are whatever was
there (jax PR 22370).  While ``instrumented_pallas`` is active they come as the composite 'irverify.undefined'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from lowering.capture.jax_blocks import guarded_blocks
from lowering.capture.jax_refs import guarded_refs
from lowering.capture.jax_trace import UNCOVERED, UNDEFINED
from lowering.errors import UsageError

_FORCED = "pallas_call is lowered through jax's interpreter (interpret=True), not for the accelerator"
_MASKED = "a masked-off lane of a Pallas load without `other` is undefined"


@contextmanager
def instrumented_pallas(notes: list[str]) -> Iterator[None]:
    """Within it, lowering a pallas_call gives StableHLO for any backend's kernel; ``notes`` gets what was assumed."""
    try:
        from jax._src.interpreters import mlir
        from jax._src.pallas import core, hlo_interpreter, pallas_call, primitives
        from jax._src.state import discharge
    except ImportError as error:
        raise UsageError(
            f"this version of jax has another Pallas interpreter ({error}); use jax>=0.10,<0.11"
        ) from error
    with ExitStack() as patches:
        swap = patches.enter_context
        swap(mock.patch.object(primitives, "uninitialized_value", _marking(primitives.uninitialized_value)))
        kernels = swap(guarded_blocks(hlo_interpreter, core, primitives, notes))
        swap(guarded_refs(discharge, primitives, kernels))
        # the TPU interpreter's effects would thread tokens through the module
        swap(mock.patch.object(core, "get_interpret_effects", lambda _interpret: ()))
        rules = discharge._discharge_rules  # pyright: ignore[reportPrivateUsage]
        swap(mock.patch.dict(rules, {primitives.load_p: _masked_load(rules[primitives.load_p], primitives, notes)}))
        lowerings = mlir._lowerings  # pyright: ignore[reportPrivateUsage]
        rule = lowerings[pallas_call.pallas_call_p]
        swap(mock.patch.dict(lowerings, {pallas_call.pallas_call_p: _interpreting(rule, notes)}))
        yield


def _marking(original: Callable[..., Any]) -> Callable[..., Any]:
    """jax's filler, inside a composite that keeps its value for eager use."""

    def uninitialized_value(shape: tuple[int, ...], dtype: Any) -> Any:
        import jax

        return jax.lax.composite(lambda: original(shape, dtype), name=UNDEFINED)()

    return uninitialized_value


def _masked_load(rule: Callable[..., Any], primitives: Any, notes: list[str]) -> Callable[..., Any]:
    def load(in_avals: Any, out_avals: Any, *args: Any, args_tree: Any, **params: Any) -> Any:
        import jax.numpy as jnp

        new, out = rule(in_avals, out_avals, *args, args_tree=args_tree, **params)
        _, _, mask, other = args_tree.unflatten(args)
        if mask is not None and other is None:
            _note(notes, _MASKED)
            out = jnp.where(mask, out, primitives.uninitialized_value(out.shape, out.dtype))
        return new, out

    return load


def _interpreting(rule: Any, notes: list[str]) -> Any:
    """The lowering rule with interpret=True whatever the call says."""
    import dataclasses

    def lower(context: Any, *nodes: Any, interpret: Any, **params: Any) -> Any:
        if interpret is not True:
            _note(notes, _FORCED)
        for operand in uncovered(params.get("grid_mapping")):
            _note(notes, f"{UNCOVERED} operand {operand} untouched")
        return inner(context, *nodes, interpret=True, **params)

    inner = rule if callable(rule) else rule.rule
    return lower if callable(rule) else dataclasses.replace(rule, rule=lower)


def uncovered(mapping: Any) -> list[int]:
    """Operands whose last block, at the last grid point, ends before the array does (as n // block leaves a tail)."""
    grid = getattr(mapping, "grid", ())
    if not grid or not all(isinstance(extent, int) for extent in grid):
        return []
    if 0 in grid:
        return list(range(len(mapping.block_mappings)))
    return [i for i, block in enumerate(mapping.block_mappings) if _ends_early(block, [n - 1 for n in grid])]


def _ends_early(block: Any, last: list[int]) -> bool:
    from jax.core import eval_jaxpr

    try:
        closed = block.index_map_jaxpr
        start = [int(i) for i in eval_jaxpr(closed.jaxpr, closed.consts, *last)]
        extents = [int(getattr(size, "block_size", size)) for size in block.block_shape]
        shape = block.array_aval.shape
    except (AttributeError, TypeError, ValueError):
        return False  # an index map that needs more than the grid point, or another version's names: not judged
    return any((i + 1) * size < extent for i, size, extent in zip(start, extents, shape, strict=False))


def _note(notes: list[str], text: str) -> None:
    if text not in notes:
        notes.append(text)
