"""The run of a pair at the given set of shapes under the fingerprints and bounds: the longest part of most comparisons.

Gives Given, which can be made before the other sets of shapes are known, by a thread of its own.  A small set of shapes
may lead: a fingerprint that parts every output there is not made for a large given one, whose verdict it cannot raise.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from equivalence.evaluator import Limits
from equivalence.evaluator.frame import OutOfTime
from equivalence.interpretations import enclosure
from equivalence.interpretations.depends import Depends
from equivalence.interpretations.error import Error
from equivalence.interpretations.error_meaning import MeantError
from equivalence.interpretations.exact import Exact
from equivalence.interpretations.reassociated import Reassociated
from equivalence.judge import scope, structure
from equivalence.judge.compare import paths_equal, words_equal
from equivalence.judge.evidence import WORDS
from equivalence.judge.runs import Pair, PairRun, Runner
from lowering.errors import Unsupported

LED_FROM = 1 << 17  # input elements of a given set of shapes that is worth a run of a smaller one before it
LEAD_SHARE = 8  # how many times smaller that one has to be

Deep = tuple[PairRun, list[Any]]


class Given:
    """``make`` runs it and keeps what is raised; ``result`` gives the run, making it where that was not done.

    ``leads``: the next sets of shapes, in order, as far as they were run first, with what ``deep`` gave for each;
    ``lost``: the fingerprints that such a run parted in every output.
    """

    def __init__(self, pair: Pair, options: Any) -> None:
        self.pair, self.seed, self.target = pair, options.seed, options.target
        started = time.monotonic()
        limits = Limits(masked_load_is_zero=masked_loads_are_zero(options), deadline=started + 2 * options.timeout)
        self.runner = Runner(limits=limits)
        self.seconds = 0.0
        self.leads: list[tuple[Pair, Deep]] = []
        self.lost: frozenset[str] = frozenset()
        self._run: PairRun | None = None
        self._failure: Exception | None = None
        self._hashes: list[Any] = []

    def wants(self, size: int) -> bool:
        """Whether a run at one more set of shapes, of ``size`` input elements, is worth its time before this one."""
        begun = self._run is not None or self._failure is not None
        return not begun and len(self.lost) < len(WORDS) and self.pair.size >= max(LED_FROM, LEAD_SHARE * size)

    def lead(self, others: Iterable[Pair]) -> None:
        """Runs the sets of shapes ``others``, the next ones in order, before the given one, as far as that helps."""
        coming = iter(others)
        while self.wants(0):
            other = next(coming, None)
            if other is None or not self.wants(other.size) or not self._follow(other):
                return

    def _follow(self, lead: Pair) -> bool:
        """Runs the next set of shapes first; false, and nothing done, where that cannot be."""
        started = time.monotonic()
        if structure.mismatch(lead) is not None:
            return False
        try:
            done = deep(self.runner, lead, self.seed + len(self.leads) + 1, bounds(lead, False, self.target))
        except (Unsupported, OutOfTime, MemoryError):  # said where its turn comes
            return False
        self.leads.append((lead, done))
        run, hashes = done
        if not scope.failing(run, self.runner):
            self.lost |= {h.name for h in hashes if _parted(run, h.name)}
        self.seconds += time.monotonic() - started
        return True

    def make(self) -> None:
        started = time.monotonic()
        if structure.mismatch(self.pair) is None:
            try:
                error = bounds(self.pair, True, self.target)
                self._run, self._hashes = deep(self.runner, self.pair, self.seed, error, self.lost)
            except Exception as failure:  # raised where the run is asked for
                self._failure = failure
        self.seconds += time.monotonic() - started

    def result(self) -> Deep:
        """The run and its fingerprint interpretations; raises what running it raised."""
        if self._run is None and self._failure is None:
            self.make()
        if self._failure is not None:
            raise self._failure
        assert self._run is not None
        return self._run, self._hashes

    def stop(self) -> None:
        """Gives up a run in progress."""
        self.runner.limits.stopped.set()


def _parted(run: PairRun, name: str) -> bool:
    """Whether a fingerprint differs in every output."""
    return not paths_equal(run.a, run.b, name) or not any(words_equal(name, a, b) for _, a, b in run.outputs())


def deep(runner: Runner, pair: Pair, seed: int, error: Error, lost: frozenset[str] = frozenset()) -> Deep:
    """A run under the fingerprints that are not ``lost``, `depends` and the bounds; and those fingerprints."""
    hashes = [made(seed) for made in (Exact, Reassociated) if made.name not in lost]
    return runner.run(pair, [*hashes, Depends(marks=False), error], pair.inputs), hashes


def bounds(pair: Pair, usual: bool, target: str | None = None) -> Error:
    """Bounds that count from the real function both sides are meant to compute: constants as identified.

    ``usual``: with the expected error as well, which only findings about the given inputs use.
    """
    return MeantError(enclosure.prepare(pair.a, pair.b).meaning, usual, target)


def masked_loads_are_zero(options: Any) -> bool:
    """A named NVIDIA target fixes what masked-off lanes hold (SEMANTICS §8); without one they are undefined."""
    return (options.target or "").startswith("sm_")
