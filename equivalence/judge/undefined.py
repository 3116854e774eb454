"""Whether a poisoned output really depends on an undefined value: the undefined lanes are given other values.

Takes a run whose outputs carry poison; gives Failures where the output moves with the choice.
"""

from __future__ import annotations

import numpy as np

from equivalence.interpretations.depends import Depends
from equivalence.judge.evidence import Failure
from equivalence.judge.planes import plane, value
from equivalence.judge.runs import PairRun, Runner

FILLS = (12345.678, -3.25)


def influence(run: PairRun, runner: Runner, label: str) -> dict[int, dict[str, Failure]]:
    """By output position and side ('a', 'b'): a lane whose value follows the undefined one."""
    found: dict[int, dict[str, Failure]] = {}
    filled = [runner.run(run.pair, [Depends(marks=False)], run.inputs, fill) for fill in FILLS]
    for position, (_, a, b) in enumerate(run.outputs()):
        for side, lanes in (("a", a), ("b", b)):
            if not plane(lanes, "poison").any():
                continue
            pairs = [r.outputs()[position][1:] for r in filled]
            values = [value(pair[0] if side == "a" else pair[1]) for pair in pairs]
            failure = _moved(run, label, value(lanes), values)
            if failure is not None:
                found.setdefault(position, {})[side] = failure
    return found


def unwritten(run: PairRun, runner: Runner, position: int) -> set[str]:
    """The sides ('a', 'b') on which memory that nothing has written, or that is no array's, can reach an output."""
    again = runner.with_masked_zero().run(run.pair, [Depends(marks=False)], run.inputs)
    _, a, b = again.outputs()[position]
    return {side for side, lanes in (("a", a), ("b", b)) if plane(lanes, "poison").any()}


def _moved(run: PairRun, label: str, base: np.ndarray, others: list[np.ndarray]) -> Failure | None:
    wide = base.astype(np.float64)
    for other in others:
        with np.errstate(all="ignore"):
            apart = ~((wide == other) | (np.isnan(wide) & np.isnan(other.astype(np.float64))))
        if apart.any():
            index = tuple(int(i) for i in np.unravel_index(int(np.argmax(apart)), apart.shape))
            return Failure(
                run, label, index, float(wide[index]), float(other[index].astype(np.float64)), 0.0, "undefined"
            )
    return None
