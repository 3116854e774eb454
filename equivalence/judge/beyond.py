"""Inputs that leave the domain which the given values suggest: near constants, outside their range, where blocks meet.

Takes the given arrays; gives labels and arrays.  A generator's convenience (torch.rand) is no promise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from equivalence.judge.inputs import Arrays, dtype_of, into_domain, is_flag, is_float, unflagged
from equivalence.numerics import formats

OUTSIDE, FAR_OUTSIDE = "outside the given range", "far outside the given range"
HEAVY, DRAWN = "weights a hundred times as large", "constant weights drawn anew"
#: Sets that leave the given values' domain: a side that becomes NaN or infinite counts where A is finite throughout.
BEYOND = frozenset({OUTSIDE, FAR_OUTSIDE, HEAVY, DRAWN})
PAST = "past a constant throughout"
NEAR, EDGES = "near the constants", "one element beyond the others"
MOST_EDGES, MOST_MEETINGS = 12, 64
MOST_CONSTANTS = 48
SMALL, MOST_TURNS = 1 << 12, 14
MOST_ALONE = 4  # inputs that have the pool's values while all others are ones
MOST_DIVIDED = 8  # constants up to which their quotients are tried too: where c x reaches d
USUAL_SIZE = 1e6  # of what a rounding is scaled by
LARGEST = 1e30  # beyond this a constant is a mask, not a threshold


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
    weights = {name: x for name, x in given.items() if name.startswith("weight:") and is_float(x) and x.size}
    if weights:
        yield HEAVY, {**given, **{name: _grown(x) for name, x in weights.items()}}
    rng = np.random.default_rng([seed, *DRAWN.encode()])
    drawn = {name: _drawn_anew(x, rng) for name, x in weights.items() if x.size > 1 and (x == x.flat[0]).all()}
    if drawn:
        yield DRAWN, {**given, **drawn}


def _grown(x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return (x.astype(np.float64) * 100).astype(x.dtype)


def _drawn_anew(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Zeros become normal numbers (biases), other constants half to one and a half of themselves (scales)."""
    value = float(x.flat[0])
    made = rng.standard_normal(x.shape) if value == 0 else value * rng.uniform(0.5, 1.5, x.shape)
    return made.astype(x.dtype)


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


def past(given: Mapping[str, np.ndarray], constant: float, seed: int) -> Arrays:
    """Every element of every float input farther from 0 than ``constant``, up to twice as far.

    So they are below what a maximum starts from, above what a minimum does.
    """
    rng = np.random.default_rng([seed, *PAST.encode()])
    moved = {name for name in unflagged(given) if not name.startswith("weight:")}
    return {name: _past(x, constant, rng) if name in moved else x for name, x in given.items()}


def _past(x: np.ndarray, constant: float, rng: np.random.Generator) -> np.ndarray:
    largest = formats.format_of(dtype_of(x).name).max
    return np.clip(constant * rng.uniform(1.0625, 2.0, x.shape), -largest, largest).astype(x.dtype)


def edges(given: Mapping[str, np.ndarray], steps: Sequence[int]) -> Iterator[Arrays]:
    """One element of each row far above the others, then far below: at either end, and where blocks of ``steps`` meet.

    What a loop over blocks forgets is the first or the last lane of one.
    """
    floats = [name for name, x in given.items() if is_float(x) and x.ndim and not name.startswith("weight:")
              and x.shape[-1] > 1 and not is_flag(x.astype(np.float64))]  # fmt: skip
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
        halves, scales = np.array([0.5, 1.5, 2.5, 3.5]), np.concatenate([usable, 1 / usable])
        scales = scales[(np.abs(scales) > 1 / USUAL_SIZE) & (np.abs(scales) < USUAL_SIZE)]
        pool += [(sign * halves[:, None] * scales).reshape(-1) for sign in (1, -1)]
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
    if (values.min() < 0 < values.max()) or is_flag(values):
        return x
    with np.errstate(all="ignore"):
        return (values * rng.choice([-factor, factor], x.shape)).astype(x.dtype)
