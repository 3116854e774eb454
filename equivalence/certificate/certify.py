"""Proves that two programs compute the same real functions at one shape, element by element, or says what is missing.

Takes two Programs and inputs of one shape; gives a Certificate per output.  It holds for every finite input of the
shape at which no denominator vanishes and both sides are finite, for the given values of integer inputs, under the
identifications listed.  Must not know verdicts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from equivalence.certificate.classes import Matching
from equivalence.certificate.meanings import Meanings
from equivalence.certificate.operations import Operations
from equivalence.certificate.record import NODE, Graph, record
from equivalence.certificate.symbols import Budget, Infinite, Number, TooLarge, Uncertain
from equivalence.certificate.terms import Terms
from equivalence.evaluator import Lanes
from equivalence.evaluator.frame import OutOfTime
from lowering.errors import IrverifyError
from lowering.ir.program import Program

PATIENCE = 3  # vain searches for copies, after which each element is proved by itself
FEW = 16  # of the candidates, that are compared before all are
MOST_AT_ONCE = 1 << 12  # elements that are compared with a proved one in one go

Inputs = Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is proved of one output.

    ``elements``: (proved, of all), by ``classes`` of which one was brought to a canonical form; ``reason``: why the
    first that is not proved is not; ``identified``: the constants that were taken to be one number, masks that count
    as -inf, and integer inputs whose values are given.
    """

    output: str
    certified: bool
    elements: tuple[int, int]
    classes: int
    reason: str
    identified: tuple[str, ...]
    seconds: float


class Pair:
    """Both graphs under one set of symbols."""

    def __init__(self, programs: tuple[Program, Program], graphs: tuple[Graph, Graph], budget: Budget) -> None:
        self.graphs, self.budget = graphs, budget
        self.operations = Operations(budget)
        self.meanings = Meanings(self.operations, *programs)
        names = [n for n, v in zip(programs[0].input_names, programs[0].body.args) if v.type.dtype.is_integer]
        self.given = [f"the integer input {name} has the given values" for name in names]
        self.terms = tuple(Terms(graph, self.operations, self.meanings, self._leaf) for graph in graphs)

    def _leaf(self, name: str, index: int) -> Number:
        if name.startswith("random "):
            raise Uncertain("a random number")
        return self.operations.of(self.operations.symbol("input", (name, index)))

    def why_not(self, k: int, element: int) -> str:
        """Why an element of output ``k`` is not known to be the same on both sides; empty if it is."""
        found: list[Number] = []
        for side, terms, graph in zip("AB", self.terms, self.graphs, strict=True):
            lanes = graph.outputs[k]
            if _plane(lanes, "poison")[element]:
                return f"an undefined value may reach it on side {side}"
            if not np.isfinite(_data(lanes)[element]):
                return f"it is not finite on side {side} at the given inputs"
            try:
                found.append(terms.value(int(_plane(lanes, NODE)[element])))
            except TooLarge:
                raise
            except Uncertain as reason:
                return f"side {side}: {reason.args[0]}"
        a, b = found
        if isinstance(a, Infinite) or isinstance(b, Infinite):
            return "it is infinite"
        return "" if self.operations.equal(a, b) else "the canonical forms differ"

    def copies(self, k: int, element: int, among: np.ndarray) -> np.ndarray:
        """Which of the elements ``among`` have the same graphs as ``element``, on both sides together; a few first."""
        if among.size > 2 * FEW and not self.copies(k, element, among[:: -(-among.size // FEW)]).any():
            return np.zeros(among.size, bool)
        matching = Matching(len(among))
        for graph in self.graphs:
            nodes, lanes = _plane(graph.outputs[k], NODE), graph.outputs[k]
            matching.side(graph, int(nodes[element]), nodes[among])
            matching.alike &= (_plane(lanes, "poison")[among] == 0) & np.isfinite(_data(lanes)[among])
        return matching.distinct()


def _plane(lanes: Lanes, name: str) -> np.ndarray:
    assert lanes.planes is not None
    return lanes.full(lanes.planes[name])[0].reshape(-1)


def _data(lanes: Lanes) -> np.ndarray:
    return lanes.full(lanes.data)[0].reshape(-1).astype(np.float64)


def certify(
    program_a: Program, program_b: Program, inputs_a: Inputs, inputs_b: Inputs, *, seconds: float
) -> list[Certificate]:
    """A Certificate for each output, by position; ``seconds`` for all of them together."""
    start = time.monotonic()
    budget = Budget(start + seconds)
    try:
        graphs = (record(program_a, inputs_a, 0, budget.deadline), record(program_b, inputs_b, 1, budget.deadline))
    except OutOfTime:
        return list(_none(program_a, "out of time", time.monotonic() - start))
    except IrverifyError as error:
        return list(_none(program_a, str(error), time.monotonic() - start))
    pair = Pair((program_a, program_b), graphs, budget)
    found = []
    for k, (name, _) in enumerate(program_a.outputs):
        began = time.monotonic() if k else start
        found.append(_certificate(pair, k, name, began))
    return found


def _none(program: Program, reason: str, seconds: float) -> Iterator[Certificate]:
    for name, value in program.outputs:
        yield Certificate(name, False, (0, value.type.size), 0, reason, (), seconds)


def _certificate(pair: Pair, k: int, name: str, start: float) -> Certificate:
    shape = pair.graphs[0].outputs[k].shape
    opened = [text for graph in pair.graphs for text in graph.open[k]]
    opened += [] if shape == pair.graphs[1].outputs[k].shape else ["the shapes differ"]
    whole = int(np.prod(shape, dtype=np.int64))
    proof = Proof(pair, k, np.arange(whole), opened[0] if opened else "")
    while proof.left.size and not proof.reason:
        proof.step()
    reason = proof.reason if opened or not proof.reason else f"{name}{proof.place(shape)}: {proof.reason}"
    identified = (*pair.meanings.words(), *pair.budget.notes, *pair.given)
    elements = whole - proof.left.size, whole
    return Certificate(name, not reason, elements, proof.classes, reason, identified, time.monotonic() - start)


@dataclass(slots=True)
class Proof:
    """Of one output: ``left`` are the elements that nothing is known of yet, ``reason`` why the first of them fails."""

    pair: Pair
    k: int
    left: np.ndarray
    reason: str = ""
    classes: int = 0
    in_vain: int = 0  # times in a row that looking for copies cost more than it gained

    def place(self, shape: tuple[int, ...]) -> list[int]:
        return [int(i) for i in np.unravel_index(int(self.left[0]), shape)]

    def step(self) -> None:
        """Proves the first element that is left, and with it its copies."""
        began, element = time.monotonic(), int(self.left[0])
        try:
            self.reason = self.pair.why_not(self.k, element)
        except TooLarge as limit:
            self.reason = str(limit)
        if self.reason:
            return
        self.classes, self.left = self.classes + 1, self.left[1:]
        proved = time.monotonic()
        if self.in_vain < PATIENCE and self.left.size:
            parts = [self.left[at : at + MOST_AT_ONCE] for at in range(0, self.left.size, MOST_AT_ONCE)]
            alike = np.concatenate([self.pair.copies(self.k, element, part) for part in parts])
            self.left = self.left[~alike]
            gained = float(alike.sum()) * (proved - began) - (time.monotonic() - proved)
            self.in_vain = 0 if gained > 0 else self.in_vain + 1
