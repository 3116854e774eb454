"""A tracing machine that makes every open sum one after the other, as OrderTrees are evaluated."""

from __future__ import annotations

from equivalence.divergence.trace import Numbered, TracingMachine
from equivalence.evaluator import Limits
from equivalence.interpretations.summation import Summation
from lowering.ir.program import Program


class OneByOne(TracingMachine):
    """Stands in for TracingMachine in ``equivalence.divergence.trace``."""

    def __init__(self, program: Program, numbered: Numbered) -> None:
        super().__init__(program, numbered, Limits(summation=Summation("one after the other")))
