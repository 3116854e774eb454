"""One StableHLO op as its handler sees it, and the registry of handlers.

A handler takes a Node, builds KIR through ``node.b`` and returns the result values.  Adding an op is one handler:
``@handles("stablehlo.abs")``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lowering.errors import InternalError, Span, Unsupported
from lowering.frontends.stablehlo.attributes import attribute, ints
from lowering.frontends.stablehlo.folding import FoldingBuilder
from lowering.frontends.stablehlo.types import tensor_type
from lowering.ir.program import Value
from lowering.ir.types import TensorType

if TYPE_CHECKING:
    from lowering.frontends.stablehlo.translate import Translator


@dataclass(slots=True)
class Node:
    """``op`` is the MLIR op, ``operands`` its operands in KIR, ``translator`` lowers its regions."""

    op: Any
    operands: list[Value]
    span: Span
    translator: Translator

    @property
    def b(self) -> FoldingBuilder:
        return self.translator.builder

    @property
    def name(self) -> str:
        return self.op.operation.name

    @property
    def types(self) -> list[TensorType]:
        """Types of the results."""
        return [tensor_type(r.type, self.span) for r in self.op.operation.results]

    @property
    def type(self) -> TensorType:
        return self.types[0]

    def attr(self, name: str) -> Any:
        """The MLIR attribute, or None."""
        return attribute(self.op.operation, name)

    def ints(self, name: str, default: Sequence[int] = ()) -> tuple[int, ...]:
        """An integer-list attribute; ``default`` when absent."""
        found = self.attr(name)
        return tuple(default) if found is None else ints(found)

    def int(self, name: str) -> int:
        found = self.attr(name)
        if found is None:
            raise InternalError(f"{self.name} has no attribute {name}")
        return int(found.value)

    def flag(self, name: str) -> bool:
        found = self.attr(name)
        return False if found is None else bool(found.value)

    def region(self, i: int = 0) -> Any:
        """The only block of region ``i``."""
        return self.op.operation.regions[i].blocks[0]

    def unsupported(self, what: str, hint: str = "") -> Unsupported:
        return Unsupported(f"{self.name}: {what}", self.span, hint)


Handler = Callable[[Node], "Value | Sequence[Value]"]
HANDLERS: dict[str, Handler] = {}


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Registers the decorated handler for the ops called ``names``."""

    def register(handler: Handler) -> Handler:
        for name in names:
            if name in HANDLERS:
                raise InternalError(f"{name} has two handlers")
            HANDLERS[name] = handler
        return handler

    return register
