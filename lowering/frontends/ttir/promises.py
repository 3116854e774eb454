"""What a kernel promises: tl.assume, tl.multiple_of of whole numbers, and tl.device_assert become KIR promises.

Each run checks them on the values that it has.  Of tensors tl.multiple_of and tl.max_contiguous speak of the lanes that
are meant, beside others that a mask leaves out: those are noted (state.py), not checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxlib.mlir import ir

from lowering.frontends.ttir.registry import Result, attribute, lowers

if TYPE_CHECKING:
    from lowering.frontends.ttir.state import Lowering

DIVISIBILITY = "tt.divisibility"


@lowers("llvm.intr.assume")
def assume(low: Lowering, op: ir.Operation) -> Result:
    low.build.op("promise", low.operands(op)[:1], what="what tl.assume says")
    return None


@lowers("tt.assert")
def device_assert(low: Lowering, op: ir.Operation) -> Result:
    """There only with debug=True or TRITON_DEBUG; Triton leaves it out of the program otherwise."""
    words = attribute(op, "message", "")
    low.build.op(
        "promise",
        low.operands(op)[:1],
        what=f"tl.device_assert({str(words)!r}), which debug=True checks,",
        kind="assert",
    )
    return None


def is_whole(op: ir.Operation) -> bool:
    """Whether an operation gives one whole number, whose promises can be checked as they are meant."""
    return len(op.results) == 1 and isinstance(op.results[0].type, ir.IntegerType)


def check_multiple(low: Lowering, op: ir.Operation) -> None:
    """tl.multiple_of of a whole number."""
    if DIVISIBILITY not in op.attributes or not is_whole(op):
        return
    divisor = _whole(op.attributes[DIVISIBILITY])
    x = low.value(op.results[0])
    if divisor is None or divisor < 1 or x.type.dtype.bits < 8:
        return
    rest = low.build("rem", x, low.build.like(divisor, x))
    low.build.op("promise", [low.build.cmp("eq", rest, low.build.like(0, x))], what=f"tl.multiple_of({divisor})")


def _whole(attr: ir.Attribute) -> int | None:
    """16 of ``16 : i32``, and of ``dense<16> : tensor<1xi32>``."""
    if isinstance(attr, ir.IntegerAttr):
        return attr.value
    return int(attr[0]) if isinstance(attr, ir.DenseIntElementsAttr) else None
