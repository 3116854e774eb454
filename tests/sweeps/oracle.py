"""An opinion that shares nothing with irverify: the reference in float64 by PyTorch itself, values and gradients.

Takes a case and its paired programs; gives the outputs of A whose evaluated values are far from the reference's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from equivalence.evaluator import Freedoms, Limits, Machine
from irverify.collect import Variant
from lowering.capture.torch_arrays import tensor_of, unobserved

FAR = {"float32": 1e-4, "bfloat16": 3e-2, "float16": 4e-3}  # relative to the output's largest magnitude


def disagreements(case: Any, variant: Variant) -> list[str]:
    """Outputs of A that differ from float64 by more than f32 (or bf16) rounding explains at these sizes."""
    run = Machine(variant.program_a, (), Freedoms(), Limits()).run(variant.inputs)
    with unobserved():
        wanted = reference(case, variant)
    words = []
    for name, lanes in run.outputs.items():
        if name not in wanted:
            continue
        found, exact = lanes.full(lanes.data)[0], wanted[name]
        distance = relative(found.astype(np.float64), exact)
        if not distance <= FAR.get(np.dtype(found.dtype).name, 1e-6):
            words.append(f"{name} is {distance:.1e} from PyTorch in float64")
    return words


def relative(found: np.ndarray, exact: np.ndarray) -> float:
    if found.shape != exact.shape:
        return float("inf")
    scale = float(np.max(np.abs(exact), initial=0.0)) or 1.0
    return float(np.max(np.abs(found - exact), initial=0.0)) / scale


def reference(case: Any, variant: Variant) -> dict[str, np.ndarray]:
    """The reference's outputs, and gradients under the captured cotangents, by the names of capture."""
    function, given, names = case.load_reference(), variant.inputs, dict(variant.program_a.outputs)
    arguments = {name: tensor_of(np.array(given[name])) for name in case.inputs()}
    arguments = {name: wide(tensor, f"grad:{name}" in names) for name, tensor in arguments.items()}
    if hasattr(function, "forward"):
        function = function.double()
        for name, weight in function.named_parameters():
            weight.data.copy_(tensor_of(np.array(given[f"weight:{name}"])).double())
        outputs = function(*arguments.values())
    else:
        outputs = function(**arguments)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    found = {f"out{i}": out.detach().double().numpy() for i, out in enumerate(outputs)}
    return found | gradients(arguments, outputs, given)


def gradients(arguments: dict[str, Any], outputs: tuple[Any, ...], given: Any) -> dict[str, np.ndarray]:
    pairs = [(out, given.get(f"cotangent:out{i}")) for i, out in enumerate(outputs)]
    chosen = [(out, tensor_of(np.array(c)).to(out.dtype)) for out, c in pairs if c is not None]
    if not chosen:
        return {}
    torch.autograd.backward([out for out, _ in chosen], [c for _, c in chosen])
    leaves = {name: tensor.grad for name, tensor in arguments.items() if tensor.grad is not None}
    return {f"grad:{name}": grad.double().numpy() for name, grad in leaves.items()}


def wide(tensor: torch.Tensor, differentiated: bool) -> torch.Tensor:
    return tensor.double().requires_grad_(differentiated) if tensor.is_floating_point() else tensor
