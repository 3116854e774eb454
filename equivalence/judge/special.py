"""What each side does with NaN, infinities, signed zeros, subnormals and the largest values.

Takes a Pair; gives SpecialValues: one row per output and kind of input on which the sides disagree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from equivalence.interpretations.depends import Depends
from equivalence.interpretations.error import Error
from equivalence.judge.compare import plane, same_kind, value
from equivalence.judge.inputs import dtype_of, is_float
from equivalence.judge.runs import Pair, Runner
from equivalence.numerics.formats import format_of
from equivalence.verdicts import SpecialValue
from lowering.errors import Unsupported

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
    """One special value in one place of one float input at a time; then whole rows of -infinity."""
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


def differences(pair: Pair, runner: Runner, error: Error) -> list[SpecialValue]:
    """Rows where the two sides give different special values, or values further apart than both bounds."""
    rows: list[SpecialValue] = []
    for words, inputs in planted(pair.inputs):
        try:
            run = runner.run(pair, [Depends(marks=False), error], inputs)
        except Unsupported:
            continue
        if not run.on_path:
            continue
        for name, a, b in run.outputs():
            row = _row(name, words, value(a), value(b), plane(a, "bound") + plane(b, "bound"))
            if row is not None:
                rows.append(row)
    return rows


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
        except Unsupported:
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
    with np.errstate(all="ignore"):
        apart = ~same_kind(a, b) | (np.isfinite(a) & np.isfinite(b) & np.isfinite(bound) & (np.abs(a - b) > bound))
    if not apart.any():
        return None
    index = np.unravel_index(int(np.argmax(apart)), apart.shape)
    one, other = _show(a[index]), _show(b[index])
    place = f"{name}[{', '.join(str(int(i)) for i in index)}]"
    return SpecialValue(name, words, one, other, f"{words} gives {one} in A and {other} in B at {place}")


def _show(x: float) -> float | str:
    return float(x) if np.isfinite(x) else str(float(x))
