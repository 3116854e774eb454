"""Whether two programs have the same words: a yes is as good as the judge's, a no says nothing.

Takes two programs with the same input names; gives a truth value.  For many programs at once (autotune configurations).
"""

from __future__ import annotations

from equivalence.interpretations.depends import Depends
from equivalence.interpretations.reassociated import Reassociated
from equivalence.judge.compare import compare, paths_equal
from equivalence.judge.runs import Inputs, Pair, Runner
from lowering.errors import IrverifyError
from lowering.ir.program import Program


def same_terms(a: Program, b: Program, inputs: Inputs, seed: int) -> bool:
    """Equal up to the order of accumulation and open choices, with nothing undefined or racing in the outputs."""
    try:
        run = Runner().run(Pair(a, b, dict(inputs)), [Reassociated(seed), Depends(marks=False)], inputs)
    except IrverifyError:
        return False
    if any(event.code in ("race", "out-of-bounds") for outcome in (run.a, run.b) for event in outcome.events):
        return False
    seen = [compare(x, y, ("reassociated",)) for _, x, y in run.outputs()]
    defined = not any(c.undefined_a.any() or c.undefined_b.any() for c in seen)
    return defined and all(c.equal_words["reassociated"] for c in seen) and paths_equal(run.a, run.b, "reassociated")
