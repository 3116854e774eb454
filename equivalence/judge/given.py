"""The run of a pair at the given set of shapes under the fingerprints and bounds: the longest part of most comparisons.

Gives Given, which can be made before the other sets of shapes are known, by a thread of its own.
"""

from __future__ import annotations

import time
from typing import Any

from equivalence.evaluator import Limits
from equivalence.interpretations import enclosure
from equivalence.interpretations.depends import Depends
from equivalence.interpretations.error import Error
from equivalence.interpretations.error_meaning import MeantError
from equivalence.interpretations.exact import Exact
from equivalence.interpretations.reassociated import Reassociated
from equivalence.judge import structure
from equivalence.judge.runs import Pair, PairRun, Runner


class Given:
    """``make`` runs it and keeps what is raised; ``result`` gives the run, making it where that was not done."""

    def __init__(self, pair: Pair, options: Any) -> None:
        self.pair, self.seed = pair, options.seed
        started = time.monotonic()
        limits = Limits(masked_load_is_zero=masked_loads_are_zero(options), deadline=started + 2 * options.timeout)
        self.runner = Runner(limits=limits)
        self.seconds = 0.0
        self._run: PairRun | None = None
        self._failure: Exception | None = None
        self._hashes: list[Any] = []

    def make(self) -> None:
        started = time.monotonic()
        if structure.mismatch(self.pair) is None:
            try:
                self._run, self._hashes = deep(self.runner, self.pair, self.seed, bounds(self.pair, usual=True))
            except Exception as failure:  # raised where the run is asked for
                self._failure = failure
        self.seconds = time.monotonic() - started

    def result(self) -> tuple[PairRun, list[Any]]:
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


def deep(runner: Runner, pair: Pair, seed: int, error: Error) -> tuple[PairRun, list[Any]]:
    """A run under both fingerprints, `depends` and the bounds; the fingerprints are given too."""
    hashes = [Exact(seed), Reassociated(seed)]
    return runner.run(pair, [*hashes, Depends(marks=False), error], pair.inputs), hashes


def bounds(pair: Pair, usual: bool) -> Error:
    """Bounds that count from the real function both sides are meant to compute: constants as identified.

    ``usual``: with the expected error as well, which only findings about the given inputs use.
    """
    return MeantError(enclosure.prepare(pair.a, pair.b).meaning, usual)


def masked_loads_are_zero(options: Any) -> bool:
    """A named NVIDIA target fixes what masked-off lanes hold (SEMANTICS §8); without one they are undefined."""
    return (options.target or "").startswith("sm_")
