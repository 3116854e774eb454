"""Inputs that find the bugs people really had: sets of arrays derived from the given ones.

Takes the given arrays; gives named sets.  A derived set stays in the domain the given values suggest (non-negative,
non-positive, within [0, 1]); integers keep their given values.  Special values are in special.py.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping

import numpy as np

from lowering.ir.types import DType, from_numpy

Arrays = dict[str, np.ndarray]
Maker = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def _small(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return x * 1e-3


def _large(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return x * 16


def _huge(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """As far as "finite" reaches (SEMANTICS §6): what overflows here on one side only is different."""
    return x * 100


def _positive(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.abs(x)


def _negative(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return -np.abs(x)


def _ties(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.rint(x)


def _zero_one(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 2, x.shape).astype(np.float64)


def _shifted(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """|mean| much larger than the standard deviation."""
    return x + 100


def _thin_rows(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows of very different size; the first is nearly zero."""
    if x.ndim == 0:
        return x * 1e-6
    scale = np.resize([1e-6, 1.0, 30.0], x.shape[0]).reshape(-1, *([1] * (x.ndim - 1)))
    return x * scale


def _cancelling(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Neighbours that nearly cancel."""
    flat = x.copy().reshape(-1)
    flat[1::2] = -flat[: flat.size // 2 * 2 : 2][: flat[1::2].size] * (1 + 2.0**-12)
    return flat.reshape(x.shape)


def _equal(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.full_like(x, 0.75)


def _equal_rows(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The first element of each row throughout: a variance of 0, whose rounded sums are not exact."""
    return np.broadcast_to(x[..., :1], x.shape).copy() if x.ndim else x


def _equal_columns(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.broadcast_to(x[:1], x.shape).copy() if x.ndim else x


def _equal_planes(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One value in the last two axes: what an instance norm calls a row."""
    return np.broadcast_to(x[..., :1, :1], x.shape).copy() if x.ndim > 1 else x


def _throughout(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.full_like(x, rng.choice(x.reshape(-1)))


def _balanced(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A mean far below the standard deviation: what is decided by the sign of a sum that a narrow format blurs."""
    return x - x.mean() + x.std() * 2.0**-13


def _zero(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.zeros_like(x)


def _fresh(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same values in another order: other neighbours, other places for the extremes."""
    return rng.permutation(x.reshape(-1)).reshape(x.shape)


_GENERAL: dict[str, Maker] = {
    "reordered": _fresh,
    "large": _large,
    "a hundred times as large": _huge,
    "negative": _negative,
    "positive": _positive,
    "ties": _ties,
    "small": _small,
    "rows of very different size": _thin_rows,
    "zeros and ones": _zero_one,
    "mean far from zero": _shifted,
    "mean far below zero": lambda x, rng: x - 300,
    "far below zero": lambda x, rng: -np.abs(x) * 100,
    "tiny": lambda x, rng: x * 1e-6,
    "minute": lambda x, rng: x * 1e-15,
    "cancelling neighbours": _cancelling,
    "all equal": _equal,
    "zero": _zero,
}
#: Sets as random as the given values.
USUAL = frozenset(["reordered", "positive", "negative", "small", "balanced"])
#: Sums whose terms cancel but for their rounding, where an extent is no power of two.
EQUAL: dict[str, Maker] = {
    "equal rows": _equal_rows,
    "equal columns": _equal_columns,
    "equal planes": _equal_planes,
    "one value throughout": _throughout,
    "alike": lambda x, rng: x,
}
MASKED = "masks false throughout"
OPPOSITE = "of opposite signs"
MIXED = "a row of every kind"  # where there are few runs
#: Of tests only: where values tie whose residues differ, nothing is learned about real functions.
SETS: dict[str, Maker] = {**_GENERAL, "balanced": _balanced, OPPOSITE: lambda x, rng: np.abs(x) * 20, **EQUAL}


def _ascending(axis: int) -> Maker:
    return lambda x, rng: np.sort(x, axis=axis) if x.ndim else x


def _descending(axis: int) -> Maker:
    return lambda x, rng: -np.sort(-x, axis=axis) if x.ndim else x


#: Sets that put an extremum first or last: they steer `real` toward outcomes that random inputs rarely show.
STEERING: dict[str, Maker] = {
    "ascending rows": _ascending(-1),
    "descending rows": _descending(-1),
    "ascending columns": _ascending(0),
    "descending columns": _descending(0),
    **_GENERAL,
}
_EVERY = {**STEERING, **SETS}


FEW = 2  # distinct values up to which an input is a mask or a flag: it stays as given


def is_flag(values: np.ndarray) -> bool:
    return values.size > FEW and np.unique(values.reshape(-1)[:64]).size <= FEW


def unflagged(given: Mapping[str, np.ndarray]) -> set[str]:
    """Float inputs that are no flags: whose elements may stand for any number."""
    return {name for name, x in given.items() if is_float(x) and not is_flag(x.astype(np.float64))}


def masked(given: Mapping[str, np.ndarray], integers: Container[str] = ()) -> Iterator[tuple[str, Arrays]]:
    """Truth values, and ``integers`` that are such, false throughout: what a guard against an empty mask waits for."""
    bools = {name for name, x in given.items() if (x.dtype.kind == "b" or name in integers) and x.any()}
    masks = {name: np.zeros_like(given[name]) for name in given if name in bools}
    if masks:
        yield MASKED, {**given, **masks}


def into_domain(made: np.ndarray, given: np.ndarray) -> np.ndarray:
    """``made`` moved into the domain that ``given`` suggests."""
    if not given.size:
        return made
    low, high = given.min(), given.max()
    if low >= 0:
        made = np.abs(made)
        if low > 0:
            made = np.maximum(made, min(low, 1e-3))
        if high <= 1:
            made = np.minimum(made, 1.0)
    elif high <= 0:  # log-probabilities
        made = -np.abs(made)
    return made


def make(name: str, given: Mapping[str, np.ndarray], seed: int) -> Arrays:
    """The set called ``name``; weights of modules keep their given values."""
    if name == "alike":
        return alike(given)
    if name == MIXED:
        return _mixed(given, seed)
    rng = np.random.default_rng([seed, *name.encode()])
    made = {key: _one(name, key, x, rng) for key, x in given.items()}
    if name == OPPOSITE:  # every other input: products of two, such as attention's scores, are far below zero
        for key in [key for key, x in made.items() if x is not given[key]][1::2]:
            wide = [array.astype(np.float64) for array in (made[key], given[key])]
            made[key] = into_domain(-wide[0], wide[1]).astype(made[key].dtype)
    return made


def _mixed(given: Mapping[str, np.ndarray], seed: int) -> Arrays:
    """Row number r of every input as in the set number r: one run stands for all sets where rows are independent."""
    sets = [name for name in SETS if name not in ("alike", OPPOSITE)]
    made = dict[str, np.ndarray](given)
    for number, name in enumerate(sets):
        rows = {key: x[number :: len(sets)] for key, x in given.items() if x.ndim > 1 and x.shape[0] > number}
        for key, x in make(name, rows, seed).items():
            if x is not rows[key]:
                made[key] = made[key].copy() if made[key] is given[key] else made[key]
                made[key][number :: len(sets)] = x
    return made


def alike(given: Mapping[str, np.ndarray]) -> Arrays:
    """The rows of the first of all float inputs of one rank, row length and dtype in every one: distances of 0."""
    made, first = dict[str, np.ndarray](given), dict[tuple[object, ...], np.ndarray]()
    for key, x in given.items():
        if is_float(x) and x.size and not key.startswith("weight:") and not is_flag(x.astype(np.float64)):
            model = first.setdefault((x.ndim, x.shape[-1:], x.dtype), x)
            same = model if model.shape == x.shape else np.resize(model, x.shape)
            outside = bool((x >= 0).all()) and bool((same < 0).any())  # probabilities, variances
            made[key] = into_domain(same.astype(float), x.astype(float)).astype(x.dtype) if outside else same
    return made


def _one(name: str, key: str, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if not is_float(x) or key.startswith("weight:"):
        return x
    given = x.astype(np.float64)
    if is_flag(given):
        return x
    with np.errstate(all="ignore"):
        return into_domain(_EVERY[name](given, rng), given).astype(x.dtype)


def is_float(x: np.ndarray) -> bool:
    return dtype_of(x).is_float


def dtype_of(x: np.ndarray) -> DType:
    return from_numpy(x.dtype)


def sets(
    given: Mapping[str, np.ndarray], seed: int, makers: Mapping[str, Maker] = SETS
) -> Iterator[tuple[str, Arrays]]:
    """Every set, most telling first."""
    if any(is_float(x) for x in given.values()):
        for name in makers:
            yield name, make(name, given, seed)
