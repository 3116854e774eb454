"""Inputs that find the bugs people really had: sets of arrays derived from the given ones.

Takes the given arrays; gives named sets.  A derived set stays in the domain the given values suggest (non-negative,
non-positive, within [0, 1]); integers keep their given values.  Special values are in special.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from equivalence.numerics import formats
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
    "mean far below zero": lambda x, rng: x - 1000,
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
OPPOSITE = "of opposite signs"
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


OUTSIDE, FAR_OUTSIDE = "outside the given range", "far outside the given range"
HEAVY = "weights a hundred times as large"
#: Sets that leave the given values' domain: a side that becomes NaN or infinite counts where A is finite throughout.
BEYOND = frozenset({OUTSIDE, FAR_OUTSIDE, HEAVY})
NEAR, EDGES = "near the constants", "one element beyond the others"
MOST_EDGES, MOST_MEETINGS = 12, 64
MOST_CONSTANTS = 48
SMALL, MOST_TURNS = 1 << 12, 14
MOST_ALONE = 4  # inputs that have the pool's values while all others are ones
MOST_DIVIDED = 8  # constants up to which their quotients are tried too: where c x reaches d
LARGEST = 1e30  # beyond this a constant is a mask, not a threshold
FEW = 2  # distinct values up to which an input is a mask or a flag: it stays as given


def outside(
    given: Mapping[str, np.ndarray], seed: int, declared: frozenset[str] = frozenset()
) -> Iterator[tuple[str, Arrays]]:
    """Signs and sizes that the given values do not have, where no range was declared; nothing where none changes.

    A generator's convenience (torch.rand) is no promise: without these a dropped relu or a missing shift by the
    maximum would pass.  Weights only grow.
    """
    for label, factor in ((OUTSIDE, 4.0), (FAR_OUTSIDE, 100.0)):
        rng = np.random.default_rng([seed, *label.encode()])
        made = {name: x if name in declared else _beyond(name, x, factor, rng) for name, x in given.items()}
        if any(made[name] is not given[name] for name in given):
            yield label, made
    weights = {name: _grown(x) for name, x in given.items() if name.startswith("weight:") and is_float(x) and x.size}
    if weights:
        yield HEAVY, {**given, **weights}


def _grown(x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return (x.astype(np.float64) * 100).astype(x.dtype)


def near(given: Mapping[str, np.ndarray], constants: Sequence[float], seed: int) -> Iterator[Arrays]:
    """Values at, just beside and between the programs' literals: where a threshold is moved, one of them tells.

    Small inputs get every value of the pool in every place; then one input alone, the others being ones.
    """
    pool = _pool(constants)
    floats = [name for name, x in given.items() if is_float(x) and x.size and not name.startswith("weight:")]
    if not pool.size or not floats:
        return
    rng = np.random.default_rng([seed, *NEAR.encode()])
    order = {name: rng.permutation(given[name].size) for name in floats}
    small = max(given[name].size for name in floats) <= SMALL
    for turn in range(min(pool.size, MOST_TURNS) if small else 1):
        yield {name: _drawn(x, pool, order[name] + turn, rng) if name in order else x for name, x in given.items()}
    if small:
        yield from _sparse(given, floats, pool, order)
    if len(floats) > 1 and small:
        for alone in floats[:MOST_ALONE]:
            ones = {name: np.ones_like(given[name]) for name in floats if name != alone}
            for start in range(0, pool.size, max(given[alone].size, pool.size // 2)):
                yield {**given, **ones, alone: _drawn(given[alone], pool, order[alone] + start, None)}


def _sparse(
    given: Mapping[str, np.ndarray], floats: Sequence[str], pool: np.ndarray, order: Mapping[str, np.ndarray]
) -> Iterator[Arrays]:
    """One element of the pool in each row of one input, zeros elsewhere: sums and distances that reach it.

    Other inputs of its shape are zeros (what a distance is taken to), the rest ones (what is kept within it).
    """
    for alone in floats[:MOST_ALONE]:
        x = given[alone]
        zeros = {
            name: np.zeros_like(given[name]) if given[name].shape == x.shape else np.ones_like(given[name])
            for name in floats
        }
        rows = x.reshape(-1, x.shape[-1]) if x.ndim else x.reshape(1, 1)
        for start in range(0, min(pool.size, MOST_TURNS * len(rows)), len(rows)):
            made = np.zeros_like(rows)
            values = np.resize(np.roll(pool, -start), len(rows))
            with np.errstate(all="ignore"):
                made[np.arange(len(rows)), order[alone][: len(rows)] % rows.shape[1]] = values.astype(x.dtype)
            if np.isfinite(made.astype(np.float64)).all():
                yield {**given, **zeros, alone: made.reshape(x.shape)}


def edges(given: Mapping[str, np.ndarray], steps: Sequence[int]) -> Iterator[Arrays]:
    """One element of each row far above the others, then far below: at either end, and where blocks of ``steps`` meet.

    What a loop over blocks forgets is the first or the last lane of one.
    """
    floats = [name for name, x in given.items() if is_float(x) and x.ndim and not name.startswith("weight:")
              and x.shape[-1] > 1 and not _is_flag(x.astype(np.float64))]  # fmt: skip
    places = {name: _meetings(given[name].shape[-1], steps) for name in floats}
    turns = max((-(-p.size // _rows(given[name])) for name, p in places.items()), default=0)
    for turn in range(min(turns, MOST_EDGES)):
        for sign in (1.0, -1.0):
            yield {**given, **{name: _with_edge(given[name], places[name], turn, sign) for name in floats}}


def _rows(x: np.ndarray) -> int:
    return max(1, x.size // x.shape[-1])


def _meetings(extent: int, steps: Sequence[int]) -> np.ndarray:
    """Lanes, most telling first: both ends, then what is beside the multiples of the longest steps."""
    places = [0, extent - 1]
    for step in sorted(steps, reverse=True):
        places += [m + d for m in range(step, extent, step)[:MOST_MEETINGS] for d in (-1, 0)]
    return np.array(list(dict.fromkeys(places)))


def _with_edge(x: np.ndarray, places: np.ndarray, turn: int, sign: float) -> np.ndarray:
    rows = x.astype(np.float64).reshape(-1, x.shape[-1])
    size = 3.0 * np.abs(rows).max(initial=0.0) + 1.0
    rows = np.clip(rows, -size, size)
    first = np.arange(len(rows)) + turn * len(rows)
    rows[np.arange(len(rows)), places[first % places.size]] = sign * size
    return into_domain(rows.reshape(x.shape), x.astype(np.float64)).astype(x.dtype)


def _pool(constants: Sequence[float]) -> np.ndarray:
    usable = np.array(sorted({c for c in constants if np.isfinite(c) and 0 < abs(c) < LARGEST}, key=abs), np.float64)
    if usable.size > MOST_CONSTANTS:
        usable = usable[:: usable.size // MOST_CONSTANTS + 1]
    ordered = np.sort(usable)
    between = (ordered[1:] + ordered[:-1]) / 2
    pool = [usable, -usable, np.sqrt(np.abs(usable)), between, usable * 2, usable / 2, usable + 1, usable - 1]
    if usable.size <= MOST_DIVIDED:  # where x c or x / c is half way between two whole numbers
        halves = np.array([0.5, 1.5, 2.5, 3.5])
        pool += [(sign * halves[:, None] * scale).reshape(-1) for sign in (1, -1) for scale in (usable, 1 / usable)]
    if 1 < usable.size <= MOST_DIVIDED:
        quotients = (usable[:, None] / usable)[~np.eye(usable.size, dtype=bool)]
        pool.append(quotients[np.abs(quotients) < LARGEST])
    return np.concatenate(pool)


def _drawn(x: np.ndarray, pool: np.ndarray, places: np.ndarray, rng: np.random.Generator | None) -> np.ndarray:
    """Elements of the pool in the input's format, moved by -1, 0 or 1 of its steps where ``rng`` is given."""
    with np.errstate(all="ignore"):
        values = pool[places % pool.size].astype(x.dtype)
        moves = np.zeros(values.shape) if rng is None else rng.integers(-1, 2, values.shape)
        step = formats.ulp(values, dtype_of(x).name) * moves
        moved = (values.astype(np.float64) + step).astype(x.dtype)
    return np.where(np.isfinite(moved.astype(np.float64)), moved, x.reshape(-1)).reshape(x.shape)


