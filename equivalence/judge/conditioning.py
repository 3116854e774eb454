"""Why digits are lost: the line whose terms are much larger than their sum, on the inputs that show it.

Takes a Judge in progress; gives findings more words and a place, and each output the condition numbers of both sides.
Never changes a verdict or a severity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from equivalence.bounds.condition import Cancellation, cancellations
from equivalence.judge.runs import Pair
from equivalence.verdicts import Conditioning, Finding, Report
from lowering.errors import IrverifyError

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

CLEAR = 16.0  # a condition number below this explains no loss
MOST_ELEMENTS = 1 << 14  # of the inputs: larger sets of shapes are looked at in their smallest one


def explained(
    judge: Judge, finding: Finding, side: str, pair: Pair, inputs: Mapping[str, np.ndarray],
    position: int, index: tuple[int, ...] | None = None,
) -> Finding:  # fmt: skip
    """``finding`` with the place of the cancellation behind it, where there is one; a place that it has stays."""
    found = _of(judge, side, pair, inputs, {} if index is None else {position: index})
    one = found[position] if found is not None else None
    if one is None or one.span is None or one.number < CLEAR or finding.span is not None:
        return finding
    return replace(finding, message=f"{finding.message}: {one}", span=one.span)


def _of(
    judge: Judge, side: str, pair: Pair, inputs: Mapping[str, np.ndarray], index: Mapping[int, tuple[int, ...]]
) -> list[Cancellation | None] | None:
    """None where the side cannot be run, or time or memory is out."""
    if judge.late():
        return None
    program = pair.a if side == "A" else pair.b
    arrays = {name: inputs[name] for name in program.input_names}
    try:
        return cancellations(program, arrays, {}, judge.deadline, index)
    except (IrverifyError, MemoryError):
        return None


def run(judge: Judge, report: Report) -> None:
    """Both sides' condition numbers at the given inputs; at the smallest set of shapes where these are large."""
    given = judge.pairs[0]
    pair = given if given.size <= MOST_ELEMENTS else min(judge.pairs, key=lambda p: p.size)
    if pair.size > MOST_ELEMENTS:
        return
    sides = [_of(judge, side, pair, pair.inputs, {}) for side in "AB"]
    for position, output in enumerate(report.outputs):
        output.condition_a, output.condition_b = (_result(found[position] if found else None) for found in sides)


def _result(found: Cancellation | None) -> Conditioning | None:
    return None if found is None else Conditioning(found.number, found.span, *found.digits)
