"""Whether two programs have the same words: a yes is as good as the judge's, a no says nothing.

Takes programs with the same input names; gives a truth value.  For many programs at once (autotune configurations,
mutants): the first one runs once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from equivalence.evaluator import Outcome
from equivalence.interpretations.depends import Depends
from equivalence.interpretations.reassociated import Reassociated
from equivalence.judge.compare import compare, paths_equal
from equivalence.judge.runs import Inputs, Pair, PairRun, Runner
from lowering.errors import IrverifyError
from lowering.ir.program import Program


def same_terms(a: Program, b: Program, inputs: Inputs, seed: int) -> bool:
    """Equal up to the order of accumulation and open choices, with nothing undefined or racing in the outputs."""
    return Terms(a, inputs, seed).same(b)


@dataclass(slots=True)
class Terms:
    """One program's words on given inputs, made when they are first asked for."""

    program: Program
    inputs: Inputs
    seed: int
    _own: Outcome | None = field(default=None, init=False)

    def same(self, other: Program) -> bool:
        """As same_terms(program, other)."""
        try:
            self._own = self._own or self._run(self.program, 0)
            b = self._run(other, 1)
        except IrverifyError:
            return False
        run = PairRun(Pair(self.program, other, dict(self.inputs)), dict(self.inputs), self._own, b)
        if any(event.code in ("race", "out-of-bounds") for outcome in (run.a, run.b) for event in outcome.events):
            return False
        seen = [compare(x, y, ("reassociated",)) for _, x, y in run.outputs()]
        defined = not any(c.undefined_a.any() or c.undefined_b.any() for c in seen)
        return (
            defined and all(c.equal_words["reassociated"] for c in seen) and paths_equal(run.a, run.b, "reassociated")
        )

    def _run(self, program: Program, side: int) -> Outcome:
        own = [Reassociated(self.seed), Depends(marks=False)]
        return Runner().one(program, own, self.inputs, side=side)
