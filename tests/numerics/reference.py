"""Independent arithmetic to test against: MPFR (gmpy2) for IEEE formats, a sorted table of values for small ones.

Takes and gives numpy arrays; imports nothing that rounds from the code under test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gmpy2
import numpy as np
import numpy.typing as npt

from equivalence.numerics.formats import Array, Format, codes, format_of, isnan

ROUNDING = {
    "rne": gmpy2.RoundToNearest,
    "rtz": gmpy2.RoundToZero,
    "rtp": gmpy2.RoundUp,
    "rtn": gmpy2.RoundDown,
}
OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda c, a, b: c.add(a, b),
    "sub": lambda c, a, b: c.sub(a, b),
    "mul": lambda c, a, b: c.mul(a, b),
    "div": lambda c, a, b: c.div(a, b),
    "sqrt": lambda c, a: c.sqrt(a),
    "fma": lambda c, a, b, d: c.fma(a, b, d),
    "cast": lambda c, a: c.plus(a),
}


def mpfr_context(fmt: Format, mode: str) -> Any:
    """An MPFR context that rounds as an IEEE format does: its exponents count significands in [1/2, 1)."""
    return gmpy2.context(
        precision=fmt.p, emax=fmt.emax + 1, emin=fmt.emin - fmt.p + 2, subnormalize=True, round=ROUNDING[mode]
    )


def by_mpfr(op: str, arrays: tuple[Array, ...], dtype: str, mode: str = "rne") -> npt.NDArray[np.float64]:
    """``op`` element by element, rounded once into an IEEE format (f64, f32, f16, bf16, tf32, f8e5m2, f8e4m3)."""
    context = mpfr_context(format_of(dtype), mode)
    with np.errstate(invalid="ignore"):
        wide = [np.asarray(a).astype(np.float64).tolist() for a in arrays]
    with gmpy2.context(precision=53):  # operands are exact in 53 bits
        operands = [[gmpy2.mpfr(v) for v in w] for w in wide]
    run = OPERATIONS[op]
    return np.array([float(run(context, *row)) for row in zip(*operands, strict=True)])


def finite_values(fmt: Format) -> npt.NDArray[np.float64]:
    """All finite values of a format of up to 16 bits, ascending, zero once."""
    bits = np.arange(1 << fmt.bits, dtype=f"u{fmt.storage.itemsize}")
    with np.errstate(all="ignore"):
        values = bits.view(fmt.storage).astype(np.float64)
    return np.unique(values[np.isfinite(values)])


def by_table(x: Array, fmt: Format, mode: str, saturate: bool = False) -> npt.NDArray[np.float64]:
    """x (finite f64) rounded by looking at its two neighbours among all values; a step past the end overflows."""
    values = finite_values(fmt)
    step = values[-1] - values[-2]
    grid = np.concatenate([[values[0] - step], values, [values[-1] + step]])
    above = np.searchsorted(grid, np.clip(x, grid[0], grid[-1]), side="left").clip(1, grid.size - 1)
    above = np.where(x <= grid[0], 1, above)
    low, high = grid[above - 1], grid[above]
    inside = np.clip(x, grid[0], grid[-1])
    chosen = np.where(inside == high, high, np.where(inside == low, low, _pick(inside, low, high, above, values, mode)))
    over = np.abs(chosen) > values[-1]
    return np.where(over, _overflow(x, fmt, mode, saturate), chosen)


def _pick(x: Any, low: Any, high: Any, above: Any, values: Any, mode: str) -> Any:
    middle = low + (high - low) / 2
    zero = np.searchsorted(values, 0.0) + 1  # index of zero in the padded grid: evenness counts from there
    high_is_even = (above - zero) % 2 == 0
    away = np.where(x > 0, high, low)
    return {
        "rne": np.where(x == middle, np.where(high_is_even, high, low), np.where(x > middle, high, low)),
        "rna": np.where(x == middle, away, np.where(x > middle, high, low)),
        "rtz": np.where(x > 0, low, high),
        "rtp": high,
        "rtn": low,
    }[mode]


def _overflow(x: Any, fmt: Format, mode: str, saturate: bool) -> Any:
    inward = mode == "rtz" or saturate or fmt.nan == "none"
    kept = np.zeros(x.shape, bool) | inward | ((mode == "rtp") & (x < 0)) | ((mode == "rtn") & (x > 0))
    return np.copysign(np.where(kept, fmt.max, np.inf if fmt.has_inf else np.nan), x)


def differing(got: Array, want: npt.NDArray[np.float64], dtype: str) -> npt.NDArray[np.intp]:
    """Indices where ``got`` is not, bit for bit, the exactly representable ``want``; NaNs are equal."""
    with np.errstate(all="ignore"):
        expected = want.astype(format_of(dtype).storage)
    same = (codes(got, dtype) == codes(expected, dtype)) | (isnan(got) & isnan(expected))
    return np.flatnonzero(~same)


def hard_values(dtype: str, count: int, seed: int) -> Array:
    """Random codes, exponents near each other, powers of two and their neighbours, zeros, subnormals, ends, NaN."""
    fmt, rng = format_of(dtype), np.random.default_rng(seed)
    special = np.array(
        [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, fmt.max, -fmt.max, fmt.smallest_normal, fmt.smallest_subnormal]
    )
    codes_ = rng.integers(0, 1 << fmt.bits, count // 2, dtype=np.uint64).astype(f"u{fmt.storage.itemsize}")
    if dtype == "tf32":
        codes_ = codes_ << np.uint32(13)
    near = np.ldexp(1.0 + rng.integers(-2, 3, count // 4) * 2.0 ** (1 - fmt.p), rng.integers(-3, 4, count // 4))
    with np.errstate(all="ignore"):
        parts = [codes_.view(fmt.storage), (near * rng.choice([-1, 1], near.size)).astype(fmt.storage)]
        parts.append(rng.choice(special, count - sum(p.size for p in parts)).astype(fmt.storage))
    return rng.permutation(np.concatenate(parts))
