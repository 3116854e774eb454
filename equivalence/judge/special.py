"""What each side does with NaN, infinities, signed zeros, subnormals and the largest values.

Takes a Pair; gives SpecialValues: one row per output and kind of input on which the sides disagree.  ``run`` takes a
Judge and leaves them in a Report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from equivalence.evaluator.frame import OutOfTime
from equivalence.interpretations.depends import Depends
from equivalence.interpretations.error import Error
from equivalence.judge import ranges
from equivalence.judge.compare import same_kind
from equivalence.judge.differential import MOST_ELEMENTS
from equivalence.judge.inputs import dtype_of, is_float
from equivalence.judge.planes import plane, value
from equivalence.judge.runs import Pair, Runner
from equivalence.judge.tally import Tally
from equivalence.numerics.formats import format_of
from equivalence.verdicts import Check, Finding, Level, Report, SpecialValue
from lowering.errors import Unsupported

if TYPE_CHECKING:
    from equivalence.judge.judge import Judge

CHECK = "special values"

Arrays = dict[str, np.ndarray]


def kinds(dtype: str) -> dict[str, float]:
    """Special values of a format, by name."""
    fmt = format_of(dtype)
    table = {"-0": -0.0, "a subnormal": 2.0 ** (fmt.emin - fmt.p + 1), "the largest finite value": fmt.max}
    if fmt.nan != "none":
        table = {"a NaN": np.nan, **table}
    if fmt.has_inf:
        table = {**table, "+infinity": np.inf, "-infinity": -np.inf}
    return table


FEW_FROM = 1 << 17  # input elements beyond which every run costs: a NaN and a row of -infinity stand for the rest


def planted(given: Mapping[str, np.ndarray]) -> Iterator[tuple[str, Arrays]]:
    """One special value in one place of one float input at a time; whole rows of -infinity; rows masked off."""
    yield from ranges.empty_rows(given, 0)
    most = 1 if sum(x.size for x in given.values()) > FEW_FROM else None
    for name, x in given.items():
        if not is_float(x) or not x.size or name.startswith("weight:"):
            continue
        for words, special in list(kinds(dtype_of(x).name).items())[:most]:
            changed = x.copy()
            changed.reshape(-1)[changed.size // 3] = special
            yield f"{words} in {name}", {**given, name: changed}
        if x.ndim and format_of(dtype_of(x).name).has_inf:
            row = x.copy()
            row[0] = -np.inf
            yield f"a row of -infinity in {name}", {**given, name: row}


def run(judge: Judge, report: Report) -> None:
    """Rows, a Check and findings; under ``strict`` large inputs are no reason to leave it out."""
    strict = judge.options.special == "strict"
    if judge.options.special == "ignore" or report.verdict.level is Level.DIFFERENT:
        return
    pair = min(judge.pairs, key=lambda p: p.size)
    why = _not_run(judge, pair, strict)
    if why or not any(True for _ in planted(pair.inputs)):
        words = f"not run: {why}" if why else "no input holds floats"
        judge.checks.append(Check(CHECK, None, words, applies=bool(why)))
        return
    rows, tally = differences(pair, judge.runner, judge.error(pair), judge.late)
    for row in rows:
        next(o for o in report.outputs if o.name == row.output).special_values.append(row)
    judge.checks.append(_check(rows, tally, pair.size > FEW_FROM))
    if rows:
        judge.find(Finding("special-values", rows[0].message, None, "note"))
    signs = "" if pair.size > FEW_FROM else zero_signs(pair, judge.runner)
    if signs:
        judge.find(Finding("signed-zero", signs, None, "note"))


def _not_run(judge: Judge, pair: Pair, strict: bool) -> str:
    if judge.real.random:
        return "the two sides draw random numbers that do not correspond"
    if judge.late():
        return "out of time"
    return "the inputs are too large" if pair.size > MOST_ELEMENTS and not strict else ""


def _check(rows: Sequence[SpecialValue], tally: Tally, few: bool) -> Check:
    """Passed only where every planted input was run."""
    tried = (
        "alike on both sides for a NaN and a row of -infinity (only these, the inputs are large)"
        if few
        else "alike on both sides for NaN, infinities, -0, subnormals and the largest value, one at a time"
    )
    if tally.complete:
        return Check(CHECK, not rows, tried)
    missing = f"not run: {tally.missing()}"
    detail = f"{tally.ran} of {tally.planned} inputs ({tried}); {missing}" if tally.ran else missing
    return Check(CHECK, False if rows else None, detail)


def differences(
    pair: Pair, runner: Runner, error: Error, late: Callable[[], bool] = lambda: False
) -> tuple[list[SpecialValue], Tally]:
    """Rows where the two sides give different special values, or values further apart than both bounds."""
    rows, tally = list[SpecialValue](), Tally()
    for words, inputs in planted(pair.inputs):
        tally.planned += 1
        tally.late |= late()
        run = tally.attempt(lambda inputs=inputs: runner.run(pair, [Depends(marks=False), error], inputs))
        for name, a, b in run.outputs() if run is not None else ():
            row = _row(name, words, value(a), value(b), plane(a, "bound") + plane(b, "bound"))
            if row is not None:
                rows.append(replace(row, inputs=inputs))
    return rows, tally


def zero_signs(pair: Pair, runner: Runner) -> str:
    """The first element that is +0 on one side and -0 on the other, in words; '' where none was seen.

    Tried on inputs of zeros, of negative zeros, and with one -0 among the given values.
    """
    floats = [name for name, x in pair.inputs.items() if is_float(x) and not name.startswith("weight:")]
    whole = [
        (f"{words} everywhere", {n: np.full_like(x, zero) if n in floats else x for n, x in pair.inputs.items()})
        for words, zero in (("zero", 0.0), ("-0", -0.0))
    ]
    for words, arrays in [*whole, *((w, a) for w, a in planted(pair.inputs) if w.startswith("-0 "))]:
        try:
            run = runner.run(pair, [Depends()], arrays)
        except (Unsupported, OutOfTime):  # a search for a note, which says nothing where it finds none
            continue
        for name, a, b in run.outputs() if run.on_path else ():
            x, y = value(a), value(b)
            if not a.dtype.is_float:
                continue
            apart = (x == 0) & (y == 0) & (np.signbit(x) != np.signbit(y))
            apart &= (plane(a, "poison") == 0) & (plane(b, "poison") == 0)
            if apart.any():
                index = np.unravel_index(int(np.argmax(apart)), apart.shape)
                place = f"{name}[{', '.join(str(int(i)) for i in index)}]"
                signs = ["-0" if np.signbit(side[index]) else "+0" for side in (x, y)]
                return f"{words}: {place} is {signs[0]} in A and {signs[1]} in B"
    return ""


def _row(name: str, words: str, x: np.ndarray, y: np.ndarray, bound: np.ndarray) -> SpecialValue | None:
    a, b = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(all="ignore"):  # a NaN on the way to a finite value leaves no bound: then only half of it counts
        limit = np.where(np.isfinite(bound), bound, np.maximum(np.abs(a), np.abs(b)) / 2)
        apart = ~same_kind(a, b) | (np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) > limit))
    if not apart.any():
        return None
    index = np.unravel_index(int(np.argmax(apart)), apart.shape)
    one, other = _show(a[index]), _show(b[index])
    place = f"{name}[{', '.join(str(int(i)) for i in index)}]"
    said = f"{words} gives {one} in A and {other} in B at {place}"
    explained = float(bound[index]) if np.isfinite(bound[index]) else 0.0
    return SpecialValue(name, words, one, other, said, tuple(int(i) for i in index), explained)


def _show(x: float) -> float | str:
    return float(x) if np.isfinite(x) else str(float(x))