def _beyond(name: str, x: np.ndarray, factor: float, rng: np.random.Generator) -> np.ndarray:
    if not is_float(x) or not x.size or name.startswith("weight:"):
        return x
    values = x.astype(np.float64)
    if (values.min() < 0 < values.max()) or _is_flag(values):
        return x
    with np.errstate(all="ignore"):
        return (values * rng.choice([-factor, factor], x.shape)).astype(x.dtype)


def _is_flag(values: np.ndarray) -> bool:
    return values.size > FEW and np.unique(values.reshape(-1)[:64]).size <= FEW


def unflagged(given: Mapping[str, np.ndarray]) -> set[str]:
    """Float inputs that are no flags: whose elements may stand for any number."""
    return {name for name, x in given.items() if is_float(x) and not _is_flag(x.astype(np.float64))}


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
    rng = np.random.default_rng([seed, *name.encode()])
    made = {key: _one(name, key, x, rng) for key, x in given.items()}
    if name == OPPOSITE:  # every other input: products of two, such as attention's scores, are far below zero
        for key in [key for key, x in made.items() if x is not given[key]][1::2]:
            wide = [array.astype(np.float64) for array in (made[key], given[key])]
            made[key] = into_domain(-wide[0], wide[1]).astype(made[key].dtype)
    return made


def alike(given: Mapping[str, np.ndarray]) -> Arrays:
    """The rows of the first of all float inputs of one rank, row length and dtype in every one: distances of 0."""
    made, first = dict[str, np.ndarray](given), dict[tuple[object, ...], np.ndarray]()
    for key, x in given.items():
        if is_float(x) and x.size and not key.startswith("weight:") and not _is_flag(x.astype(np.float64)):
            model = first.setdefault((x.ndim, x.shape[-1:], x.dtype), x)
            made[key] = model if model.shape == x.shape else np.resize(model, x.shape)
    return made


def _one(name: str, key: str, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if not is_float(x) or key.startswith("weight:"):
        return x
    given = x.astype(np.float64)
    if _is_flag(given):
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
