"""Inputs on which rounding errors are large: cancelling, of many magnitudes, subnormal, far from zero, one huge term.

Takes given arrays and a generator; gives arrays of the same shapes and dtypes, in the domain that the given values
suggest (non-negative, within [0, 1]).  Integers and truth values stay as they are given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from lowering.ir.types import from_numpy

Array = np.ndarray
Arrays = dict[str, Array]
Draw = Callable[[tuple[int, ...], "Range", np.random.Generator], Array]


class Range:
    """Magnitudes of a float format: exponents that leave room for sums of squares, and its smallest subnormal."""

    def __init__(self, dtype: np.dtype) -> None:
        from equivalence.numerics.formats import format_of

        fmt = format_of(from_numpy(dtype).name)
        self.spread = max(2, min(24, int(np.log2(fmt.max)) // 3))
        self.tiny = 2.0 ** (fmt.emin - fmt.p + 1)


def _normal(shape: tuple[int, ...], r: Range, rng: np.random.Generator) -> Array:
    return rng.standard_normal(shape)


def _positive(shape: tuple[int, ...], r: Range, rng: np.random.Generator) -> Array:
    return rng.uniform(0.5, 1.5, shape)


def _alike(shape: tuple[int, ...], r: Range, rng: np.random.Generator) -> Array:
    """One value a row: roundings of like terms all go one way."""
    rows = (*shape[:-1], 1) if shape else shape
    return np.broadcast_to(rng.uniform(0.5, 2, rows), shape).copy()


def _cancelling(shape: tuple[int, ...], r: Range, rng: np.random.Generator) -> Array:
    """Each value beside its negative, a little off."""
    x = rng.standard_normal(shape)
    if shape:
        half = shape[-1] // 2
        x[..., half : 2 * half] = -x[..., :half] * (1 + rng.choice([0.0, 1e-6, 1e-3]))
        x = rng.permuted(x, axis=-1)
    return x


def _exponents(shape: tuple[int, ...], r: Range, rng: np.random.Generator) -> Array:
    return rng.choice([-1.0, 1.0], shape) * 2.0 ** rng.uniform(-r.spread, r.spread, shape)


def _huge(shape: tuple[int, ...], r: Range, rng: np.random.Generator) -> Array:
    """One element of each row far above the others."""
    x = rng.standard_normal(shape)
    if shape:
        place = rng.integers(0, shape[-1], (*shape[:-1], 1)) if shape[-1] else np.zeros((*shape[:-1], 1), int)
        np.put_along_axis(x, place, rng.choice([-1.0, 1.0]) * 2.0 ** rng.uniform(3, r.spread), axis=-1)
    return x


def _subnormal(shape: tuple[int, ...], r: Range, rng: np.random.Generator) -> Array:
    return rng.integers(-2000, 2000, shape) * r.tiny


def _far(shape: tuple[int, ...], r: Range, rng: np.random.Generator) -> Array:
    """|mean| above the deviation."""
    return rng.standard_normal(shape) + 2.0 ** rng.uniform(2, min(12, r.spread))


def _rows(shape: tuple[int, ...], r: Range, rng: np.random.Generator) -> Array:
    """Rows of very different size."""
    scale = 2.0 ** rng.uniform(-r.spread, r.spread / 2, (shape[0], *(1 for _ in shape[1:]))) if shape else 1.0
    return rng.standard_normal(shape) * scale


def _large(shape: tuple[int, ...], r: Range, rng: np.random.Generator) -> Array:
    return rng.standard_normal(shape) * 2.0 ** rng.uniform(1, 6)


def _small(shape: tuple[int, ...], r: Range, rng: np.random.Generator) -> Array:
    return rng.standard_normal(shape) * 2.0 ** rng.uniform(-r.spread, -2)


DRAWS: dict[str, Draw] = {
    "normal": _normal, "positive": _positive, "one value a row": _alike, "cancelling": _cancelling,
    "many magnitudes": _exponents, "one huge term": _huge, "subnormal": _subnormal, "far from zero": _far,
    "rows of many sizes": _rows, "large": _large, "small": _small,
}  # fmt: skip


def is_float(x: Array) -> bool:
    return from_numpy(x.dtype).is_float


def draw(name: str, given: Mapping[str, Array], rng: np.random.Generator) -> Arrays:
    """Every float input drawn anew by the draw called ``name``."""
    return {key: _drawn(DRAWS[name], x, rng) if is_float(x) else x for key, x in given.items()}


def _drawn(make: Draw, given: Array, rng: np.random.Generator) -> Array:
    with np.errstate(all="ignore"):
        return within(make(given.shape, Range(given.dtype), rng), given).astype(given.dtype)


def within(made: Array, given: Array) -> Array:
    """Non-negative where the given values are, and at most 1 where these are."""
    wide = given.astype(np.float64)
    if wide.size and wide.min() >= 0:
        made = np.abs(made)
        made = np.minimum(made, 1.0) if wide.max() <= 1 else made
        made = np.maximum(made, min(float(wide.min()), 1e-3)) if wide.min() > 0 else made
    return made
