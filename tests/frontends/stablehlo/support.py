"""Lowers real jax functions for the tests, prints programs without spans, and runs them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from lowering.capture.jax_host import capture_jax
from lowering.errors import UNKNOWN_SPAN
from lowering.frontends.stablehlo import lower_module
from lowering.ir.printer import print_program
from lowering.ir.program import Program


def lower(fn: Callable[..., Any], *args: Any, backward: bool = False) -> Program:
    """The program of ``fn`` at these arguments."""
    trace = capture_jax(fn, list(args), backward=backward)
    return lower_module(
        trace.stablehlo,
        input_names=[spec.name for spec in trace.inputs],
        output_names=[spec.name for spec in trace.outputs],
        input_dtypes=[spec.dtype for spec in trace.inputs],
        key=trace.key,
        notes=trace.notes,
    )


def text(program: Program) -> str:
    """The ops as text: no spans, values numbered in order, two-space indentation, no header."""
    program.notes, names = [], iter(range(10_000))
    blocks = [program.body]
    for op in program.body.walk():
        op.span = UNKNOWN_SPAN
        blocks += op.regions
    for value in [v for block in blocks for v in block.args] + [v for op in program.walk() for v in op.results]:
        value.name = str(next(names))
    return "\n".join(line[2:] for line in print_program(program).splitlines()[1:-1])


def evaluate(program: Program, *args: np.ndarray) -> list[np.ndarray]:
    """The outputs in floating point: the evaluator without any symbolic interpretation."""
    for name in ("accumulate_ops", "control_ops", "structure_ops", "memory_ops"):
        importlib.import_module(f"equivalence.evaluator.{name}")
    machine = importlib.import_module("equivalence.evaluator.machine").Machine(program, [])
    outcome = machine.run(dict(zip(program.input_names, args, strict=True)))
    return [np.broadcast_to(v.data, (1, *v.shape))[0] for v in outcome.outputs.values()]


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def integers(*shape: int, high: int = 3) -> np.ndarray:
    return np.random.default_rng(1).integers(0, high, shape).astype(np.int32)


def assert_same(got: np.ndarray, want: np.ndarray, ulps: float = 64) -> None:
    """Integers equal; floats within ``ulps`` units of their format at the scale of 1 or more."""
    import jax.numpy as jnp

    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if not jnp.issubdtype(want.dtype, jnp.floating):
        np.testing.assert_array_equal(got, want)
        return
    tolerance = ulps * float(jnp.finfo(want.dtype).eps)
    np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=tolerance, atol=tolerance)


def undefined_lanes(program: Program, *args: np.ndarray) -> int:
    """How many lanes of the first output are undefined."""
    evaluate(program, *args)  # imports the evaluator's handlers
    depends = importlib.import_module("equivalence.interpretations.depends").Depends()
    machine = importlib.import_module("equivalence.evaluator.machine").Machine(program, [depends])
    outcome = machine.run(dict(zip(program.input_names, args, strict=True)))
    first = next(iter(outcome.outputs.values()))
    return int(np.count_nonzero(np.broadcast_to(first.planes["poison"], (1, *first.shape))))
