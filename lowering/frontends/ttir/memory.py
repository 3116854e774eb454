"""Handlers of memory: addptr, load, store and atomics.  Addresses are bytes; element sizes come from MLIR's types.

A masked load without ``other`` keeps two operands: its masked-off lanes are undefined.
"""

from __future__ import annotations

from jaxlib.mlir import ir

from lowering.frontends.ttir.integers import signed, unsigned
from lowering.frontends.ttir.registry import Result, attribute, lowers
from lowering.frontends.ttir.state import Lowering
from lowering.frontends.ttir.types import pointee

#: tt.RMWOp by number: KIR's combiner and whether it reads unsigned.
ATOMICS: dict[int, tuple[str, bool]] = {
    1: ("and", False),
    2: ("or", False),
    3: ("xor", False),
    4: ("add", False),
    5: ("add", False),
    6: ("max", False),
    7: ("min", False),
    8: ("max", True),
    9: ("min", True),
    10: ("exchange", False),
}


@lowers("tt.addptr")
def addptr(low: Lowering, op: ir.Operation) -> Result:
    base, offset = low.operands(op)
    return low.build("addptr", base, offset, bytes=pointee(op.operands[0].type, low.span).nbytes)


@lowers("tt.load")
def load(low: Lowering, op: ir.Operation) -> Result:
    _refuse_block_pointer(low, op)
    return low.build("load", *low.operands(op), to=low.result_dtype(op).name)


@lowers("tt.store")
def store(low: Lowering, op: ir.Operation) -> Result:
    _refuse_block_pointer(low, op)
    low.build.op("store", low.operands(op))
    return None


def _refuse_block_pointer(low: Lowering, op: ir.Operation) -> None:
    if attribute(op, "boundaryCheck"):
        raise low.unsupported(f"{op.name} of a block pointer", "compile with make_ttir, which rewrites block pointers")


@lowers("tt.atomic_rmw")
def atomic_rmw(low: Lowering, op: ir.Operation) -> Result:
    address, value, *mask = low.operands(op)
    combine, is_unsigned = ATOMICS[attribute(op, "atomic_rmw_op")]
    given = unsigned(low.build, value) if is_unsigned else value
    return signed(low.build, low.build("atomic_rmw", address, given, *mask, combine=combine))


@lowers("tt.atomic_cas")
def atomic_cas(low: Lowering, op: ir.Operation) -> Result:
    return low.build("atomic_cas", *low.operands(op))
