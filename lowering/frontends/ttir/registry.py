"""The table of handlers, one per TTIR op name, and the readers of MLIR attributes they share.

A handler takes (Lowering, operation) and gives the KIR values of the results: one value, a list, or None for none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jaxlib.mlir import ir

from lowering.errors import InternalError
from lowering.ir.program import Value

if TYPE_CHECKING:
    from lowering.frontends.ttir.state import Lowering

Result = Value | Sequence[Value] | None
Handler = Callable[["Lowering", ir.Operation], Result]
HANDLERS: dict[str, Handler] = {}


def lowers(*names: str) -> Callable[[Handler], Handler]:
    """Registers the decorated handler for ops of these names."""

    def add(handler: Handler) -> Handler:
        for name in names:
            if name in HANDLERS:
                raise InternalError(f"TTIR op {name} has two handlers")
            HANDLERS[name] = handler
        return handler

    return add


def attribute(op: ir.Operation, name: str, default: Any = None) -> Any:
    """The attribute as a Python number, bool, string or list of numbers; ``default`` when absent."""
    if name not in op.attributes:
        return default
    given = op.attributes[name]
    if isinstance(given, (ir.IntegerAttr, ir.BoolAttr, ir.FloatAttr, ir.StringAttr, ir.FlatSymbolRefAttr)):
        return given.value
    if isinstance(given, (ir.DenseI32ArrayAttr, ir.DenseI64ArrayAttr)):
        return list(given)
    return str(given)
