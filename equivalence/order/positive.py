"""Reveals the order in which a softmax adds its exponentials, which have no negatives to mask with.

Takes a callable that gives softmax of n values; gives the OrderTree of its denominator.  What exp itself gives, and
sums in more digits than the result shows, cannot be told apart from outside.  Must not know any framework.

One value is 0, whose exponential 1 is the mask; others are a little above half a unit in its last place, so that one
of them is lost beside the mask and two of them are not, if they have met before: three terms at a time, the two that
meet first.  From a pivot the other terms are sorted by where they join its path to the root; terms that join it at
one place are a subtree, revealed in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cmp_to_key
from typing import Any

import numpy as np

from equivalence.numerics import arith, casts
from equivalence.numerics.formats import format_of, storage_dtype
from lowering.errors import Span, Unsupported

from .grown import Node, steps_of
from .tree import OrderTree, evaluate

Softmax = Callable[[np.ndarray], np.ndarray]
Exp = Callable[[np.ndarray], np.ndarray]
FORMATS = ("bf16", "f16", "f32", "f64")  # of the additions, narrowest first
SHARE = 0.75  # of a unit in the mask's last place, halved: between a half and one
MASKED = 64  # inputs of masks and units on which the tree must give the bits


@dataclass(slots=True)
class Denominator:
    """A softmax of ``n`` values of ``dtype``; ``adds`` is the format of its additions once that is known."""

    run: Softmax
    n: int
    dtype: str
    result: str
    name: str
    adds: str = ""
    calls: int = 0

    def __post_init__(self) -> None:
        self.adds = self._format()

    def meet_first(self, mask: int, one: int, other: int) -> bool:
        """Whether two terms are added to each other before either meets the mask."""
        return not self._lost(mask, (one, other), unit(self.dtype, self.adds))

    def _lost(self, mask: int, units: Sequence[int], value: float) -> bool:
        x = np.full(self.n, -np.inf, storage_dtype(self.dtype))
        x[list(units)] = value
        x[mask] = 0
        self.calls += 1
        got = float(self.run(x)[mask])
        if not 0.5 < got <= 1.0:
            raise self.refusal(f"a function that is no softmax: 0 among far smaller values gives {got:g}")
        return got == 1.0

    def _format(self) -> str:
        """The format in which three quarters of half a unit beside 1 are lost, and twice as much is not."""
        if self.n < 2:
            return self.result
        for name in FORMATS:
            less, more = unit(self.dtype, name), unit(self.dtype, name, 2 * SHARE)
            if less is not None and more is not None and self._lost(0, (1,), less) and not self._lost(0, (1,), more):
                return name
        raise self.refusal(
            f"a softmax that adds in more digits than its results in {self.result} show",
            "probe one whose results are wider: softmax(x, dtype=float32)",
        )

    def refusal(self, construct: str, hint: str = "") -> Unsupported:
        return Unsupported(construct, Span(self.name), hint)


@cache
def unit(dtype: str, adds: str, share: float = SHARE) -> Any:
    """A value of ``dtype`` whose exponential is about ``share`` of half a unit in the last place of 1, in ``adds``.

    None where the format has no such value: its neighbours' exponentials lie too far apart.
    """
    size = share * 2.0 ** -format_of(adds).p
    value = casts.cast(np.array([math.log(size)]), "f64", dtype)[0]
    got = math.exp(float(value)) / size * share
    return value if share * 0.75 < got < share * 1.25 else None


def reveal_softmax(
    run: Softmax, n: int, dtype: str = "f32", result: str | None = None, *, name: str = "the probed softmax",
    seed: int = 0,
) -> OrderTree:  # fmt: skip
    """The tree of the denominator of ``run(values)``, softmax of ``n`` values of ``dtype``.

    Raises Unsupported where its additions cannot be seen, or more than two terms meet at once, or no tree fits.
    """
    box = Denominator(run, n, dtype, result or dtype, name)
    root = _grow(box, np.random.default_rng(seed))
    _set_format(root, box.adds)
    what = f"{name}: sum of {n} exponentials, by probing"
    tree = OrderTree(tuple(f"[{i}]" for i in range(n)), steps_of(root, n), frozenset(), what)
    if verify_masked(tree, run, MASKED, seed, dtype, box.result).first is not None:
        raise box.refusal("a softmax whose denominator follows no one tree", "its order may depend on the data")
    return tree


def _grow(box: Denominator, rng: np.random.Generator) -> Node | int:
    top = Node([])
    todo: list[tuple[list[int], Node]] = [(list(range(box.n)), top)]
    while todo:
        group, parent = todo.pop()
        pivot = group[int(rng.integers(len(group)))]
        node: Node | int = pivot
        for level in _levels(box, pivot, [t for t in group if t != pivot]):
            node = Node([node])
            if len(level) > 1 and not box.meet_first(pivot, level[0], level[1]):
                raise box.refusal(f"a softmax in which terms {pivot}, {level[0]} and {level[1]} meet at once")
            todo.append((level, node))
        parent.children.append(node)
    return top.children[0]


def _levels(box: Denominator, pivot: int, others: list[int]) -> list[list[int]]:
    """The other terms by where they join the pivot's path to the root, the nearest first."""

    def nearer(one: int, other: int) -> int:
        if box.meet_first(other, pivot, one):
            return -1
        return 1 if box.meet_first(one, pivot, other) else 0

    levels: list[list[int]] = []
    for term in sorted(others, key=cmp_to_key(nearer)):
        if levels and nearer(levels[-1][0], term) == 0:
            levels[-1].append(term)
        else:
            levels.append([term])
    return levels


