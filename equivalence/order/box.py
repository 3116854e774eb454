"""A summation that can only be called: its formats, its input arrays, what it may cost, and how it is refused.

Takes a callable on one array (a sum) or two (a dot product); gives Box.  Must not know trees, masks or frameworks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from equivalence.numerics.casts import cast
from equivalence.numerics.formats import Format, format_of, storage_dtype
from lowering.errors import Span, Unsupported, UsageError

Run = Callable[..., float]
ALIGNMENT = 64  # bytes: vectorised loops may begin differently elsewhere, so every call gets arrays that begin alike
_USUAL = ("f32", "f64")
REPEATS = 8  # calls with one input that tell a box which does not repeat itself


@dataclass(frozen=True, slots=True)
class Formats:
    """Of the values and of what comes out; ``factors`` is 2 for a dot product.

    Additions are taken to have at least the precision of the values, and the range of products of ``spread`` values.
    """

    dtype: str
    result: str
    factors: int = 1
    spread: int = 1

    @property
    def value(self) -> Format:
        return format_of(self.dtype)

    @property
    def counted_bits(self) -> int:
        """Sums of up to 2^this units come out exactly, in any order."""
        return min(self.value.p, format_of(self.result).p)

    def largest(self) -> int:
        """Exponent of the largest power of two that a term, and the result, can be."""
        return min(self.spread * self.value.emax, format_of(self.result).emax)

    def smallest(self, subnormal: bool) -> int:
        """Exponent of the smallest power of two that a term, and the result, can be."""
        parts = [(self.value, self.spread), (format_of(self.result), 1)]
        return max(times * (fmt.emin - (fmt.fraction_bits if subnormal else 0)) for fmt, times in parts)

    def adders(self) -> list[str]:
        """Formats that additions may have, narrowest first."""
        names = dict.fromkeys((self.dtype, self.result, *_USUAL))
        return sorted((n for n in names if format_of(n).p >= self.value.p), key=lambda n: format_of(n).p)


def aligned(size: int, dtype: str) -> np.ndarray:
    """Zeros that begin at a multiple of ALIGNMENT bytes."""
    storage = storage_dtype(dtype)
    raw = np.zeros(size * storage.itemsize + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size * storage.itemsize].view(storage)


class Box:
    """The black box with the arrays it is called on; ``runs`` counts its calls."""

    def __init__(self, run: Run, size: int, dtype: str, factors: int, name: str, limit: int) -> None:
        if size < 1:
            raise UsageError(f"{name} is to be probed with {size} terms; give at least 1")
        self.run, self.size, self.dtype, self.name, self.limit = run, size, dtype, name, limit
        self.arrays = [aligned(size, dtype) for _ in range(factors)]
        self.runs = 0

    def call(self) -> float:
        """The result for what is in the arrays."""
        self.runs += 1
        if self.runs > self.limit:
            raise self.refusal(f"an accumulation that takes more than {self.limit} calls to probe", "probe fewer terms")
        return float(self.run(*self.arrays))

    def clear(self) -> None:
        for array in self.arrays:
            array.fill(0)

    def put(self, where: Any, value: tuple[Any, ...]) -> None:
        """Puts one value, given by its factors, at a place or at several."""
        for array, factor in zip(self.arrays, value):
            array[where] = factor

    def power(self, exponent: int, negative: bool = False) -> tuple[Any, ...]:
        """The factors of 2^exponent (or of minus it), as scalars of the arrays' dtype."""
        count, kind = len(self.arrays), self.arrays[0].dtype.type
        parts = [exponent // count] * count
        parts[0] += exponent - sum(parts)
        signs = [-1.0 if negative else 1.0] + [1.0] * (count - 1)
        return tuple(kind(sign * 2.0**part) for sign, part in zip(signs, parts))

    def number(self, value: float) -> tuple[Any, ...]:
        """The factors of a value that the dtype holds: itself, and one."""
        kind = self.arrays[0].dtype.type
        return tuple(kind(part) for part in [value, 1.0][: len(self.arrays)])

    def load(self, samples: list[np.ndarray]) -> None:
        for array, sample in zip(self.arrays, samples):
            array[:] = sample

    def repeats(self) -> bool:
        """Whether the box gives the same bits when it is asked again: for what is in the arrays, and random values."""
        drawn = samples(self.size, REPEATS, self.dtype, len(self.arrays), np.random.default_rng(0))
        self.limit += REPEATS * (REPEATS + 1)
        for k in range(REPEATS + 1):
            if len({np.float64(self.call()).tobytes() for _ in range(REPEATS)}) > 1:
                return False
            self.load([values[:, min(k, REPEATS - 1)] for values in drawn])
        return True

    # -- refusals, to be raised ------------------------------------------------------------------------------------

    def refusal(self, construct: str, hint: str = "") -> Unsupported:
        return Unsupported(construct, Span(self.name), hint)

    def contradiction(self, what: str) -> Unsupported:
        """Of a box whose answers fit no tree, or of one that does not even repeat them."""
        if not self.repeats():
            return self.refusal(
                "an accumulation whose order changes from call to call",
                "the same input gave different results; fix what varies (atomics, threads, autotuning) and probe again",
            )
        return self.refusal(
            f"an accumulation that follows no one tree: {what}",
            "its order may depend on the data, or it may keep earlier results, carry errors along or add integers",
        )

    def exactness(self) -> Unsupported:
        """Of a box in which nothing is lost beside a large value."""
        return self.refusal(
            "an exact or compensated accumulation",
            "small terms survive beside large ones in any order, as in math.fsum: its result has no order to reveal",
        )


def samples(size: int, trials: int, dtype: str, factors: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Random values, [size, trials] for each factor: normal ones, over eight binades where the format has room for
    their sum; in every second trial whole numbers of last places, whose sums often lie halfway between two values."""
    fmt = format_of(dtype)
    drawn = rng.standard_normal((factors, size, trials))
    if fmt.emax > 100:
        drawn *= np.exp2(rng.integers(-4, 4, drawn.shape))
    tied = drawn[:, :, 1::2]
    most = 2**fmt.p
    tied[0] = rng.integers(1 - most, most, tied.shape[1:]) * 2.0 ** (1 - fmt.p)
    tied[1:] = rng.choice([-1.0, 1.0], tied[1:].shape)
    return [cast(values, "f64", dtype) for values in drawn]
