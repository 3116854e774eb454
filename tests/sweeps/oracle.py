"""An opinion that shares nothing with irverify: the reference in float64 by PyTorch itself, values and gradients.

Takes a case and its paired programs; gives the outputs of A whose evaluated values are far from the reference's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from equivalence.evaluator import Freedoms, Limits, Machine
from equivalence.verdicts import Witness
from irverify.collect import Variant
from lowering.capture.torch_arrays import tensor_of, unobserved
from lowering.ir.program import Program

#: Relative to the output's largest magnitude.
FAR = {"float32": 1e-4, "bfloat16": 3e-2, "float16": 4e-3}
FAR_TF32 = 3e-3


def disagreements(case: Any, variant: Variant) -> list[str]:
    """Outputs of A that differ from float64 by more than the rounding of their dtype explains at these sizes."""
    run = Machine(variant.program_a, (), Freedoms(), Limits()).run(variant.inputs)
    wanted = reference(case, variant, variant.inputs)
    words = []
    for name, lanes in run.outputs.items():
        if name not in wanted:
            continue
        found = lanes.full(lanes.data)[0]
        distance = relative(found.astype(np.float64), wanted[name])
        if not distance <= tolerance(variant.program_a, np.dtype(found.dtype).name):
            words.append(f"{name} is {distance:.1e} from PyTorch in float64")
    return words


def confirms(case: Any, variant: Variant, witness: Witness) -> list[str]:
    """What float64 says of a witness, where it contradicts a side; nothing where it finds both right."""
    wanted = reference(case, variant, witness.inputs).get(witness.output)
    if wanted is None:
        return []
    exact, scale = float(wanted[witness.index]), float(np.max(np.abs(wanted), initial=0.0)) or 1.0
    limit = tolerance(variant.program_a, "float32") * scale
    wrong = [
        f"{side} gives {value} where float64 gives {exact:.9g}"
        for side, value in (("A", witness.value_a), ("B", witness.value_b))
        if not abs(float(value) - exact) <= limit
    ]
    return [f"{witness.output}{list(witness.index)}: {'; '.join(wrong)}"] if wrong else []


def tolerance(program: Program, dtype: str) -> float:
    tf32 = any("tf32" in str(op.attrs.get("precision", "")) for op in program.walk() if op.name == "dot")
    return max(FAR.get(dtype, 1e-6), FAR_TF32 if tf32 else 0.0)


def relative(found: np.ndarray, exact: np.ndarray) -> float:
    if found.shape != exact.shape:
        return float("inf")
    scale = float(np.max(np.abs(exact), initial=0.0)) or 1.0
    return float(np.max(np.abs(found - exact), initial=0.0)) / scale


@unobserved()
def reference(case: Any, variant: Variant, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The reference's outputs, and gradients under the captured cotangents, by the names of capture."""
    function, names = case.load_reference(), dict(variant.program_a.outputs)
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


def gradients(
    arguments: dict[str, Any], outputs: tuple[Any, ...], given: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    pairs = [(out, given.get(f"cotangent:out{i}")) for i, out in enumerate(outputs)]
    chosen = [(out, tensor_of(np.array(c)).to(out.dtype)) for out, c in pairs if c is not None and out.requires_grad]
    if not chosen:
        return {}
    torch.autograd.backward([out for out, _ in chosen], [c for _, c in chosen])
    leaves = {name: tensor.grad for name, tensor in arguments.items() if tensor.grad is not None}
    return {f"grad:{name}": grad.double().numpy() for name, grad in leaves.items()}


def wide(tensor: torch.Tensor, differentiated: bool) -> torch.Tensor:
    return tensor.double().requires_grad_(differentiated) if tensor.is_floating_point() else tensor
