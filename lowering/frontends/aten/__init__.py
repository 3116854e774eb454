"""The ATen front end: ``lower_call`` turns one recorded op into KIR.  Importing it registers every handler."""

from lowering.frontends.aten import arithmetic, comparison, copies, linalg, reductions, rounding, unary
from lowering.frontends.aten.registry import HANDLERS, lower_call

__all__ = ["HANDLERS", "arithmetic", "comparison", "copies", "linalg", "lower_call", "reductions", "rounding", "unary"]
