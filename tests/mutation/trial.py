"""One mutant's trial: the real judge, then the oracle on what survives (or was refuted).

Takes a program, its inputs and a Mutant; gives a Trial.  ``judge`` is passed in so that a test can pass a blind one.
"""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from equivalence.judge.judge import Judge
from equivalence.judge.runs import Pair
from equivalence.mutants.draw import Mutant, diff
from equivalence.verdicts import Report
from irverify.options import CompareOptions
from lowering.errors import InternalError, Unsupported, UsageError
from lowering.ir.program import Program
from tests.mutation.oracle import Finding, Oracle
from tests.mutation.oracle.arithmetic import WIDE

Arrays = Mapping[str, np.ndarray]
JudgeFn = Callable[[Program, Program, Arrays, int], Report]
SURVIVES = ("bitwise", "reassociated", "real certified", "real evidence")
_ONE_SIDED = re.compile(r"(is|and) (-?inf|nan) in [AB]")
_FLAGGED = ("out-of-bounds", "race")


class Terse(Judge):
    """The judge without the explanation, which no verdict depends on."""

    def explain(self, report: Report) -> None:
        del report


def real_judge(a: Program, b: Program, arrays: Arrays, seed: int) -> Report:
    # Without a target masked-off lanes are undefined, as they are to the oracle.
    options = CompareOptions(a="a", b="b", seed=seed, special="ignore", timeout=60.0, target=None)
    return Terse([Pair(a, b, dict(arrays))], options).report()


@dataclass(frozen=True, slots=True)
class Trial:
    """``verdict``: a level ('real' with its strength), 'unsupported', 'internal', 'crash'; ``truth``: the oracle's."""

    program: str
    operator: str
    number: int
    what: str
    verdict: str
    reason: str
    truth: str
    detail: str
    flagged: tuple[str, ...]
    diff: str
    judged: float
    checked: float

    @property
    def escaped(self) -> bool:
        """A survivor that is another program."""
        return self.verdict in SURVIVES and (self.truth == "different" or (self.truth == "unsafe" and not self.flagged))

    @property
    def false_alarm(self) -> bool:
        """Refuted, yet the same function; one side's overflow on larger inputs than the oracle's is no alarm."""
        return self.verdict == "different" and self.truth == "same" and not _ONE_SIDED.search(self.reason)


def verdict_of(
    judge: JudgeFn, original: Program, mutant: Program, arrays: Arrays, seed: int
) -> tuple[str, str, set[str]]:
    try:
        report = judge(original, mutant, arrays, seed)
    except Unsupported as error:
        return "unsupported", str(error), set()
    except (InternalError, UsageError) as error:
        return "internal", f"{type(error).__name__}: {error}", set()
    except Exception:
        return "crash", traceback.format_exc(limit=-4), set()
    level = report.verdict.level.value
    strength = f" {report.verdict.strength}" if report.verdict.strength else ""
    return level + strength, report.verdict.reason, {f.code for f in report.findings if f.code in _FLAGGED}


def truth_of(verdict: str, oracle: Oracle, mutant: Program) -> Finding:
    """The question that the verdict answers, put to the oracle."""
    if verdict == "bitwise":
        return oracle.same_bits(mutant)
    if verdict == "reassociated":
        return oracle.same_terms(mutant)
    if verdict == "different":
        found = oracle.compare(mutant, WIDE)
        return Finding("overflow") if found.status == "same" and oracle.overflows(mutant) else found
    if verdict in SURVIVES:
        return oracle.same_function(mutant)
    return Finding("not asked")


def trial(name: str, original: Program, mutant: Mutant, oracle: Oracle, judge: JudgeFn, seed: int) -> Trial:
    start = time.monotonic()
    verdict, reason, flagged = verdict_of(judge, original, mutant.program, oracle.inputs, seed)
    judged = time.monotonic()
    truth = truth_of(verdict, oracle, mutant.program)
    return Trial(
        name,
        mutant.operator,
        mutant.number,
        mutant.what,
        verdict,
        reason,
        truth.status,
        truth.detail,
        tuple(sorted(flagged)),
        diff(original, mutant.program),
        judged - start,
        time.monotonic() - judged,
    )