def _set_format(root: Node | int, name: str) -> None:
    todo = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, Node):
            node.dtype = name
            todo += node.children


@dataclass(frozen=True, slots=True)
class Shown:
    """How many inputs the tree gave bit for bit; the first that it did not, with both results."""

    agree: int
    trials: int
    first: np.ndarray | None = None
    of_box: float = 0.0
    of_tree: float = 0.0


def verify_masked(tree: OrderTree, run: Softmax, trials: int, seed: int, dtype: str, result: str) -> Shown:
    """Random values that are 0, a unit or -infinity: exponentials 1, far less, or 0: no digit of exp matters.

    Compared is 1 over the denominator, at a 0.
    """
    rng, adds = np.random.default_rng(seed), tree.steps[-1].dtype if tree.steps else result
    small = unit(dtype, adds)
    values = np.array([0.0, 0.0 if small is None else float(small), 0.0 if small is None else float(small), -np.inf])
    x = rng.choice(values, (trials, tree.size)).astype(storage_dtype(dtype))
    places = rng.integers(tree.size, size=trials)
    x[np.arange(trials), places] = 0
    e = np.asarray(casts.cast(np.exp(x.astype(np.float64)), "f64", adds))
    totals = evaluate(tree, list(e.T))
    want = np.asarray(casts.cast(1.0 / totals.astype(np.float64), "f64", result)).astype(np.float64)
    got = np.array([float(run(row)[place]) for row, place in zip(x, places, strict=True)])
    return _shown(x, got, want, got == want)


def verify_random(
    tree: OrderTree, run: Softmax, exp: Exp, trials: int, seed: int, dtype: str, result: str
) -> Shown:  # fmt: skip
    """Random normal values, every element: ``exp`` of x - max over the tree's sum, or times its inverse."""
    rng, adds = np.random.default_rng(seed), tree.steps[-1].dtype if tree.steps else result
    x = np.asarray(casts.cast(rng.standard_normal((trials, tree.size)), "f64", dtype))
    e = np.stack([exp(row) for row in x]).astype(storage_dtype(adds))
    got = np.stack([run(row) for row in x]).astype(np.float64)
    totals = evaluate(tree, list(e.T))[:, None]
    inverse = arith.div(np.ones_like(totals), totals, adds)
    ways = (arith.div(e, np.broadcast_to(totals, e.shape), adds), arith.mul(e, np.broadcast_to(inverse, e.shape), adds))
    rounded = [np.asarray(casts.cast(way.astype(np.float64), "f64", result)).astype(np.float64) for way in ways]
    best = max(rounded, key=lambda way: int((way == got).all(1).sum()))
    place = np.argmin(best == got, axis=1)[:, None]
    one, other = (np.take_along_axis(y, place, axis=1)[:, 0] for y in (got, best))
    return _shown(x, one, other, (best == got).all(1))


def _shown(x: np.ndarray, got: np.ndarray, want: np.ndarray, same: np.ndarray) -> Shown:
    if same.all():
        return Shown(len(same), len(same))
    first = int(np.argmin(same))
    return Shown(int(same.sum()), len(same), x[first].copy(), float(got[first]), float(want[first]))
