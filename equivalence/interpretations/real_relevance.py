"""Dismisses decision sites whose value no output depends on: the maximum that softmax subtracts and divides out again.

Takes a Real and a way to run the programs once more; changes the Real's records.  Must not know the evaluator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from equivalence.evaluator.lanes import Lanes
from equivalence.interpretations.real_cell import Cell, V, W, cell

if TYPE_CHECKING:
    from equivalence.interpretations.real import Real

#: Sites tried one by one when freeing all of them together changes an output.
MOST = 12


def dismiss(real: Real, run: Callable[[], Sequence[Lanes]]) -> set[str]:
    """Frees the unseen choices; those that leave every output as it was need not be seen.  Returns their keys.

    ``run`` evaluates both programs under ``real`` on the same inputs and gives all outputs (setting ``sites.side``).
    An output that stays the same under an arbitrary value of the choice does not depend on it, as in Schwartz-Zippel.
    """
    open_keys = {key for key, *_ in real.unseen() if real.sites[key].chooses}
    if not open_keys:
        return set()
    before = [cell(x) for x in run()]
    gone = _unmoved(real, run, before, open_keys)
    if not gone:
        single = sorted(open_keys)[:MOST]
        gone = {key for key in single if _unmoved(real, run, before, {key})}
    for key in gone:
        real.sites[key].possible = 0
    return gone


def _unmoved(real: Real, run: Callable[[], Sequence[Lanes]], before: Sequence[Cell], keys: Iterable[str]) -> set[str]:
    """``keys`` if freeing them moves no output, else nothing."""
    real.free = set(keys)
    try:
        after = [cell(x) for x in run()]
    finally:
        real.free = set()
    return set(keys) if all(_same(a, b) for a, b in zip(before, after, strict=True)) else set()


def _same(a: Cell, b: Cell) -> bool:
    """Equal in every channel valid on both sides, in every lane one; same marks elsewhere."""
    both = a.mark & b.mark
    v_differs = ((both & V) != 0) & (a.v != b.v)
    w_differs = ((both & W) != 0) & (a.w != b.w)
    compared = (both & (V | W)) != 0
    return not (v_differs.any() or w_differs.any()) and bool((compared | (a.mark == b.mark)).all())


__all__ = ["MOST", "dismiss"]
