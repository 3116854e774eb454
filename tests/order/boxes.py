"""Summations with known orders, one addition after the other in numpy: black boxes for the tests of probing.

A shape is a term's number or a tuple of shapes; tuples of more than two are one addition in a truncating adder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from equivalence.numerics import arith
from equivalence.numerics.formats import storage_dtype
from equivalence.order.tree import OrderTree

Shape = Any  # int | tuple[Shape, ...]; chains are too deep for a recursive type to help


def chain(terms: Sequence[Shape]) -> Shape:
    shape = terms[0]
    for term in terms[1:]:
        shape = (shape, term)
    return shape


def halves(terms: Sequence[Shape]) -> Shape:
    if len(terms) == 1:
        return terms[0]
    middle = (len(terms) + 1) // 2
    return (halves(terms[:middle]), halves(terms[middle:]))


def lanes(n: int, count: int) -> Shape:
    return halves([chain(range(lane, n, count)) for lane in range(count)])


def blocked(n: int, size: int) -> Shape:
    return chain([halves(range(start, min(start + size, n))) for start in range(0, n, size)])


def random_shape(n: int, seed: int) -> Shape:
    rng = np.random.default_rng(seed)
    pool: list[Shape] = list(range(n))
    while len(pool) > 1:
        i, j = sorted(int(k) for k in rng.choice(len(pool), 2, replace=False))
        second, first = pool.pop(j), pool.pop(i)
        pool.append((first, second))
    return pool[0]


def fused_chain(n: int, width: int) -> Shape:
    """An accumulator that takes ``width`` products at a time, as tensor cores do."""
    shape: Shape = tuple(range(width))
    for start in range(width, n, width):
        shape = (shape, *range(start, min(start + width, n)))
    return shape


def canonical(shape: Shape) -> Shape:
    """Children with the lowest term first, as in a revealed tree; without recursion, for chains."""
    return fold(shape, lambda term: (term, term), _sorted)[1]


def _sorted(parts: list[tuple[int, Shape]]) -> tuple[int, Shape]:
    parts = sorted(parts, key=lambda part: part[0])
    return parts[0][0], tuple(part[1] for part in parts)


def fold(shape: Shape, leaf: Callable[[int], Any], join: Callable[[list[Any]], Any]) -> Any:
    """``join`` over the results of the children, ``leaf`` of a term."""
    done: list[Any] = []
    todo: list[tuple[Shape, bool]] = [(shape, False)]
    while todo:
        part, ready = todo.pop()
        if not isinstance(part, tuple):
            done.append(leaf(part))
        elif ready:
            children = done[len(done) - len(part) :]
            del done[len(done) - len(part) :]
            done.append(join(children))
        else:
            todo.append((part, True))
            todo += [(child, False) for child in reversed(part)]
    return done[0]


def shape_of(tree: OrderTree) -> Shape:
    """A tree's additions as a shape; casts are left out."""
    shapes: list[Shape] = list(range(tree.size))
    for step in tree.steps:
        children = tuple(shapes[child] for child in step.children)
        shapes.append(children[0] if step.how == "cast" else children)
    return shapes[-1]


def adding(shape: Shape, accumulator: str = "f32", result: str | None = None) -> Callable[[np.ndarray], float]:
    """A sum in this order, every addition rounded in ``accumulator``, and the result once more in ``result``."""
    kind = storage_dtype(accumulator).type
    out = storage_dtype(result or accumulator).type

    def run(values: np.ndarray) -> float:
        with np.errstate(all="ignore"):
            total = fold(shape, lambda i: kind(values[i]), lambda parts: kind(sum(parts[1:], parts[0])))
            return float(out(total))

    return run


def cutting(shape: Shape, extra: int = 2) -> Callable[[np.ndarray, np.ndarray], float]:
    """A dot product in f32 by adders that cut every term off ``extra`` bits below the largest one's last place, and
    the sum to 24 bits."""

    def run(a: np.ndarray, b: np.ndarray) -> float:
        return float(fold(shape, lambda i: float(a[i]) * float(b[i]), lambda parts: _cut_sum(parts, extra)))

    return run


def _cut_sum(parts: list[float], extra: int) -> float:
    top = max(math.frexp(part)[1] for part in parts if part) if any(parts) else 0
    last = Fraction(2) ** (top - 24 - extra)
    total = sum(int(Fraction(part) / last) for part in parts) * last
    if total == 0:
        return 0.0
    place = Fraction(2) ** (math.frexp(float(total))[1] - 24)
    return float(int(total / place) * place)


def multiplying(shape: Shape, fused: Sequence[int], dtype: str = "f32") -> Callable[[np.ndarray, np.ndarray], float]:
    """A dot product in this order; products in ``fused`` are added unrounded, the others are rounded before."""
    kind = storage_dtype(dtype)

    def run(a: np.ndarray, b: np.ndarray) -> float:
        def join(parts: list[Any]) -> Any:
            kept = next((part for part in parts if isinstance(part, int) and part in fused), None)
            if kept is not None:
                other = next(part for part in parts if part is not kept)
                rest = arith.mul(a[other], b[other], dtype) if isinstance(other, int) else other
                return arith.fma(np.asarray(a[kept], kind), np.asarray(b[kept], kind), np.asarray(rest, kind), dtype)
            values = [arith.mul(a[p], b[p], dtype) if isinstance(p, int) else p for p in parts]
            return arith.add(np.asarray(values[0], kind), np.asarray(values[1], kind), dtype)

        return float(fold(shape, lambda i: i, join))

    return run


# -- boxes without one order -------------------------------------------------------------------------------------


def kahan(terms: Sequence[int], last: bool = False) -> Callable[[np.ndarray], float]:
    """Kahan's sum; with ``last`` the error of its last addition is subtracted too."""

    def run(values: np.ndarray) -> float:
        total = lost = np.float32(0)
        with np.errstate(all="ignore"):
            for i in terms:
                term = np.float32(values[i] - lost)
                after = np.float32(total + term)
                lost = np.float32(np.float32(after - total) - term)
                total = after
        return float(total - lost if last else total)

    return run


def neumaier(values: np.ndarray) -> float:
    total = lost = np.float32(0)
    for value in values:
        after = np.float32(total + value)
        large, small = (total, value) if abs(total) >= abs(value) else (value, total)
        lost += np.float32(np.float32(large - after) + small)
        total = after
    return float(total + lost)


def ascending(values: np.ndarray) -> float:
    return adding(chain(range(len(values))))(np.sort(values))


def smallest_first(values: np.ndarray) -> float:
    return adding(chain(range(len(values))))(values[np.argsort(abs(values), kind="stable")])


def shuffling(seed: int = 0) -> Callable[[np.ndarray], float]:
    rng = np.random.default_rng(seed)
    return lambda values: adding(chain(range(len(values))))(rng.permutation(values))


def remembering() -> Callable[[np.ndarray], float]:
    """Keeps its first result for an array, whatever is put into it afterwards."""
    kept: dict[int, float] = {}
    return lambda values: kept.setdefault(id(values), float(values.sum()))


def by_signs(values: np.ndarray) -> float:
    """The positive terms first, then the negative ones."""
    return adding(chain(range(len(values))))(np.concatenate([values[values >= 0], values[values < 0]]))
