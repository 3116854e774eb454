"""The search: inputs and legal orders on which a program's error is as large a share of its bound as can be found.

Takes a Program and given arrays; gives a Found.  Hill climbing: an input is changed in a few places, or another order
is taken, and what raises the largest share stays.  Only well-conditioned elements count: those whose condition number
is at most WELL, and whose value is far from subnormal.  For the others a bound may be right and far off.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from equivalence.bounds.condition import Condition
from equivalence.bounds.draws import Arrays, draw, is_float, within
from equivalence.bounds.observe import Reference, Subject
from equivalence.interpretations.enclosure import prepare
from equivalence.interpretations.summation import Summation
from equivalence.numerics.formats import format_of
from equivalence.tolerance.orders import leaves_open, orders
from lowering.ir.program import Program

Array = np.ndarray
WELL = 100.0  # the largest condition number of a well-conditioned element
ORDINARY = ("normal", "positive", "one value a row", "large", "rows of many sizes")
_OWN = Summation("the evaluator's order")


@dataclass(slots=True)
class Found:
    """``share``: the largest error found over its bound; ``tries``: inputs and orders that were looked at.

    ``elements``: well-conditioned ones in all tries; ``exact``: of these none has a bound but 0.
    """

    share: float = 0.0
    tries: int = 0
    elements: int = 0
    exact: bool = True
    output: str = ""
    start: str = ""
    order: str = ""

    @property
    def ratio(self) -> float:
        """bound / found: 1 where nothing is lost, infinite where no error was found at all."""
        return 1 / self.share if self.share else 1.0 if self.exact else np.inf


def search(
    program: Program, given: Mapping[str, Array], tries: int, seed: int = 0, seconds: float = 10.0
) -> Found | None:
    """None where data steer or no input holds floats.  ``seconds`` of processor time.  Raises IrverifyError."""
    if not any(is_float(x) for x in given.values()):
        return None
    climber = _Climber(program, given, np.random.default_rng(seed), seed)
    end = time.process_time() + seconds
    while climber.found.tries < tries and time.process_time() < end:
        if not climber.step():
            return None
    return climber.found


class _Climber:
    """The best inputs and order so far."""

    def __init__(self, program: Program, given: Mapping[str, Array], rng: np.random.Generator, seed: int) -> None:
        meaning = prepare(program, program)
        self.subject, self.given, self.rng = Subject(program, meaning, Condition(meaning.meaning)), given, rng
        self.orders = [_OWN, *(orders(seed) if leaves_open(program) else ())]
        self.found, self.best, self.order = Found(), dict(given), _OWN
        self.positions = {name: k for k, (name, _) in enumerate(program.outputs)}
        self.names = ["given", *ORDINARY]

    def step(self) -> bool:
        """One more set of inputs under the best order and another one; false where data steer."""
        number = self.found.tries
        if self.names:
            start = self.names.pop(0)
            inputs = dict(self.given) if start == "given" else draw(start, self.given, self.rng)
        else:
            start, inputs = self.found.start, moved(self.best, self.given, self.rng)
        references = self.subject.references(inputs)
        self.found.tries += 1
        if references is None:
            return False
        counted = [_well(one) for one in references]
        for order in {self.order.name: self.order, (o := self.orders[number % len(self.orders)]).name: o}.values():
            values = None if order is _OWN else self.subject.values(inputs, order)
            for one, well in zip(references, counted, strict=True):
                self._look(one, well, one.value if values is None else values[self.positions[one.name]], inputs)
                if self.best is inputs and self.found.order != order.name:
                    self.order, self.found.order = order, order.name
                    self.found.start = start
        return True

    def _look(self, one: Reference, well: Array, values: Array, inputs: Arrays) -> None:
        self.found.elements += int(well.sum())
        self.found.exact &= not (one.bound[well] > 0).any()
        share = float(np.where(well, one.ratio(values), 0.0).max(initial=0.0))
        if share > self.found.share:
            self.found.share, self.found.output, self.best = share, one.name, inputs
            self.found.order = ""


def _well(one: Reference) -> Array:
    """Elements that count."""
    fmt = format_of(one.dtype)
    least = fmt.smallest_normal * 2.0 ** (fmt.p if fmt.p > 11 else 2)
    return one.judged & (one.loss <= WELL) & (np.abs(one.value) >= least)


def _nudged(x: Array, rng: np.random.Generator) -> Array:
    return x * (1 + rng.choice([2.0**-20, 2.0**-10, 2.0**-4]) * rng.standard_normal(x.shape))


def _redrawn(x: Array, rng: np.random.Generator) -> Array:
    return np.where(rng.random(x.shape) < rng.choice([0.02, 0.2, 0.5]), rng.permuted(x.reshape(-1)).reshape(x.shape), x)


def _levelled(x: Array, rng: np.random.Generator) -> Array:
    """One value of a row all over it."""
    if not x.ndim or not x.shape[-1]:
        return x
    chosen = rng.random((*x.shape[:-1], 1)) < 0.5
    return np.where(chosen, x[..., rng.integers(x.shape[-1]), None], x)


def _scaled(x: Array, rng: np.random.Generator) -> Array:
    return x * 2.0 ** rng.uniform(-1, 1)


MOVES: tuple[Callable[[Array, np.random.Generator], Array], ...] = (_nudged, _redrawn, _levelled, _scaled)


def moved(best: Mapping[str, Array], given: Mapping[str, Array], rng: np.random.Generator) -> Arrays:
    """``best`` with one or all of its float inputs changed a little."""
    names = [name for name, x in best.items() if is_float(x)]
    chosen = {names[rng.integers(len(names))]} if rng.random() < 0.5 else set(names)
    move, result = MOVES[rng.integers(len(MOVES))], dict(best)
    for name in chosen:
        wide = move(best[name].astype(np.float64), rng)
        with np.errstate(all="ignore"):
            result[name] = within(wide, given[name]).astype(best[name].dtype)
    return result
