"""Dismisses decision sites whose value no output depends on: the maximum that softmax subtracts and divides out again.

Takes a Real and a way to run the programs once more; changes the Real's records.  Must not know the evaluator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from equivalence.evaluator.lanes import Lanes
from equivalence.interpretations.real_cell import Cell, V, W, cell

if TYPE_CHECKING:
    from equivalence.interpretations.real import Real

#: Sites tried one by one when freeing all of them together changes an output.
MOST = 12
HALVES, HALVED_RUNS = 2, 2  # sets of lanes on which a decision is turned, and inputs on which that is tried
MOST_MORE = 4  # times that choices are freed because they go by freed ones


def dismiss(real: Real, *runs: Callable[[], Sequence[Lanes]]) -> set[str]:
    """Frees the unseen choices; those that leave every output as it was need not be seen.  Returns their keys.

    Comparisons and selections are freed one at a time, by taking the other outcome everywhere.

    Each of ``runs`` evaluates both programs under ``real``, always on the same inputs, and gives all outputs (setting
    ``sites.side``).  An output that stays the same under an arbitrary value of the choice does not depend on it, as in
    Schwartz-Zippel; it must stay the same in all runs, since a guard may hide the choice in some.
    """
    choices = real.sites.open_sites() - real.sites.steering
    trial = _Trial(real, runs)
    gone = trial.unmoved(choices)
    if not gone:
        alone = {key for key in sorted(choices)[:MOST] if trial.unmoved({key}, first=True)}
        gone = trial.unmoved(alone)
        for key in sorted(alone) if not gone else ():
            gone = trial.unmoved(gone | {key}) or gone
    # Together: two guards may move nothing one by one.  But not a comparison beside its own selection: each undoes the
    # other.
    decisions = [_growing(trial, gone, real.sites.open_sites(kind) - real.sites.steering) for kind in ("cmp", "select")]
    gone = gone.union(*decisions)
    real.sites.dismiss(gone)
    return gone


def _growing(trial: _Trial, gone: set[str], keys: set[str]) -> set[str]:
    """``gone`` and as many of ``keys`` as leave all outputs as they are when freed together."""
    for key in sorted(keys)[:MOST]:
        gone = trial.unmoved(gone | {key}) or gone
    return gone


class _Trial:
    """The outputs of each run as they are, computed once."""

    def __init__(self, real: Real, runs: Sequence[Callable[[], Sequence[Lanes]]]) -> None:
        self.real, self.runs = real, runs
        self.before: dict[int, list[Cell]] = {}
        self.operands: dict[int, list[bytes]] = {}

    def unmoved(self, keys: set[str], first: bool = False) -> set[str]:
        """``keys`` if freeing them moves no output of any run (``first``: of the first one), else nothing.

        Decisions are turned everywhere, then on arbitrary halves of their lanes: what is turned twice is as it was.
        Choices that go by a freed one's sample are freed as well; a comparison that does so leaves all open.
        """
        if not keys:
            return set()
        free, consulted = set(keys), set[str]()
        halves = self._decides(keys)
        for number, run in enumerate(self.runs[:1] if first else self.runs):
            if number not in self.before:
                self.before[number], self.operands[number] = self._as_it_is(run)
            for half in range(HALVES + 1 if halves and number < HALVED_RUNS else 1):
                for _ in range(MOST_MORE):
                    after, met = self._freed(run, free, half, self.operands[number])
                    consulted |= self.real.consulted
                    if all(_same(a, b) for a, b in zip(self.before[number], after, strict=True)):
                        more = met - free
                        if not more:
                            break
                        if not self._choosers(more):
                            return set()
                        free |= more
                        continue
                    return set()
                else:
                    return set()
        return set(keys) if first or consulted >= keys else set()

    def _as_it_is(self, run: Callable[[], Sequence[Lanes]]) -> tuple[list[Cell], list[bytes]]:
        """The outputs without a trial, and what every decision decides by."""
        self.real.recording, self.real.operands = True, []
        try:
            return [cell(x) for x in run()], self.real.operands
        finally:
            self.real.recording, self.real.operands = False, []

    def _freed(
        self, run: Callable[[], Sequence[Lanes]], free: set[str], half: int, operands: list[bytes]
    ) -> tuple[list[Cell], set[str]]:
        """The outputs with ``free`` freed, and the decisions that went by what was put in a choice's place."""
        real = self.real
        real.free, real.half, real.met, real.consulted = set(free), half, set(), set()
        real.decisions, real.operands = 0, operands
        seen = real.sites.snapshot()
        try:
            return [cell(x) for x in run()], set(real.met)
        finally:
            real.free, real.half, real.operands = set(), 0, []
            real.sites.restore(seen)  # what a value that no input gives has opened was not seen

    def _decides(self, keys: set[str]) -> bool:
        return any(record.key in keys and record.kind in ("cmp", "select") for record in self.real.sites.values())

    def _choosers(self, keys: set[str]) -> bool:
        """Whether all of them take one of their operands, and control follows none."""
        known = {record.key for record in self.real.sites.values() if record.chooses}
        return keys <= known - self.real.sites.steering


def _same(a: Cell, b: Cell) -> bool:
    """Equal in every channel valid on both sides, in every lane one; same marks elsewhere."""
    both = a.mark & b.mark
    v_differs = ((both & V) != 0) & (a.v != b.v)
    w_differs = ((both & W) != 0) & (a.w != b.w)
    compared = (both & (V | W)) != 0
    return not (v_differs.any() or w_differs.any()) and bool((compared | (a.mark == b.mark)).all())


__all__ = ["MOST", "dismiss"]
