"""What all runs together say about one output: gathers Comparisons, never decides.

Takes runs in any order; gives Evidence, from which levels.py reads the verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from equivalence.evaluator import Freedoms, Lanes
from equivalence.evaluator.lanes import INTEGER_DATA
from equivalence.judge.compare import Comparison, blocks, compare, paths_equal
from equivalence.judge.runs import PairRun
from equivalence.verdicts import Finding
from lowering.errors import Span
from lowering.ir.types import dtype

WORDS = ("exact", "reassociated")
JUMP = 0.25  # of an output's largest value: what no chain of roundings comes to, but a decision that one turns


@dataclass(slots=True)
class Failure:
    """Inputs on which an output differs: the lane, the values and the bound; ``kind`` says in what way."""

    run: PairRun
    label: str
    index: tuple[int, ...]
    value_a: float
    value_b: float
    bound: float
    kind: str  # 'value' | 'one-sided' | 'undefined'


@dataclass(slots=True)
class Evidence:
    """Everything seen of one output."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    equal: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(WORDS, True))
    deep_runs: int = 0
    tests: int = 0
    max_ulp: float = 0.0
    max_abs: float = 0.0
    max_rel: float = 0.0
    bound_a: float = 0.0
    bound_b: float = 0.0
    measured: dict[str, float] = field(default_factory=dict)  # by side: distance from the real result, over the scale
    unsure: dict[str, int] = field(default_factory=dict)  # by side: lanes of integers that rounding may move
    lanes: int = 0  # looked at for that
    turns: dict[str, int] = field(default_factory=dict)  # by side: runs whose control rounding may turn on it alone
    lost: dict[str, Finding] = field(default_factory=dict)  # by side: digits that the other one keeps on some input
    freedoms_a: int = 0
    freedoms_b: int = 0
    undefined_a: bool = False
    undefined_b: bool = False
    path_differs: bool = False
    failures: list[Failure] = field(default_factory=list)
    real_runs: int = 0
    real_mismatch: bool = False
    void: np.ndarray | None = None  # elements at the set of shapes in hand that were no number in any run of `real`
    integer_values: bool = False  # the output is computed from integer inputs, of which only the given values are known
    symbolic: bool = True  # an integer output was compared for all values of the integers that it is made of
    real_uncomparable: float = 0.0
    uncontracted_equal: bool = True
    of_integers: bool = False  # an integer output made of integer inputs alone: agreement holds for the given ones
    undetermined: tuple[str, Span] | None = None  # B alone leaves open what an output is: in words, and where
    contradiction: str = ""  # an output beyond its own error bound of its real result

    def add_deep(self, run: PairRun, label: str, a: Lanes, b: Lanes, names: Sequence[str] = WORDS) -> Comparison:
        """A run under the fingerprint interpretations ``names``; those left out were seen to differ elsewhere."""
        comparison = compare(a, b, tuple(names))
        self.deep_runs += 1
        for name in WORDS:
            if name not in names:
                self.equal[name] = False
                continue
            paths = paths_equal(run.a, run.b, name)
            self.path_differs |= not paths
            self.equal[name] &= comparison.equal_words[name] and paths
        self.of_integers |= not a.dtype.is_float and INTEGER_DATA in (a.taint, b.taint)
        self.freedoms_a |= a.freedoms
        self.freedoms_b |= b.freedoms
        self.add_test(run, label, comparison)
        self.count_unsure(comparison)
        return comparison

    def add_uncontracted(self, run: PairRun, a: Lanes, b: Lanes, clash: bool) -> None:
        """A run in which every fma is its product and its sum; ``clash``: some product is fixed otherwise elsewhere."""
        equal = compare(a, b, ("reassociated",)).equal_words["reassociated"]
        equal = equal and not clash and paths_equal(run.a, run.b, "reassociated")
        self.uncontracted_equal = self.uncontracted_equal and equal

    def add_test(self, run: PairRun, label: str, comparison: Comparison, one_sided: bool = True) -> None:
        """A run that tests values against bounds; ``one_sided``: whether a NaN or infinity on one side counts."""
        self.tests += 1
        self.max_ulp = max(self.max_ulp, comparison.max_ulp)
        self.max_abs = max(self.max_abs, comparison.max_abs)
        self.max_rel = max(self.max_rel, comparison.max_rel)
        for kind, weight in (("value", comparison.excess), ("one-sided", comparison.one_sided)):
            if (kind == "one-sided" and not one_sided) or not weight.any():
                continue
            weight = np.where(comparison.undefined_a | comparison.undefined_b, 0.0, weight)
            if weight.any():
                self.fail(run, label, comparison, weight, kind)

    def count_unsure(self, comparison: Comparison) -> None:
        """Lanes of an output that a decision may change, on either side, as far as its rounding goes.

        Any bound moves an integer or a truth value; a float counts where it may be a good part of the largest away.
        """
        for side, data, bound, poison in (
            ("A", comparison.a, comparison.bound_a, comparison.undefined_a),
            ("B", comparison.b, comparison.bound_b, comparison.undefined_b),
        ):
            least = JUMP * scale_of(data) if self.of_floats else 0.0
            moved = (bound > least) & ~poison & (np.isfinite(bound) | (not self.of_floats))
            self.unsure[side] = self.unsure.get(side, 0) + int(moved.sum())
        self.lanes += comparison.a.size

    def count_turns(self, run: PairRun) -> None:
        """Whether rounding may take one side's control another way, and not the other's."""
        doubts = {"A": bool(run.a.unsure_paths), "B": bool(run.b.unsure_paths)}
        for side, other in (("A", "B"), ("B", "A")):
            self.turns[side] = self.turns.get(side, 0) + (doubts[side] and not doubts[other])

    def fail(self, run: PairRun, label: str, comparison: Comparison, weight: np.ndarray, kind: str) -> None:
        """Notes the lane of the largest weight."""
        index = tuple(int(i) for i in np.unravel_index(int(np.argmax(weight)), weight.shape))
        bound = float(comparison.bound_a[index] + comparison.bound_b[index])
        a, b = (float(side[index].astype(np.float64)) for side in (comparison.a, comparison.b))
        self.failures.append(Failure(run, label, index, a, b, bound, kind))

    @property
    def of_floats(self) -> bool:
        return dtype(self.dtype).is_float

    @property
    def witnessed(self) -> list[Failure]:
        return [f for f in self.failures if f.kind in ("value", "one-sided", "undefined")]

    def listed(self, freedoms: Freedoms) -> list[str]:
        """The open choices used on either side, in words, without repetition."""
        words = []
        for bits, side in ((self.freedoms_a, "A"), (self.freedoms_b, "B")):
            words += [f"{side}: {choice.what} at {choice.span}" for choice in freedoms.of(bits)]
        return list(dict.fromkeys(words))


def scale_of(values: np.ndarray) -> float:
    """Largest finite magnitude; 1 for an output of zeros."""
    largest = 0.0
    for s in blocks(values.shape):
        wide = np.abs(values[s].astype(np.float64))
        largest = max(largest, float(np.max(np.where(np.isfinite(wide), wide, 0.0), initial=0.0)))
    return largest or 1.0
