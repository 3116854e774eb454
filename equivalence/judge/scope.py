"""What a verdict rests on, in words, and where the two programs part.

Takes pairs and evidence; gives assumptions and a Divergence.
"""

from __future__ import annotations

from collections.abc import Sequence

from equivalence.judge.evidence import Evidence
from equivalence.judge.inputs import is_float
from equivalence.judge.runs import Pair
from equivalence.verdicts import Divergence, Level, Report
from lowering.errors import IrverifyError
from lowering.ir.program import Program


def assumptions(pairs: Sequence[Pair]) -> list[str]:
    """Scope that every verdict has, and what the sources leave open."""
    given = pairs[0]
    lines = [f"inputs are finite; proved at {len(pairs)} sets of shapes"]
    whole = [name for name, x in given.inputs.items() if not is_float(x)]
    if whole:
        lines.append(f"integer inputs have the given values: {', '.join(whole)}")
    for side, program in (("A", given.a), ("B", given.b)):
        lines += [f"{side}: {note}" for note in program.notes]
        lines += [f"{side}: {note}" for kernel in program.kernels.values() for note in kernel.attrs.get("notes", ())]
    return list(dict.fromkeys(lines))


def streams_differ(a: set[int], b: set[int]) -> bool:
    """Whether two counter-based generators were run at other counters or keys (padding lanes may differ)."""
    if not a or not b:
        return bool(a) != bool(b)
    return len(a & b) < 0.9 * min(len(a), len(b))


def divergence(
    pairs: Sequence[Pair], report: Report, position: int | None, evidence: Sequence[Evidence]
) -> Divergence | None:
    """The earliest values that part; None for bitwise pairs, or when nothing can be named."""
    try:
        from equivalence.divergence import explain
    except ImportError:
        return None

    level = report.verdict.level
    if level is Level.BITWISE:
        return None
    wanted = {Level.REASSOCIATED: "exact", Level.REAL: "reassociated", Level.DIFFERENT: "ieee"}.get(level, "real")
    if position is not None:
        failure = evidence[position].witnessed[0]
        pair, arrays, element = failure.run.pair, failure.run.inputs, failure.index
    else:
        pair = min(pairs, key=lambda p: p.size)
        arrays, element = pair.inputs, None
    try:
        return explain(pair.a, pair.b, dict(arrays), dict(arrays), position, element, level_wanted=wanted)
    except IrverifyError:
        return None


def kernels(program: Program) -> list[str]:
    return list(program.kernels)
