"""What handlers share: the builder, memory, accumulator registers; the registry of handlers by operation.

A handler takes (State, Instr) and builds KIR for one instruction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from lowering.capture.nki.trace import Indirect, Instr, NkiTrace, Operand, View
from lowering.capture.trace import TensorRef
from lowering.errors import Unsupported
from lowering.frontends.nki.numerics import from_f32, kir_dtype, to_f32
from lowering.ir.builder import Builder
from lowering.ir.composites import Composites
from lowering.ir.program import Value
from lowering.ir.types import BOOL, F32, DType
from lowering.memory import Memory

IMPL = "nki"  # whose activation functions and open orders are meant
Handler = Callable[["State", Instr], None]
HANDLERS: dict[str, Handler] = {}


def handler(*ops: str) -> Callable[[Handler], Handler]:
    """Registers a handler for operations of the trace."""

    def register(function: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(ops, function))
        return function

    return register


@dataclass
class State:
    """``act`` and ``dve``: accumulator registers of the two engines, (partitions,) in f32, once they hold something."""

    trace: NkiTrace
    builder: Builder
    memory: Memory
    act: Value | None = None
    dve: Value | None = None
    notes: dict[str, None] = field(default_factory=dict)

    @property
    def composites(self) -> Composites:
        return Composites(self.builder, IMPL, exact_sqrt=False)

    # -- operands ------------------------------------------------------------------------------------------------

    def read(self, view: View) -> Value:
        """The elements of a view, in its dtype and shape."""
        if isinstance(view, Indirect):
            raise Unsupported("an indirect access pattern", self.builder.span)
        return self.memory.read(view)

    def f32(self, operand: Operand, shape: tuple[int, ...] | None = None) -> Value:
        """An operand in f32, of ``shape``: numbers and one element per partition are spread over it."""
        if not isinstance(operand, TensorRef | Indirect):
            assert operand is not None
            return self.builder.constant(float(operand), F32, shape or ())
        x = to_f32(self.builder, self.read(operand))
        return x if shape is None else self.spread(x, shape)

    def spread(self, x: Value, shape: tuple[int, ...]) -> Value:
        """Of ``shape``, whose elements x has in another order of free axes, or one of for each partition."""
        size = prod(x.type.shape)
        if size == prod(shape):
            return self.builder.reshape(x, shape)
        lanes = x.type.shape[0] if x.type.shape else 1
        if size == 1 or lanes == 1:
            return self.builder.broadcast(self.builder.reshape(x, ()), shape, ())
        return self.builder.broadcast(self.builder.reshape(x, (lanes,)), shape, (0,))

    # -- results -------------------------------------------------------------------------------------------------

    def put_f32(self, instr: Instr, value: Value, number: int = 0) -> None:
        """``value`` in f32, rounded once to the destination's dtype."""
        self.put(instr, from_f32(self.builder, value, self.dtype(instr.dst[number])), number)

    def put(self, instr: Instr, value: Value, number: int = 0) -> None:
        """Writes a value of the destination's dtype, where the mask lets it."""
        view = instr.dst[number]
        if isinstance(view, Indirect):
            raise Unsupported("an indirect access pattern as a destination", self.builder.span)
        value = self.builder.reshape(value, view.shape)
        if instr.mask is not None and number == 0:
            value = self.builder("select", self.constant_mask(instr.mask, view.shape), value, self.memory.read(view))
        self.memory.write(view, value)

    def constant_mask(self, mask: np.ndarray, shape: tuple[int, ...]) -> Value:
        return self.builder.constant(np.broadcast_to(mask, shape).copy(), BOOL)

    def dtype(self, view: View) -> DType:
        return kir_dtype(view.base.dtype if isinstance(view, Indirect) else view.dtype)

    def shape(self, view: Any) -> tuple[int, ...]:
        return view.base.shape if isinstance(view, Indirect) else view.shape
