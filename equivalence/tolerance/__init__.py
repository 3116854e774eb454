"""Tolerances of one program or a pair: derived from its rounding, and judged by what wrong kernels they let through."""

from equivalence.tolerance.judge import Request, assess
from equivalence.tolerance.result import TolerancesReport

__all__ = ["Request", "TolerancesReport", "assess"]
