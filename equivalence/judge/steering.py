"""Brings every decision of a pair to show each of its outcomes in an output, and dismisses those that do not matter.

Takes a comparison of the two programs on arrays and the Reals it runs under; gives what stays unseen (SEMANTICS §5).
A site is dismissed only if it moves no output on any of the derived inputs: behind a guard that the given inputs do
not open, it would move none on them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from equivalence.evaluator.lanes import Lanes
from equivalence.interpretations.real import Real, dismiss
from equivalence.judge import beyond, inputs, ranges
from lowering.errors import Span

MOST_TURNS = 64  # sets of spikes
MOST_PAST = 4  # constants that all elements are put past
MOST_IDLE = 8  # sets in which no lane has a turn that had none
SPIKES = 4  # in a row, one lower than the other: what is found once the largest is taken away

Arrays = inputs.Arrays


class Steering:
    """``compare`` runs both programs on arrays and says which outputs agree; ``outputs`` gives all of them, once.

    ``keep``: moves arrays into the ranges that the user declared; ``outside``: named sets that leave the given domain;
    ``exclude``: excludes what no input brings to an output, as seen on these sets.
    """

    def __init__(
        self,
        reals: Sequence[Real],
        given: Arrays,
        seed: int,
        compare: Callable[[str, Arrays], None],
        agree: Callable[[Arrays, bool], bool],
        outputs: Callable[[Arrays], Sequence[Lanes]],
        late: Callable[[], bool],
        keep: Callable[[Arrays], Arrays] = lambda arrays: arrays,
        outside: Sequence[tuple[str, Arrays]] = (),
        exclude: Callable[[Sequence[Arrays]], None] = lambda sets: None,
    ) -> None:
        self.reals, self.given, self.seed = reals, given, seed
        self.compare, self.agree, self.outputs, self.late, self.keep = compare, agree, outputs, late, keep
        self.outside, self.exclude = outside, exclude

    def run(self, derived: bool, only: Collection[str] = ()) -> list[tuple[Span, str]]:
        """What was never seen; ``derived``: whether other inputs than the given ones are affordable, ``only`` these."""
        real = self.reals[0]
        sets = [("given", self.given)]
        if derived:
            derived_sets = inputs.sets(self.given, self.seed, inputs.STEERING)
            sets += [(name, self.keep(arrays)) for name, arrays in derived_sets if not only or name in only]
            sets += [] if only else [*inputs.masked(self.given, ranges.integer_masks(self.given)), *self.outside]
        if real.sites:
            self.compare("given", self.given)
        for name, arrays in sets[1:]:
            if not real.unseen() or self.late():
                break
            self.compare(name, arrays)
        if derived and not only:
            self._pass()
        if real.unseen() and not self.late():
            self.exclude([arrays for _, arrays in sets])
        self._dismiss([arrays for _, arrays in sets])
        if derived and not only:
            self._spike()
        return [(span, outcome) for _, outcome, span in real.unseen()]

    def _dismiss(self, sets: Sequence[Arrays]) -> None:
        real = self.reals[0]
        if real.unseen():
            dismiss(real, *[lambda arrays=arrays: self.outputs(arrays) for arrays in sets])
        choices = real.choices() - real.sites.steering
        missing = real.sites.open_sites() & choices
        if not missing:
            return
        for keys in (missing, choices):
            if self._alike_whatever_is_chosen(keys, sets):
                real.sites.dismiss(keys)
                break

    def _alike_whatever_is_chosen(self, keys: set[str], sets: Sequence[Arrays]) -> bool:
        """Whether the two sides agree when every extremum is an arbitrary function of its operands, the same on both.

        So the clamp that both apply to one value, which no input reaches, need not be seen both ways.
        """
        for real in self.reals:
            real.alike, real.met = keys, set()
        try:
            agree = all(self.agree(arrays, arrays is self.given) and not self.late() for arrays in sets)
            return agree and all(real.met <= keys for real in self.reals)
        finally:
            for real in self.reals:
                real.alike = set()

    def _pass(self) -> None:
        """Everything past a literal that has not won, or has always won: a running maximum that starts from it."""
        for constant in self.reals[0].sites.unmet()[:MOST_PAST]:
            if not self.late():
                self.compare(beyond.PAST, self.keep(beyond.past(self.given, constant, self.seed)))

    def _spike(self) -> None:
        """Each lane its turn, for as long as there is something to be gained."""
        had, idle = self._had(), 0
        for name, arrays in spikes(self.given, self.seed):
            if not self._incomplete() or idle > MOST_IDLE or self.late():
                break
            self.compare(name, self.keep(arrays))
            had, before = self._had(), had
            idle = 0 if had > before else idle + 1

    def _had(self) -> int:
        """Lanes that have had their turn, over all sites."""
        return sum(int(had.sum()) for record in self.reals[0].sites.values() for _, had in record.turns.values())

    def _incomplete(self) -> bool:
        """Whether some lane has not had the outcome that every lane must have."""
        return any(record.turns and record.missing() for record in self.reals[0].sites.values())


def spikes(given: Mapping[str, np.ndarray], seed: int) -> Iterator[tuple[str, Arrays]]:
    """Every float input with a few lanes of each row, then of each column, far above the others, then far below.

    Turn by turn each lane has its turn in some row.
    """
    rng = np.random.default_rng([seed, *b"spikes"])
    for turn in range(MOST_TURNS):
        for axis in (-1, 0):
            for sign in (1.0, -1.0):
                made = {name: _spiked(name, x, turn, axis, sign, rng) for name, x in given.items()}
                yield f"spikes {turn}", made


def _spiked(name: str, x: np.ndarray, turn: int, axis: int, sign: float, rng: np.random.Generator) -> np.ndarray:
    if not inputs.is_float(x) or not x.size or x.ndim == 0 or name.startswith("weight:"):
        return x
    wide = x.astype(np.float64)
    rows = np.moveaxis(wide.copy(), axis, -1).reshape(-1, wide.shape[axis])
    first = np.arange(rows.shape[0]) + turn * rows.shape[0]
    size = sign * (3.0 * np.abs(wide).max(initial=0.0) + 1.0)
    for k in reversed(range(min(SPIKES, rows.shape[1]))):
        places = (first + k) % rows.shape[1]
        rows[np.arange(rows.shape[0]), places] = size * rng.uniform(SPIKES - k, SPIKES - k + 0.5, rows.shape[0])
    moved = np.moveaxis(wide, axis, -1).shape
    made = np.moveaxis(rows.reshape(moved), -1, axis)
    return inputs.into_domain(made, wide).astype(x.dtype)
