"""Tensors that a call leaves as attributes of a module: a router's auxiliary loss, which a trainer reads afterwards.

Takes modules before and after a call; gives outputs of the trace.  Parameters and buffers are inputs (torch_inputs.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from lowering.capture.recorder import Recorder
from lowering.capture.torch_carried import needed_before
from lowering.capture.torch_tensor import VirtualTensor
from lowering.capture.trace import HostTrace, TensorRef

PREFIX = "self."  # of the names: 'written:self.router.aux_loss'


class Attributes:
    """What was there before the call; a tensor that is there still says nothing."""

    def __init__(self, modules: Sequence[tuple[str, torch.nn.Module]]) -> None:
        self._roots = [module for _, module in modules]
        self._before = {name: id(value) for name, value in self._tensors()}
        self._kept = [value for _, value in self._tensors()]  # an id names a tensor only while it lives

    def _tensors(self) -> Iterator[tuple[str, VirtualTensor]]:
        for root in self._roots:
            for path, module in root.named_modules():
                for name, value in vars(module).items():
                    if isinstance(value, VirtualTensor):
                        yield f"{PREFIX}{path}{'.' if path else ''}{name}", value

    def enter(self, recorder: Recorder) -> None:
        """Outputs for those that the call has set."""
        known = {name for name, _ in recorder.trace.outputs}
        for name, value in self._tensors():
            output = f"written:{name}"
            if self._before.get(name) != id(value) and output not in known:
                ref = recorder.ref(value.inner)
                recorder.trace.outputs.append((output, ref))
                recorder.trace.attributes[name] = _holds_arguments(recorder.trace, ref)


def _holds_arguments(trace: HostTrace, ref: TensorRef) -> bool:
    """Whether a value was computed from the arguments; what follows from weights or shapes alone says nothing new."""
    arguments = {known.storage for name, known in trace.inputs if not name.startswith(("weight:", "cotangent:"))}
    return bool(arguments & needed_before(trace, {ref.storage}, 0))
