"""Runs both programs of a pair on one set of inputs, under chosen interpretations.

Takes two Programs with the same input names; gives PairRun.  Must not judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

import numpy as np

from equivalence.evaluator import Freedoms, Lanes, Limits, Machine, Outcome
from equivalence.fields import threads
from equivalence.interpretations.base import Interpretation
from lowering.ir.program import Program

Inputs = Mapping[str, np.ndarray]
SIDE_BY_SIDE_FROM = 1 << 17  # input elements below which two threads cost more than they save


@dataclass(frozen=True, slots=True)
class Pair:
    """Two programs at one set of shapes; ``inputs`` are the given ones, under A's names."""

    a: Program
    b: Program
    inputs: dict[str, np.ndarray]

    @property
    def size(self) -> int:
        """Input elements: what running it costs, roughly."""
        return sum(x.size for x in self.inputs.values())

    @property
    def output_names(self) -> list[str]:
        return [name for name, _ in self.a.outputs]


@dataclass(slots=True)
class PairRun:
    """Outcomes of both programs on ``inputs``.

    ``on_path``: the host reads what it read on the given inputs.  Elsewhere the host may do something else than was
    captured, so such a run says nothing.  ``tree``: generic combiners went in a tree (Limits.tree).
    """

    pair: Pair
    inputs: dict[str, np.ndarray]
    a: Outcome
    b: Outcome
    on_path: bool = True
    tree: bool = False

    def outputs(self) -> list[tuple[str, Lanes, Lanes]]:
        """(A's name, A's lanes, B's lanes) by position."""
        return [
            (name, self.a.outputs[name], self.b.outputs[other])
            for (name, _), (other, _) in zip(self.pair.a.outputs, self.pair.b.outputs, strict=True)
        ]


@dataclass(slots=True)
class Runner:
    """Knows how to run a pair; one freedom registry for all its runs."""

    freedoms: Freedoms = field(default_factory=Freedoms)
    limits: Limits = field(default_factory=Limits)
    _given_reads: dict[int, tuple[bytes, ...]] = field(default_factory=dict)

    def run(self, pair: Pair, interpretations: Sequence[Interpretation], inputs: Inputs, fill: float = 0.0) -> PairRun:
        """Both sides; ``fill`` is the concrete value of undefined lanes."""
        a, b = self._both(pair, interpretations, inputs, fill)
        on_path = a.reads == self._reads(pair, pair.a, a) and b.reads == self._reads(pair, pair.b, b)
        return PairRun(pair, dict(inputs), a, b, on_path, self.limits.tree)

    def in_a_tree(self) -> Runner:
        """The same, with generic combiners applied in a tree."""
        return replace(self, limits=replace(self.limits, tree=True))

    def with_masked_zero(self) -> Runner:
        """The same, with 0 in lanes that a load masks off: what is undefined then was never written or lies outside."""
        return replace(self, limits=replace(self.limits, masked_load_is_zero=True))

    def the_other_way(self, kind: str, spared: frozenset[bytes] = frozenset()) -> Runner:
        """The same, with open choices of a kind ('keys', 'sets') made the other way round, but for ``spared`` rows."""
        return replace(self, limits=replace(self.limits, backward=kind, spared=spared))

    def _both(
        self, pair: Pair, interpretations: Sequence[Interpretation], inputs: Inputs, fill: float
    ) -> tuple[Outcome, Outcome]:
        if not self.apart(pair):
            a, b = (self.one(p, interpretations, inputs, fill, side) for side, p in enumerate((pair.a, pair.b)))
            return a, b
        return self.side_by_side(pair, interpretations, [copy(own) for own in interpretations], inputs, fill)

    @staticmethod
    def apart(pair: Pair) -> bool:
        """Whether a pair is large enough for a thread of its own for each side."""
        return pair.size >= SIDE_BY_SIDE_FROM and threads.THREADS > 1

    def side_by_side(
        self,
        pair: Pair,
        for_a: Sequence[Interpretation],
        for_b: Sequence[Interpretation],
        inputs: Inputs,
        fill: float = 0.0,
    ) -> tuple[Outcome, Outcome]:
        """Both sides at once; the two lists of interpretations share nothing that the order of their steps could show.

        B notes its open choices in a registry of its own, which is read after A's.
        """
        other = replace(self, freedoms=Freedoms())
        a, b = threads.side_by_side(
            lambda: self.one(pair.a, for_a, inputs, fill, 0), lambda: other.one(pair.b, for_b, inputs, fill, 1)
        )
        for lanes in b.outputs.values():
            lanes.freedoms = self.freedoms.adopt(other.freedoms, lanes.freedoms)
        return a, b

    def _reads(self, pair: Pair, program: Program, outcome: Outcome) -> tuple[bytes, ...]:
        """What the host reads on the given inputs; evaluated once, and only for hosts that read."""
        if outcome.reads and id(program) not in self._given_reads:
            self._given_reads[id(program)] = self.one(program, (), pair.inputs).reads
        return self._given_reads.get(id(program), ())

    def one(
        self,
        program: Program,
        interpretations: Sequence[Interpretation],
        inputs: Inputs,
        fill: float = 0.0,
        side: int = 0,
    ) -> Outcome:
        limits = replace(self.limits, undefined_fill=fill, side=side)
        return Machine(program, interpretations, self.freedoms, limits).run(inputs)
