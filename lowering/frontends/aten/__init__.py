"""The ATen front end: ``lower_call`` turns one recorded op into KIR.  Importing it registers every handler."""

from lowering.frontends.aten import (
    arithmetic,
    comparison,
    convolution,
    copies,
    indexing,
    linalg,
    normalization,
    ordering,
    pooling,
    random,
    reductions,
    rounding,
    unary,
)
from lowering.frontends.aten.context import Library
from lowering.frontends.aten.registry import HANDLERS, lower_call

FAMILIES = (
    arithmetic,
    comparison,
    convolution,
    copies,
    indexing,
    linalg,
    normalization,
    ordering,
    pooling,
    random,
    reductions,
    rounding,
    unary,
)

__all__ = ["FAMILIES", "HANDLERS", "Library", "lower_call"]
