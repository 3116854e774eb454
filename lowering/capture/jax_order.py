"""Pallas kernels whose meaning rests on the interpreter's grid order: one step after the other, memory always current.

Takes a traced jaxpr; gives DeviceFindings, by the rules of jax_conflicts.  A call that names no device is judged by
what every device does; what only a GPU makes a race is a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowering.capture.jax_conflicts import Operand, carried, not_fetched, overwritten, returned, shared
from lowering.capture.jax_grid import ANY, GPU, Grid, grid_of
from lowering.capture.jax_scalars import NO_AXES
from lowering.capture.jax_steps import Steps
from lowering.capture.jax_trace import DeviceFinding


@dataclass(frozen=True, slots=True)
class Call:
    """A pallas_call; None for operands touched in ways that are not modelled.  ``aliases``: input to output."""

    grid: Grid
    inputs: list[Operand | None]
    outputs: list[Operand | None]
    scratch: list[Operand | None]
    aliases: dict[int, int]


def device_findings(closed: Any, device: str = ANY) -> list[DeviceFinding]:
    """What a device does otherwise, of every pallas_call in a jaxpr; ``device`` where a call names none."""
    from jax._src.interpreters.partial_eval import dce_jaxpr

    needed, _ = dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars))
    found: dict[DeviceFinding, None] = {}
    for eqn, is_used in _pallas_calls(needed):
        call = _call(device, **eqn.params)
        found.update(dict.fromkeys(_of_call(call, is_used)) if call is not None else {})
    return list(found)


def _pallas_calls(jaxpr: Any) -> Iterator[tuple[Any, list[bool]]]:
    """With each, which of its outputs anything uses."""
    from jax.extend.core import jaxprs_in_params

    used = {atom for atom in [*jaxpr.outvars, *(v for e in jaxpr.eqns for v in e.invars)] if not hasattr(atom, "val")}
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "pallas_call":
            yield eqn, [v in used for v in eqn.outvars]
        else:
            for inner in jaxprs_in_params(eqn.params):
                yield from _pallas_calls(inner)


def lost_steps(**params: Any) -> dict[int, np.ndarray]:
    """By output that has a ``revisited-block``: the steps of a pallas_call that begin with another window than they
    left.  Only for grids small enough to be looked at whole."""
    call = _call(ANY, **params)
    if call is None or not call.grid.is_whole:
        return {}
    outputs = {n: output for n, output in enumerate(call.outputs) if output is not None}
    return {n: not_fetched(output) for n, output in outputs.items() if _lost(call, n, output, is_used=True)}


def _call(device: str, *, jaxpr: Any, grid_mapping: Any, **params: Any) -> Call | None:
    """Meshes, Refs from outside and grids of unknown extent are not judged."""
    if params["mesh"] is not None or jaxpr.constvars:
        return None
    grid = grid_of(grid_mapping, params["compiler_params"], params.get("interpret"), device)
    if grid is None:
        return None
    aliases = {i - grid_mapping.num_index_operands: o for i, o in params["input_output_aliases"]}
    return Call(grid, *_operands(jaxpr, grid_mapping, grid), aliases)


def _of_call(call: Call, is_used: Sequence[bool]) -> Iterator[DeviceFinding]:
    for number, output in enumerate(call.outputs):
        if output is not None:
            yield from _lost(call, number, output, is_used[number]) or shared(call.grid, output, is_used[number])
    for held in call.scratch:
        yield from carried(call.grid, held) if held is not None else ()
    for source, target in call.aliases.items():
        read, written = call.inputs[source], call.outputs[target]
        if read is not None and written is not None:
            yield from overwritten(call.grid, read, written)


def _lost(call: Call, number: int, output: Operand, is_used: bool) -> list[DeviceFinding]:
    """Where windows are copied: not on a GPU, nor where steps race for the block anyway."""
    if call.grid.device == GPU or number in call.aliases.values():
        return []
    racing = any(finding.severity == "error" for finding in shared(call.grid, output, is_used))
    return [] if racing else list(returned(call.grid, output))


def _operands(
    jaxpr: Any, mapping: Any, grid: Grid
) -> tuple[list[Operand | None], list[Operand | None], list[Operand | None]]:
    """Inputs, outputs and scratch."""
    steps = Steps(grid.points, grid.extents, grid.program_axes)
    first, last = mapping.num_index_operands, mapping.num_index_operands + mapping.num_inputs
    contents = dict(enumerate([NO_AXES] * first + [blocks.axes for blocks in grid.inputs]))
    refs = [steps.ref(v.aval, contents.get(i)) for i, v in enumerate(jaxpr.invars)]
    steps.run(jaxpr, refs, np.ones(len(grid.points), bool))
    names = jaxpr.debug_info.safe_arg_names(len(refs)) if jaxpr.debug_info is not None else [""] * len(refs)
    all_blocks = [*[None] * first, *grid.inputs, *grid.outputs]
    operands: list[Operand | None] = []
    for number, name in enumerate(names):
        own = [a for a in steps.accesses if a.ref == number]
        blocks = all_blocks[number] if number < len(all_blocks) else None
        known = number >= len(all_blocks) or (blocks is not None and blocks.starts is not None)
        usable = known and number not in steps.opaque
        reads, writes = [a for a in own if not a.writes], [a for a in own if a.writes]
        operands.append(Operand(name or f"operand {number}", blocks, reads, writes) if usable else None)
    end = last + mapping.num_outputs
    return operands[first:last], operands[last:end], operands[end:]
