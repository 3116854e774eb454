"""The op records of KIR, by name: ``RECORDS``.  One op is one record in one file of this folder."""

from lowering.ir.ops import accumulate, control, elementwise, memory, structure
from lowering.ir.ops.record import RECORDS, REQUIRED, OpRecord, TypeRuleError

__all__ = [
    "RECORDS",
    "REQUIRED",
    "OpRecord",
    "TypeRuleError",
    "accumulate",
    "control",
    "elementwise",
    "memory",
    "structure",
]
