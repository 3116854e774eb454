"""Tables that the captured call makes of no input on the CPU (rope's angles, ALiBi's slopes): how, beside their bytes.

Takes the plain ops of one capture; enters those behind a table into the trace when the table is first used, so that
the formula is lowered and not its rounded values.  A formula that no longer gives the table's bytes is forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_iter

from lowering.capture import aten_policy as policy
from lowering.capture.aten_events import as_data, functional_form, references_in
from lowering.capture.recorder import Recorder
from lowering.capture.torch_arrays import unobserved
from lowering.capture.trace import AtenCall
from lowering.errors import Span

_LARGEST, _MOST = 1 << 20, 1 << 24  # elements of a table, and of all that are kept


@dataclass(frozen=True, slots=True)
class _Made:
    """How one storage came to its contents."""

    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: torch.Tensor  # kept alive: its address names the storage
    span: Span

    def still_true(self) -> bool:
        with unobserved():
            return torch.equal(self.func(*self.args, **self.kwargs), self.result)


class HostTables:
    """Of one recorder."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._made: dict[int, _Made] = {}
        self._kept = 0

    def remember(self, func: Any, args: Any, kwargs: Any, result: Any, span: Span) -> None:
        """An op on plain tensors; one that writes to a tensor ends what is known of it."""
        if func._schema.is_mutable:
            for leaf in tree_iter((args, kwargs)):
                if isinstance(leaf, torch.Tensor):
                    self._made.pop(leaf.untyped_storage()._cdata, None)
            return
        if policy.packet_name(func) in policy.TABLE_OPS and _whole(result) and self._kept + result.numel() <= _MOST:
            self._kept += result.numel()
            self._made[result.untyped_storage()._cdata] = _Made(func, args, kwargs, result, span)

    def enter(self, tensor: torch.Tensor) -> None:
        """The ops behind a tensor of floats that the trace does not know yet."""
        if tensor.is_floating_point():
            self._enter(tensor)

    def _enter(self, tensor: torch.Tensor) -> None:
        made = self._made.get(tensor.untyped_storage()._cdata)
        if made is None or self.recorder.knows(tensor) or not made.still_true():
            return
        for leaf in tree_iter((made.args, made.kwargs)):
            if isinstance(leaf, torch.Tensor):
                self._enter(leaf)
        kept = {name: value for name, value in made.kwargs.items() if name not in policy.UNRECORDED_KWARGS}
        data = as_data(made.args, self.recorder), as_data(kept, self.recorder)
        op, args, kwargs = functional_form(made.func, *data)
        ref = self.recorder.ref(made.result, "empty")
        self.recorder.aten(AtenCall(op, args, kwargs, (ref,), made.span), list(references_in(args, kwargs)), False)
        self.recorder.symbolic.discard(ref.storage)  # no input is in it: the host may read it without a word


def _whole(result: Any) -> bool:
    """One dense tensor that fills its storage."""
    if not isinstance(result, torch.Tensor) or result.layout is not torch.strided or result.numel() > _LARGEST:
        return False
    filled = result.untyped_storage().nbytes() == result.numel() * result.itemsize
    return result.numel() > 0 and filled and result.is_contiguous()
