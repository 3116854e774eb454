"""Certificates for outputs that are `real`: the evidence of the finite fields as a proof at the smallest set of shapes.

Takes a Judge and its verdicts; gives verdicts whose strength says which outputs are certified.  Never a weaker one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from equivalence.certificate import certify
from equivalence.evaluator.frame import OutOfTime
from equivalence.judge.realjudge import in_words
from equivalence.verdicts import Check, Level, Verdict
from lowering.errors import IrverifyError

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

CHECK = "certificate"
SECONDS = 3.0
MOST_ELEMENTS = 1 << 13  # of the inputs of the set of shapes at which it is tried
MOST_GIVEN = 1 << 18  # of the given ones: beyond, the comparison is long enough without it


def run(judge: Judge, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """``verdicts`` with the strength `certified` where every element has one canonical form on both sides."""
    wanted = [v.level is Level.REAL for v in verdicts]
    if not any(wanted):
        return list(verdicts)
    smallest = min(judge.pairs, key=lambda pair: pair.size)
    if judge.late() or smallest.size > MOST_ELEMENTS or judge.pairs[0].size > MOST_GIVEN:
        judge.checks.append(Check(CHECK, None, f"not tried: {'out of time' if judge.late() else 'large inputs'}"))
        return list(verdicts)
    shapes = in_words(smallest)
    try:
        found = certify(smallest.a, smallest.b, smallest.inputs, smallest.inputs, seconds=SECONDS)
    except (IrverifyError, OutOfTime, ValueError, TypeError, LookupError, ArithmeticError) as error:
        judge.checks.append(Check(CHECK, None, f"none at {shapes}: {error}"))  # never at the cost of the verdict
        return list(verdicts)
    made, missing = list[Verdict](), list[str]()
    for verdict, asked, proof in zip(verdicts, wanted, found, strict=True):
        if asked and proof.certified:
            made.append(replace(verdict, strength="certified", reason=f"certified at {shapes}"))
            judge.assumptions.update(dict.fromkeys(proof.identified))
            continue
        made.append(verdict)
        if asked:
            missing.append(f"{proof.output}: {proof.reason}")
    said = f"none at {shapes} for {missing[0]}" if missing else f"every element, at {shapes}"
    judge.checks.append(Check(CHECK, None if missing else True, said))
    return made
