"""Inputs on which the oracle looks for a difference: of many scales, and such that ties and cancellations happen.

Takes the captured inputs; gives named sets.  Integer inputs and weights' signs stay as they are captured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

Array = np.ndarray
Arrays = dict[str, Array]
Maker = Callable[[tuple[int, ...], np.random.Generator], Array]


def _rows(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    x = rng.standard_normal(shape)
    return x * np.resize([1e-6, 1.0, 40.0, 1e-3], shape[:1]).reshape(-1, *[1] * (len(shape) - 1)) if shape else x


MAKERS: dict[str, Maker] = {
    "normal": lambda shape, rng: rng.standard_normal(shape),
    "small integers": lambda shape, rng: rng.integers(-4, 5, shape).astype(float),
    "rows of many scales": _rows,
    "tiny": lambda shape, rng: rng.standard_normal(shape) * 1e-5,
    "tinier": lambda shape, rng: rng.standard_normal(shape) * 3e-7,
    "hundredfold": lambda shape, rng: rng.standard_normal(shape) * 100,
    "large": lambda shape, rng: rng.standard_normal(shape) * 20,
    "halves": lambda shape, rng: rng.integers(-8, 9, shape) / 2,
    "positive": lambda shape, rng: np.abs(rng.standard_normal(shape)) + 0.1,
    "negative": lambda shape, rng: -np.abs(rng.standard_normal(shape)) - 0.1,
    "far from zero": lambda shape, rng: rng.standard_normal(shape) + 30,
    "very far from zero": lambda shape, rng: rng.standard_normal(shape) + 100,
    "equal": lambda shape, rng: np.full(shape, 0.75),
    "zero": lambda shape, rng: np.zeros(shape),
    "normal again": lambda shape, rng: rng.standard_normal(shape),
}


def is_float(x: Array) -> bool:
    return x.dtype.kind not in "iub"


def within(made: Array, given: Array) -> Array:
    """Into the range that the captured values suggest: non-negative, positive, at most one."""
    wide = given.astype(np.float64)
    if wide.size and wide.min() >= 0:
        made = np.abs(made)
        made = np.minimum(made, 1.0) if wide.max() <= 1 else made
        made = np.maximum(made, min(float(wide.min()), 1e-3))
    return made


def sets(given: Mapping[str, Array], seed: int) -> Iterator[tuple[str, Arrays]]:
    """The captured inputs, then every maker's."""
    yield "captured", dict(given)
    if not any(is_float(x) for x in given.values()):
        return
    for number, (name, maker) in enumerate(MAKERS.items()):
        rng = np.random.default_rng([seed, number])
        yield (
            name,
            {key: within(maker(x.shape, rng), x).astype(x.dtype) if is_float(x) else x for key, x in given.items()},
        )
