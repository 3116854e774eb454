"""Tolerances of one program or a pair: derived from its rounding, and judged by what wrong kernels they let through."""

from equivalence.tolerance.judge import assess
from equivalence.tolerance.result import TolerancesReport
from equivalence.tolerance.work import Request

__all__ = ["Request", "TolerancesReport", "assess"]
