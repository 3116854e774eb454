"""Whether each side reads its arguments by their strides: both are run on views of the values of one set of shapes.

Takes a Judge and LaidOut pairs (programs captured again, with such arguments); gives LayoutResults, a Check and
Findings.  A verdict speaks of the layouts given, so nothing here changes it unless the user asks for that.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from equivalence.evaluator.frame import OutOfTime
from equivalence.interpretations.depends import Depends
from equivalence.judge import structure, undefined
from equivalence.judge.compare import compare
from equivalence.judge.evidence import Failure
from equivalence.judge.inputs import is_float
from equivalence.judge.runs import Inputs, Pair, PairRun
from equivalence.verdicts import Check, Finding, LayoutResult, Views
from lowering.errors import Span, Unsupported
from lowering.ir.program import Program

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

SECONDS = 3.0  # after which no further layout is run
CHECK = "other layouts"
CODE, SCOPE = "layout-sensitive", "specialised-layout"


@dataclass(frozen=True, slots=True)
class LaidOut:
    """Both programs with arguments of this layout; ``base``: the set of shapes it has the values of.

    ``refused``: why one side cannot be run with them, then without programs; ``limit``: that is irverify's limit, no
    refusal.  ``views``: strides and offset by input.
    """

    label: str
    base: int
    a: Program | None = None
    b: Program | None = None
    refused: str = ""
    limit: bool = False
    views: Views = field(default_factory=dict)


def examine(judge: Judge, base: Pair, laid_out: Sequence[LaidOut]) -> list[LayoutResult]:
    """One result per layout; findings and a check are left with the judge."""
    results: list[LayoutResult] = []
    arrays = distinct(base.inputs, judge.options.seed)
    plain: PairRun | None = None
    started = time.monotonic()
    for layout in laid_out:
        if layout.a is None or layout.b is None:
            status = "not run" if layout.limit else "refused"
            results.append(LayoutResult(layout.label, status, layout.views, message=layout.refused))
            continue
        try:
            plain = plain or _run(judge, base, arrays)
            if judge.late() or time.monotonic() - started > SECONDS:
                break
            results.append(_result(judge, plain, layout))
        except OutOfTime:
            break
        except Unsupported as error:
            said = f"irverify cannot run it: {error}"
            results.append(LayoutResult(layout.label, "not run", layout.views, message=said))
    _say(judge, laid_out, results)
    return results


def distinct(given: Inputs, seed: int) -> dict[str, np.ndarray]:
    """The given values; inputs whose elements are all equal, which hide every wrong address, are drawn anew."""
    rng = np.random.default_rng([seed, *b"layouts"])
    return {name: _drawn(x, rng) if is_float(x) and x.size > 1 and (x == x.flat[0]).all() else x
            for name, x in given.items()}  # fmt: skip


def _drawn(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (x.astype(np.float64) + rng.random(x.shape)).astype(x.dtype)


def _run(judge: Judge, pair: Pair, arrays: Inputs) -> PairRun:
    return judge.runner.run(pair, [Depends(marks=False), judge.error(pair)], arrays)


def _result(judge: Judge, plain: PairRun, layout: LaidOut) -> LayoutResult:
    """Who strays: each side against itself on contiguous arguments, then the two against each other."""
    assert layout.a is not None and layout.b is not None
    pair = Pair(layout.a, layout.b, plain.inputs)
    wrong = structure.mismatch(pair)
    if wrong is not None:
        reason = wrong[0].verdict.reason
        return LayoutResult(layout.label, "a and b stray", layout.views, message=reason)
    run = _run(judge, pair, plain.inputs)
    strays = [
        _parted(judge, PairRun(Pair(laid, own, plain.inputs), plain.inputs, new, old)) is not None
        for laid, own, new, old in (
            (layout.a, plain.pair.a, run.a, plain.a),
            (layout.b, plain.pair.b, run.b, plain.b),
        )
    ]
    parted = _parted(judge, run) if any(strays) else None
    if not any(strays):
        return LayoutResult(layout.label, "agree", layout.views)
    if parted is None or all(strays):
        said = "neither side gives what it gives for contiguous inputs, so both assume a layout"
        return LayoutResult(layout.label, "a and b stray", layout.views, message=said)
    output, found = parted
    side = "A" if strays[0] else "B"
    place = f"{output}[{', '.join(map(str, found.index))}]"
    said = (
        f"where the inputs are views ({layout.label}: {_in_words(layout.views)}) {side} reads other elements than "
        f"for contiguous ones: {place} is {_shown(found, 'A')} in A and {_shown(found, 'B')} in B"
    )
    return LayoutResult(
        layout.label, f"{side.lower()} strays", layout.views, output, found.index, found.value_a, found.value_b,
        found.bound, said, dict(plain.inputs), launched(layout.a if side == "A" else layout.b),
    )  # fmt: skip


def _parted(judge: Judge, run: PairRun) -> tuple[str, Failure] | None:
    """The first output in which the two programs of ``run`` differ, and the element of the largest distance."""
    if structure.mismatch(run.pair) is not None:
        return None
    moved: dict[int, dict[str, Failure]] | None = None
    for position, (name, a, b) in enumerate(run.outputs()):
        seen = compare(a, b, ())
        unknown = seen.undefined_a | seen.undefined_b
        if unknown.any():
            moved = undefined.influence(run, judge.runner, "layout") if moved is None else moved
            sides = moved.get(position, {})
            if len(sides) == 1:
                return name, _undefined(next(iter(sides)), next(iter(sides.values())), seen.a, seen.b)
        weight = np.where(unknown, 0.0, np.where(seen.one_sided, np.inf, seen.excess))
        if (weight > 0).any():
            index = tuple(int(i) for i in np.unravel_index(int(np.argmax(weight)), weight.shape))
            bound = float(seen.bound_a[index] + seen.bound_b[index])
            x, y = (float(side[index].astype(np.float64)) for side in (seen.a, seen.b))
            return name, Failure(run, "layout", index, x, y, bound, "value")
    return None


def _undefined(side: str, found: Failure, a: np.ndarray, b: np.ndarray) -> Failure:
    """``influence`` gives two values of one side; here: the other side's value against an undefined one."""
    own, other = float("nan"), float((b if side == "a" else a)[found.index].astype(np.float64))
    x, y = (own, other) if side == "a" else (other, own)
    return Failure(found.run, found.label, found.index, x, y, 0.0, f"undefined {side}")


