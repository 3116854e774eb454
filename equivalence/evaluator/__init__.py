"""The evaluator: runs a KIR program once, under several interpretations side by side.  Gives Machine and its parts."""

from equivalence.evaluator import accumulate_ops, control_ops, memory_ops, structure_ops
from equivalence.evaluator.frame import Limits, Outcome
from equivalence.evaluator.freedoms import Freedoms
from equivalence.evaluator.lanes import Lanes
from equivalence.evaluator.machine import Machine

__all__ = [
    "Freedoms", "Lanes", "Limits", "Machine", "Outcome",
    "accumulate_ops", "control_ops", "memory_ops", "structure_ops",
]  # fmt: skip
