"""The check: a program on many inputs and in many legal orders; no observed error may exceed its bound.

Takes a Program and given arrays; gives a Tally.  An element in one run counts once; those about which nothing is known
(an unknown bound or enclosure, an undefined value, an infinity) are not counted.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from equivalence.bounds.draws import DRAWS, Arrays, draw, is_float
from equivalence.bounds.observe import SLACK, Reference, Subject
from equivalence.interpretations.summation import Summation
from equivalence.tolerance.orders import leaves_open, orders
from lowering.ir.program import Program

Array = np.ndarray
ORDERS = 6  # runs without bounds on each input: the one with bounds and enclosures takes several times as long


@dataclass(slots=True)
class Worst:
    """An element beside its bound; ``inputs`` and ``order`` give it again."""

    ratio: float = 0.0
    output: str = ""
    index: tuple[int, ...] = ()
    apart: float = 0.0
    bound: float = 0.0
    draw: str = ""
    order: str = ""
    inputs: Arrays = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        place = f"{self.output}[{', '.join(map(str, self.index))}]"
        return (
            f"{place} is {self.apart:.3g} from its real result, {self.ratio:.3g} of its bound {self.bound:.3g}, "
            f"on {self.draw!r} inputs, {self.order}"
        )


@dataclass(slots=True)
class Tally:
    """``elements``: output elements judged, over all runs; ``unknown``: those that could not be."""

    elements: int = 0
    unknown: int = 0
    runs: int = 0
    worst: Worst = field(default_factory=Worst)
    broken: list[str] = field(default_factory=list)
    steered: bool = False

    def add(self, one: Reference, values: Array, words: tuple[str, str], inputs: Arrays) -> None:
        ratio = one.ratio(values)
        known = int((one.judged & np.isfinite(values.astype(np.float64))).sum())
        self.elements += known
        self.unknown += ratio.size - known
        most = float(ratio.max(initial=0.0))
        if most > self.worst.ratio:
            index = tuple(int(i) for i in np.unravel_index(int(ratio.argmax()), ratio.shape))
            apart = float(one.apart(values)[index])
            self.worst = Worst(most, one.name, index, apart, float(one.bound[index]), *words, inputs)
        if most > SLACK:
            self.broken.append(str(self.worst))


def check(
    program: Program, given: Mapping[str, Array], elements: int, seed: int = 0, seconds: float = 60.0,
    subject: Subject | None = None,
) -> Tally:  # fmt: skip
    """Runs until ``elements`` were judged or time is out; the given inputs first.  Raises IrverifyError."""
    subject, tally, start = subject or Subject.of(program), Tally(), time.process_time()
    every = list(orders(seed)) if leaves_open(program) else []
    drawn = any(is_float(x) for x in given.values())
    names, number = ["given", *DRAWS], 0
    while tally.elements < elements and time.process_time() - start < seconds and (drawn or number == 0):
        name = names[number % len(names)] if number < len(names) else names[1 + number % len(DRAWS)]
        inputs = dict(given) if name == "given" else draw(name, given, np.random.default_rng([seed, number]))
        if not once(subject, tally, name, inputs, some(every, number, ORDERS)):
            break
        number += 1
        if number > 2 * len(names) and not tally.elements:
            break
    return tally


def some(every: Sequence[Summation], number: int, count: int) -> list[Summation]:
    """A few orders, others each time."""
    return [every[(number * count + k) % len(every)] for k in range(min(count, len(every)))]


def once(subject: Subject, tally: Tally, name: str, inputs: Arrays, sampled: Sequence[Summation]) -> bool:
    """One set of inputs: the evaluator's order, then others.  False where data steer."""
    references = subject.references(inputs)
    if references is None:
        tally.steered = True
        return False
    tally.runs += 1
    for one in references:
        tally.add(one, one.value, (name, "the evaluator's order"), inputs)
    positions = {output: k for k, (output, _) in enumerate(subject.program.outputs)}
    for order in sampled:
        values = subject.values(inputs, order)
        tally.runs += 1
        for one in references:
            tally.add(one, values[positions[one.name]], (name, order.name), inputs)
    return True