def _shown(found: Failure, side: str) -> str:
    if found.kind == f"undefined {side.lower()}":
        return "memory that is no element of the input"
    return f"{found.value_a if side == 'A' else found.value_b:.9g}"


def launched(program: Program) -> Span | None:
    """The first launch: where a host function passes strides on, or does not."""
    return next((op.span for op in program.body.ops if op.name == "launch" and op.span.line), None)


def _in_words(views: Views) -> str:
    """'x: strides (1, 37)'."""
    return ", ".join(f"{name}: strides {strides}" for name, (strides, _) in views.items() if len(strides) > 1) or (
        ", ".join(
            f"{name}: stride {strides[0]}, offset {offset}" for name, (strides, offset) in views.items() if strides
        )
    )


def _say(judge: Judge, laid_out: Sequence[LaidOut], results: Sequence[LayoutResult]) -> None:
    for side, severity in (("b", "warning"), ("a", "note")):
        wrong = [result for result in results if result.status == f"{side} strays"]
        if wrong:
            more = f" (also: {', '.join(r.layout for r in wrong[1:])})" if len(wrong) > 1 else ""
            judge.find(Finding(CODE, wrong[0].message + more, wrong[0].span, severity))  # type: ignore[arg-type]
    outside = [result for result in results if result.status in ("refused", "a and b stray", "not run")]
    for message in dict.fromkeys(result.message for result in outside):
        labels = ", ".join(result.layout for result in outside if result.message == message)
        judge.find(
            Finding(SCOPE, f"scope: nothing is said of inputs that are views ({labels}): {message}", None, "note")
        )
    judge.checks.append(_check(laid_out, results))


def _check(laid_out: Sequence[LaidOut], results: Sequence[LayoutResult]) -> Check:
    """Passed where every layout was looked at and some is in the scope of both sides, with equal results in those."""
    agreed = [result.layout for result in results if result.status == "agree"]
    detail = f"B reads what A reads where inputs are views: {', '.join(agreed) or 'in no layout tried'}"
    if len(results) < len(laid_out):
        detail += f"; stopped after {len(results)} of {len(laid_out)} layouts: out of time"
    unrun = [result for result in results if result.status == "not run"]
    if unrun:
        detail += f"; not run: {', '.join(result.layout for result in unrun)} ({unrun[0].message})"
    if any(result.status == "b strays" for result in results):
        return Check(CHECK, False, detail)
    if unrun or len(results) < len(laid_out) or any(result.status == "a strays" for result in results):
        return Check(CHECK, None, detail)
    return Check(CHECK, True if agreed else None, detail, applies=bool(agreed))


__all__ = ["LaidOut", "distinct", "examine"]
