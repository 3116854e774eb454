"""One run on special values, as rows: what happens to every output on both sides, against the given inputs.

Takes PairRuns on a Planted set and on the given inputs; gives SpecialRows.  Must not choose inputs, nor judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from equivalence.evaluator import Lanes
from equivalence.judge.compare import compare, poisoned, same_kind
from equivalence.judge.planes import plane, value
from equivalence.judge.planted import NAN, TIES, ZEROS, Planted, shown
from equivalence.judge.runs import PairRun
from equivalence.verdicts import SpecialRow

Array = np.ndarray
#: What only a choice of the source's or the target's tells apart.
ALIKE, DIFFER, SIGNS, OPEN, NOT_RUN = "alike", "differ", "signs differ", "open", "not run"


@dataclass(slots=True)
class Side:
    """One output of one side, on special values and on the given inputs."""

    letter: str
    lanes: Lanes
    given: Lanes | None

    @property
    def values(self) -> Array:
        return value(self.lanes).astype(np.float64)

    def moved(self) -> Array:
        """Elements that are not what they are on the given inputs."""
        x = self.values
        if self.given is None or self.given.shape != self.lanes.shape:
            return np.ones(x.shape, bool)
        y = value(self.given).astype(np.float64)
        with np.errstate(all="ignore"):
            return ~((x == y) & (np.signbit(x) == np.signbit(y)) | (np.isnan(x) & np.isnan(y)))

    def outcome(self) -> str:
        """'NaN in 3 of 21 elements, other numbers in 2', counted over the elements that moved."""
        x, moved = self.values, self.moved()
        undefined = poisoned(self.lanes) & moved
        counts = {
            "undefined": undefined,
            "NaN": np.isnan(x),
            "+infinity": np.isposinf(x),
            "-infinity": np.isneginf(x),
            "another number": np.isfinite(x),
        }
        parts, left = list[str](), moved
        for words, where in counts.items():
            n = int((where & left).sum())
            left = left & ~where
            if n:
                parts.append(f"{words} in {n}" + ("" if parts else f" of {x.size} element{'s' * (x.size != 1)}"))
        return ", ".join(parts) or "unchanged"


def rows(planted: Planted, run: PairRun, given: PairRun | None) -> Iterator[SpecialRow]:
    """One row for every output with elements."""
    before = given.outputs() if given is not None else [(name, None, None) for name, *_ in run.outputs()]
    for (name, a, b), (_, given_a, given_b) in zip(run.outputs(), before, strict=True):
        if a.data.size:
            yield _row(planted, name, Side("A", a, given_a), Side("B", b, given_b))


def _row(planted: Planted, name: str, a: Side, b: Side) -> SpecialRow:
    bound = plane(a.lanes, "bound") + plane(b.lanes, "bound")
    far = tie_apart(a.lanes, b.lanes) if planted.kind == TIES else apart(a.values, b.values, bound)
    signs = _signs(a.lanes, b.lanes) if planted.kind in ("-0", *ZEROS) else np.zeros(far.shape, bool)
    status = DIFFER if far.any() else SIGNS if signs.any() else ALIKE
    telling = next((m for m in (far, signs, _reached(planted, a), _reached(planted, b)) if m.any()), far)
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(telling)), telling.shape))
    x, y = (_show(side.values[index], zeros=status == SIGNS) for side in (a, b))
    place = f"{name}[{', '.join(map(str, index))}]"
    said = f"{planted.words} gives {x} in A and {y} in B at {place}"
    if status == SIGNS:
        said = f"{planted.words}: {place} is {x} in A and {y} in B"
    explained = float(bound[index]) if np.isfinite(bound[index]) else 0.0
    return SpecialRow(
        name, planted.kind, planted.words, status, a.outcome(), b.outcome(), index, x, y, explained, said,
        planted.plants, planted.inputs,
    )  # fmt: skip


def apart(a: Array, b: Array, bound: Array) -> Array:
    """Elements of another kind, or further apart than both bounds explain."""
    with np.errstate(all="ignore"):  # a NaN on the way to a finite value leaves no bound: then only half of it counts
        limit = np.where(np.isfinite(bound), bound, np.maximum(np.abs(a), np.abs(b)) / 2)
        return ~same_kind(a, b) | (np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) > limit))


def tie_apart(a: Lanes, b: Lanes) -> Array:
    """The same for finite inputs, where a decision that a rounding turns is no difference."""
    found = compare(a, b, ())
    return (found.excess > 0) | found.one_sided


def _signs(a: Lanes, b: Lanes) -> Array:
    """Zeros of another sign."""
    x, y = value(a), value(b)
    if not a.dtype.is_float:
        return np.zeros(x.shape, bool)
    unlike = (x == 0) & (y == 0) & (np.signbit(x) != np.signbit(y))
    return unlike & (plane(a, "poison") == 0) & (plane(b, "poison") == 0)


def _reached(planted: Planted, side: Side) -> Array:
    """Elements that show best what the special value does: those that became special, else those that moved."""
    moved = side.moved()
    special = moved & (np.isnan(side.values) if planted.kind == NAN else ~np.isfinite(side.values))
    return special if special.any() else moved


def _show(x: float, zeros: bool) -> float | str:
    if zeros:
        return "-0" if np.signbit(x) else "+0"
    return shown(float(x))
