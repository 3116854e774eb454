"""An accumulation as a tree of additions over numbered terms, flat so that a chain of thousands needs no recursion.

Gives Step and OrderTree.  Ids 0..n-1 are the terms, id n + k is the result of step k; a step only refers to smaller
ids.  Must not know where a tree comes from (extract.py, probe.py) nor how it is named (naming.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from equivalence.numerics import arith, casts
from equivalence.numerics.formats import storage_dtype

#: What a step does with its children:
#: ``add``: two children, one rounded addition; ``fma``: the first child is a product term that is not rounded before;
#: ``open``: any number of children in any order, which ``by`` leaves open;
#: ``fused``: any number of children in one addition that rounds once (a tensor core's adder);
#: ``racing``: any order, another one at each run (atomics);
#: ``compensated``: the sum of the children with the error of each addition carried along, ``by`` names the algorithm;
#: ``cast``: one child, rounded to ``dtype``; ``scale``: one child times a factor that is no term, rounded;
#: ``neg``: one child, its sign turned.
How = Literal["add", "fma", "open", "fused", "racing", "compensated", "cast", "scale", "neg"]
UNORDERED: frozenset[How] = frozenset(("open", "racing"))


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an accumulation; its result has format ``dtype``.

    ``by`` says who leaves an order open ("TTIR", "StableHLO", "ATen", "one dot"), or names a compensated sum.
    ``where`` names the program instance or launch that computes it, "" for the host or where there is one only.
    ``line`` is its source line, "file.py:12".
    """

    how: How
    children: tuple[int, ...]
    dtype: str = "f32"
    by: str = ""
    factor: float = 1.0
    where: str = ""
    line: str = ""


@dataclass(frozen=True, slots=True)
class OrderTree:
    """``terms`` are labels in the order of their place in the array that is summed; ``products[i]`` says that term i is
    a product.  The last step is the root; without steps the one term is the result."""

    terms: tuple[str, ...]
    steps: tuple[Step, ...]
    products: frozenset[int] = field(default_factory=frozenset)
    what: str = ""  # what is accumulated, in words: "sum of 64 terms at softmax.py:12"

    @property
    def size(self) -> int:
        return len(self.terms)

    @property
    def root(self) -> int:
        return len(self.terms) + len(self.steps) - 1

    def step(self, number: int) -> Step | None:
        """The step that makes id ``number``; None for a term."""
        return self.steps[number - self.size] if number >= self.size else None

    def spans(self) -> list[np.ndarray]:
        """For every id the sorted numbers of the terms below it."""
        below: list[np.ndarray] = [np.array([i]) for i in range(self.size)]
        for step in self.steps:
            below.append(np.sort(np.concatenate([below[c] for c in step.children])))
        return below

    def depth(self) -> int:
        """The largest number of rounded additions that a term goes through; an open step counts its worst order."""
        depths = [0] * self.size
        for step in self.steps:
            cost = {"open": len(step.children) - 1, "racing": len(step.children) - 1, "cast": 0, "scale": 0, "neg": 0}
            depths.append(max(depths[c] for c in step.children) + cost.get(step.how, 1))
        return depths[-1]

    def open_steps(self) -> list[Step]:
        """The steps whose order is not fixed."""
        return [step for step in self.steps if step.how in UNORDERED]


Values = Sequence[np.ndarray | tuple[np.ndarray, np.ndarray]]


def evaluate(tree: OrderTree, values: Values) -> np.ndarray:
    """The accumulation as the tree says, on arrays of one shape: one per term, or a pair of factors for a product.

    Open and racing steps add their children from left to right; a fused step adds exactly (in f64, which must hold the
    sum) and rounds once.  Arrays are in the storage dtype of their formats.  Raises ValueError where a product is
    needed unrounded and ``values`` has no factors for it.
    """
    results: list[np.ndarray] = []
    for number, value in enumerate(values):
        results.append(value if isinstance(value, np.ndarray) else _product(tree, number, value))
    for step in tree.steps:
        results.append(_step(step, results, values))
    return results[-1]


def _product(tree: OrderTree, number: int, factors: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    dtype = next((s.dtype for s in tree.steps if number in s.children), "f32")
    a, b = (f.astype(storage_dtype(dtype)) for f in factors)
    return arith.mul(a, b, dtype)


def _step(step: Step, results: list[np.ndarray], values: Values) -> np.ndarray:
    storage = storage_dtype(step.dtype)
    parts = [results[c] for c in step.children]
    match step.how:
        case "add" | "open" | "racing":
            total = parts[0].astype(storage)
            for part in parts[1:]:
                total = arith.add(total, part.astype(storage), step.dtype)
            return total
        case "fma":
            factors = values[step.children[0]] if step.children[0] < len(values) else None
            if not isinstance(factors, tuple):
                raise ValueError("a fused product needs its two factors")
            a, b = (f.astype(storage) for f in factors)
            return arith.fma(a, b, parts[1].astype(storage), step.dtype)
        case "fused":
            exact = np.sum([_exact(c, results, values) for c in step.children], axis=0)
            return casts.cast(exact, "f64", step.dtype)
        case "cast":
            return casts.cast(parts[0].astype(np.float64), "f64", step.dtype)
        case "scale":
            return arith.mul(parts[0].astype(storage), np.asarray(step.factor, storage), step.dtype)
        case "neg":
            return -parts[0]
        case "compensated":
            return _compensated(step, [part.astype(storage) for part in parts])


def _compensated(step: Step, parts: list[np.ndarray]) -> np.ndarray:
    """Kahan's sum corrects the next term, and in one variant the sum by the last error; the others add up the errors
    apart, which are exact, however computed."""
    carried = step.by.startswith("Kahan")

    def add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return arith.add(a, b, step.dtype)

    total, lost = parts[0], np.zeros_like(parts[0])
    for part in parts[1:]:
        term = add(part, -lost) if carried else part
        new = add(total, term)
        if carried:
            lost = add(add(new, -total), -term)
        else:
            virtual = add(new, -total)
            lost = add(lost, add(add(total, -add(new, -virtual)), add(term, -virtual)))
        total = new
    return total if step.by == "Kahan" else add(total, -lost if carried else lost)


def _exact(number: int, results: list[np.ndarray], values: Values) -> np.ndarray:
    given = values[number] if number < len(values) else None
    if isinstance(given, tuple):
        return given[0].astype(np.float64) * given[1].astype(np.float64)
    return results[number].astype(np.float64)
