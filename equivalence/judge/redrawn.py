"""Other values of integer inputs that `real` takes for any: what floats decide beside them is seen at those, too.

Takes the given inputs and a Real that has run on them; gives sets of inputs.  Polynomials in bits hold for every value,
but which branch a comparison takes goes by the values that the run has: relu(w x) is w relu(x) while w is not negative.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from equivalence.interpretations.base import tag
from equivalence.interpretations.real import Real
from equivalence.judge.inputs import Arrays, dtype_of

FEW, FEW_TIMES = 16, 4  # elements below which a draw says little of an input, and how often it is repeated


def redrawn(
    given: Mapping[str, np.ndarray],
    real: Real,
    declared: Mapping[str, tuple[int, int]],
    kept: Collection[str],
    seed: int,
) -> Iterator[Arrays]:
    """Integers from the whole of their range (``declared``, else all of their type), of every size, and its ends.

    None is 0, which ties where residues differ (``zeros``).  Inputs in ``kept``, and those whose given values ``real``
    has used, stay as they are.
    """
    free = _free(given, real, declared, kept)
    rng = np.random.default_rng([seed, *b"redrawn"])
    times = FEW_TIMES if any(given[name].size < FEW for name in free) else 1
    for draw in (_uniform, _of_every_size, _ends) if free else ():
        drawn = dict[str, np.ndarray]()
        for time in range(times):
            for name, (low, high) in free.items():  # every other one is the one before, from the other end of the range
                drawn[name] = (low + high) - drawn[name] if time % 2 else draw(rng, low, high, given[name].shape)
            made = {name: _without_zero(x, *free[name]).astype(given[name].dtype) for name, x in drawn.items()}
            yield {**given, **made}


def zeros(
    given: Mapping[str, np.ndarray],
    real: Real,
    declared: Mapping[str, tuple[int, int]],
    kept: Collection[str],
    seed: int,
) -> Arrays | None:
    """The same inputs, about half of those integers 0: what divides by one is no number there."""
    free = _free(given, real, declared, kept)
    names = [name for name, (low, high) in free.items() if low <= 0 <= high]
    rng = np.random.default_rng([seed, *b"zeros"])
    made = {
        name: np.where((rng.random(given[name].shape) < 0.5) & (given[name].size >= FEW), given[name], 0)
        for name in names
    }
    return {**given, **{name: x.astype(given[name].dtype) for name, x in made.items()}} if names else None


def _free(
    given: Mapping[str, np.ndarray], real: Real, declared: Mapping[str, tuple[int, int]], kept: Collection[str]
) -> dict[str, tuple[int, int]]:
    return {
        name: declared.get(name, _whole(x))
        for name, x in given.items()
        if name not in kept and x.size and _is_number(name, x, real)
    }


def _without_zero(x: np.ndarray, low: int, high: int) -> np.ndarray:
    other = 1 if high >= 1 else -1
    return np.where(x == 0, np.asarray(other).astype(x.dtype), x) if low <= other <= high else x


def _is_number(name: str, x: np.ndarray, real: Real) -> bool:
    own = np.uint64(1 << tag(name) % 64)
    return dtype_of(x).is_integer and x.dtype.kind != "b" and bool(real.numbers & own) and not real.given & own


def _whole(x: np.ndarray) -> tuple[int, int]:
    dtype = dtype_of(x)
    return (0, (1 << dtype.bits) - 1) if dtype.kind == "uint" else (-(1 << dtype.bits - 1), (1 << dtype.bits - 1) - 1)


def _uniform(rng: np.random.Generator, low: int, high: int, shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(low, high, shape, np.uint64 if high >= 1 << 63 else np.int64, endpoint=True)


def _of_every_size(rng: np.random.Generator, low: int, high: int, shape: tuple[int, ...]) -> np.ndarray:
    """About as many of one bit as of many."""
    whole = _uniform(rng, low, high, shape)
    kept = whole >> rng.integers(0, max(high.bit_length(), (-low).bit_length()), shape).astype(whole.dtype)
    return np.clip(kept, low, high)


def _ends(rng: np.random.Generator, low: int, high: int, shape: tuple[int, ...]) -> np.ndarray:
    return rng.choice(np.array([low, high], np.uint64 if high >= 1 << 63 else np.int64), shape)


__all__ = ["redrawn", "zeros"]
