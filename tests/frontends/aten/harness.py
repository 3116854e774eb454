"""Runs a torch function through capture, lowering and the evaluator, with the CPU library's numerics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from equivalence.evaluator import Machine
from lowering.capture.torch_arrays import array_of, tensor_of
from lowering.ir.printer import print_program
from lowering.ir.program import Program
from lowering.pipeline import lower_torch

Function = Callable[..., Any]


def lowered(session: Any, fn: Function, inputs: Sequence[torch.Tensor], *, backward: bool = False) -> Program:
    """The program of ``fn``, as if torch's CPU kernels were meant."""
    trace = session.capture(fn, [t.clone() for t in inputs], backward=backward)
    trace.target = "cpu"
    return lower_torch(trace)


def evaluated(program: Program, inputs: Sequence[torch.Tensor]) -> dict[str, torch.Tensor]:
    """The program's outputs under ieee."""
    names = program.input_names
    arrays = dict(zip(names, map(array_of, inputs), strict=False))
    outcome = Machine(program, []).run(arrays)
    results = {}
    for name, lanes in outcome.outputs.items():
        results[name] = tensor_of(np.array(lanes.full(lanes.data)[0], order="C"))
    return results


def flat(result: Any) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    return [t for part in result for t in flat(part)] if isinstance(result, (tuple, list)) else []


__all__ = ["evaluated", "flat", "lowered", "print_program"]
