"""Shrinks a failing input to the simplest one that still fails, and replays it.

All proposals go through one ``consider``: it keeps what still fails and counts (the shrinker of Hypothesis does so).
Takes a Failure; gives a Witness.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from equivalence.evaluator.frame import OutOfTime
from equivalence.interpretations.error import Error
from equivalence.judge import ties
from equivalence.judge.compare import compare
from equivalence.judge.evidence import Failure
from equivalence.judge.inputs import SETS, into_domain, is_float
from equivalence.judge.runs import Pair, Runner
from equivalence.verdicts import Witness
from lowering.errors import Unsupported

Arrays = dict[str, np.ndarray]


@dataclass(slots=True)
class Shrinker:
    """``best`` fails, and is the simplest seen to fail; ``deadline`` bounds the search."""

    pair: Pair
    runner: Runner
    error: Error
    failure: Failure
    output: int
    deadline: float
    best: Arrays = field(default_factory=dict)

    def consider(self, proposal: Arrays) -> bool:
        """Keeps a proposal that still fails in the same way."""
        if time.monotonic() > self.deadline:
            return False
        try:
            failing = self.check(proposal)
        except (Unsupported, OutOfTime):  # what cannot be run shows nothing; the failure seen stays
            return False
        if failing is None:
            return False
        self.best, self.failure = proposal, failing
        return True

    def check(self, inputs: Arrays) -> Failure | None:
        """Runs a proposal; the failure on it, of the same kind, or None."""
        run = ties.run(self.runner, self.pair, self.error, inputs)
        if not run.on_path:
            return None
        _, a, b = run.outputs()[self.output]
        seen = compare(a, b, (), in_scope=self.failure.label in SETS)
        defined = ~(seen.undefined_a | seen.undefined_b)
        weight = seen.excess if self.failure.kind == "value" else seen.one_sided.astype(float)
        weight = np.where(defined, weight, 0.0)
        if not (weight > 0).any():
            return None
        at = (
            self.failure.index
            if weight[self.failure.index] > 0
            else np.unravel_index(int(np.argmax(weight)), weight.shape)
        )
        index = tuple(int(i) for i in at)
        x, y = (float(side[index].astype(np.float64)) for side in (seen.a, seen.b))
        bound = float(seen.bound_a[index] + seen.bound_b[index])
        return Failure(run, self.failure.label, index, x, y, bound, self.failure.kind)

    def shrink(self) -> Failure:
        """Zeros where possible, then short decimals, input by input, in halves."""
        for name, x in list(self.best.items()):
            if is_float(x) and not name.startswith("weight:"):
                self._simplify(name, lambda part: np.zeros_like(part))
                self._simplify(name, lambda part: np.ones_like(part))
                self._simplify(name, lambda part: np.round(part.astype(np.float64), 1).astype(part.dtype))
        return self.failure

    def _simplify(self, name: str, simpler: Callable[[np.ndarray], np.ndarray]) -> None:
        pending = [(0, self.best[name].size)]
        while pending and time.monotonic() < self.deadline:
            low, high = pending.pop(0)
            flat = self.best[name].reshape(-1).copy()
            given = self.pair.inputs[name].astype(np.float64)
            part = into_domain(simpler(flat[low:high]).astype(np.float64), given).astype(flat.dtype)
            if high <= low or (flat[low:high] == part).all():
                continue
            flat[low:high] = part
            if not self.consider({**self.best, name: flat.reshape(self.best[name].shape)}) and high - low > 1:
                middle = (low + high) // 2
                pending += [(low, middle), (middle, high)]


def witness(pair: Pair, runner: Runner, error: Error, failure: Failure, output: int, seconds: float) -> Witness:
    """The failure's inputs made simple, replayed by our evaluator."""
    shrinker = Shrinker(pair, runner, error, failure, output, time.monotonic() + seconds, dict(failure.run.inputs))
    if failure.kind != "undefined":
        failure = shrinker.shrink()
    return Witness(
        dict(shrinker.best),
        failure.index,
        failure.value_a,
        failure.value_b,
        failure.bound,
        output=pair.output_names[output],
    )
