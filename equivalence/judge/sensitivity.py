"""Whether each side's own error bound is within what its output dtype may ask: the findings that cost exit code 0.

Takes lanes of the given shape; gives Findings.  "Equal up to order" is not equal enough when the order decides the
leading digits.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from equivalence.evaluator import Lanes
from equivalence.judge.compare import blocks
from equivalence.judge.evidence import Evidence, scale_of
from equivalence.judge.planes import plane, value
from equivalence.verdicts import Finding
from lowering.errors import Span
from lowering.ir.program import Program

#: Largest expected error, relative to the output's largest magnitude, that needs no explanation.
DEFAULT_TOLERANCE = {"f64": 1e-10, "f32": 5e-4, "f16": 1e-2, "bf16": 5e-2}
_COARSE = 0.25  # 8-bit formats
_PRECISION = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}


def spread(lanes: Lanes) -> float:
    """Expected error over the output's scale; infinite bounds count as infinite."""
    expected, data = plane(lanes, "expected"), value(lanes)
    if not lanes.dtype.is_float or not data.size:
        return 0.0
    return max(_largest(expected[s], data[s]) for s in blocks(data.shape)) / scale_of(data)


def _largest(expected: np.ndarray, data: np.ndarray) -> float:
    """Of the lanes that are finite."""
    return float(np.max(np.where(np.isfinite(data.astype(np.float64)), expected, 0.0), initial=0.0))


def allowed(dtype: str, tolerance: tuple[float, float] | None) -> float:
    return tolerance[0] if tolerance is not None else DEFAULT_TOLERANCE.get(dtype, _COARSE)


def findings(
    side: str, program: Program, lanes: Lanes, name: str, tolerance: tuple[float, float] | None
) -> list[Finding]:
    """A bound beyond the tolerance, blamed on narrow arithmetic where there is any, else on the order."""
    amount, limit = spread(lanes), allowed(lanes.dtype.name, tolerance)
    if not np.isfinite(amount):
        lanes = _defined(lanes)
        amount = spread(lanes)
    if tolerance is not None:
        amount = _beyond(lanes, tolerance)
        limit = 1.0
    if amount <= limit:
        return []
    narrow = narrow_site(program, lanes.dtype.name)
    said = f"{side}'s {name} may be off by {spread(lanes):.2g} of its largest value, beyond the tolerance"
    if narrow is not None:
        what, span = narrow
        return [Finding("precision-lost", f"{said}: {what}", span, "error")]
    return [
        Finding("order-sensitive", f"{said}: the order of its accumulation decides digits that matter", None, "error")
    ]


MOST_UNSURE = 1e-3  # of the integers of an output, that one side's rounding may move and the other's does not
MOST_PLAIN = 0.5  # the same where all is at full precision: bounds of small values may be far above their errors
TIMES = 8  # as many as on the other side
LEAST = 2  # elements: one may be an accident


def unsure(evidence: Evidence, programs: Mapping[str, Program]) -> list[Finding]:
    """Integers and truth values made of floats: a side that decides in a narrow format decides many of them otherwise.

    As a real function it is the same, so no level says it; the share of elements that rounding may move does.
    """
    found = []
    for side, other in (("A", "B"), ("B", "A")):
        mine, theirs = (evidence.unsure.get(s, 0) / max(evidence.lanes, 1) for s in (side, other))
        narrow = narrow_site(programs[side], evidence.dtype)
        if narrow is None and evidence.of_floats:
            continue
        most = MOST_UNSURE if narrow is not None else MOST_PLAIN
        if evidence.unsure.get(side, 0) < LEAST or mine <= max(most, TIMES * theirs):
            continue
        said = f"rounding may move {mine:.1%} of {side}'s {evidence.name}, and {theirs:.1%} of {other}'s"
        what, span = narrow or ("a cancellation, or large values", None)
        found.append(Finding("precision-lost", f"{said}: {what}", span, "error"))
    return found


def turned(evidence: Evidence, programs: Mapping[str, Program]) -> list[Finding]:
    """Branches, trip counts and addresses made of floats: a side that decides in a narrow format decides otherwise."""
    found = []
    for side, other in (("A", "B"), ("B", "A")):
        narrow = narrow_site(programs[side], evidence.dtype)
        if narrow is None or evidence.turns.get(side, 0) <= evidence.turns.get(other, 0):
            continue
        said = f"rounding may take {side} another way in {evidence.turns[side]} tests in which {other} is sure"
        found.append(Finding("precision-lost", f"{said}: {narrow[0]}", narrow[1], "error"))
    return found


def _defined(lanes: Lanes) -> Lanes:
    """Without the bounds of undefined values, which are infinite: these are a matter of their own."""
    expected = plane(lanes, "expected")
    lost = ~np.isfinite(expected) & (plane(lanes, "poison") != 0)
    planes = {**(lanes.planes or {}), "expected": np.where(lost, 0.0, expected)[None]}
    return lanes.replace(planes=planes) if lost.any() else lanes


def _beyond(lanes: Lanes, tolerance: tuple[float, float]) -> float:
    """Largest expected error over rtol |value| + atol."""
    data = np.abs(value(lanes).astype(np.float64))
    finite = np.isfinite(data)
    room = tolerance[0] * np.where(finite, data, 0.0) + tolerance[1]
    with np.errstate(all="ignore"):
        ratio = np.where(finite, plane(lanes, "expected") / room, 0.0)
    return float(np.max(np.where(np.isnan(ratio), 0.0, ratio), initial=0.0)) if ratio.size else 0.0


def narrow_site(program: Program, output: str) -> tuple[str, Span] | None:
    """The first arithmetic in a format narrower than f32 and narrower than or as narrow as the output, inside."""
    for op in program.walk():
        if op.name == "dot" and op.attrs["precision"] in ("tf32", "bf16") and op.operands[0].type.dtype.name == "f32":
            return f"a dot rounds its f32 operands to {op.attrs['precision']}", op.span
    for op in program.walk():
        dt = op.results[0].type.dtype if op.results else None
        if dt is None or not dt.is_float or _PRECISION.get(dt.name, 4) >= 24:
            continue
        if op.name in ("add", "sub", "reduce", "scan", "dot", "cast"):
            return f"{op.name} in {dt.name}", op.span
    return None


def exonerated(finding: Finding, dtype: str, measured: float | None, open_order: bool) -> Finding:
    """A bound can be far above the truth (compensated sums): where nothing is left open but the last digits of
    intrinsics, the distance from the real result that was measured decides."""
    if finding.code != "order-sensitive" or open_order or measured is None or measured > allowed(dtype, None):
        return finding
    said = f"{finding.message}; the result itself is within {measured:.2g} of the real one"
    return Finding("loose-bound", said, finding.span, "note")
