"""Answers a host read of data that a kernel made (``.item()``, a size from nonzero): the trace so far is evaluated.

Takes a HostTrace and the tensor that is read; gives its values, in the ieee arithmetic of the evaluator.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from irverify._capture import array_at
from irverify.values import dtype_named
from lowering.capture.trace import HostTrace, TensorRef

_READ = "read"


def read_back(trace: HostTrace, ref: TensorRef) -> np.ndarray:
    """The tensor's values after every event so far."""
    from equivalence.evaluator import Freedoms, Limits, Machine
    from lowering.pipeline import lower

    program = lower(replace(trace, outputs=[(_READ, ref)], notes=[]))
    inputs = {name: array_at(trace, input_ref) for name, input_ref in trace.inputs}
    lanes = Machine(program, (), Freedoms(), Limits()).run(inputs).outputs[_READ]
    return lanes.full(lanes.data)[0].astype(dtype_named(ref.dtype))
