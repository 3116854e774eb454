"""add, sub, mul, div, sqrt, fma, rem of every float format with ONE rounding: takes and gives storage arrays.

Must not know about contraction, accumulation or any source language.

Why computing wide and rounding once more is still one rounding (p: precision of the format, q: of the wide one):

* Figueroa, "When is double rounding innocuous?" (1995): for + - * / sqrt of p-bit operands, to nearest in q >= 2p+2
  bits and then to nearest in p bits is to nearest of the exact result. f64 (q = 53) serves every p <= 25, and its
  exponents reach so far beyond f32's that results subnormal in the target are normal in f64.
* Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd" (2008):
  to odd in q >= p+2 bits, then in any mode to p bits, is that mode's rounding of the exact result. Used for fma below
  f32, where the exact sum may need hundreds of bits, and for sums in the directed modes. Products are exact in f64,
  and a quotient or root of 24-bit operands that is no 25-bit number is at least 2^-50 of itself away from every one, so
  to nearest in f64 (2^-53) cannot land on, or cross, a value or midpoint of the format: every mode follows from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import numpy as np

from . import exact
from ._kernels import ADD, DIV, FMA, MUL, SQRT, SUB, fma_native, operate_codes, operate_values
from ._llvm import flat_map
from .formats import Array, Format, codes, format_of
from .rounding import Mode, cast_float, target_of, value_table, widen

RemFlavour = Literal["trunc", "floor", "python"]


_OPS: Final = {"add": ADD, "sub": SUB, "mul": MUL, "div": DIV, "sqrt": SQRT, "fma": FMA}
_NATIVE: Final[dict[str, Callable[..., Any]]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt,
    "fma": lambda a, b, c: flat_map(fma_native, a.dtype, (a, b, c)),
}  # fmt: skip


def _by_kernel(op: str, arrays: tuple[Array, ...], fmt: Format, mode: Mode) -> Array:
    """Every format below f64 in every mode: once in f64, once into the format."""
    triple = (*arrays, *arrays[:1] * (3 - len(arrays)))
    unsigned, options = f"u{fmt.storage.itemsize}", (_OPS[op], mode != "rne" or op == "fma", target_of(fmt, mode))
    if fmt.storage == np.float32:
        return flat_map(operate_values, unsigned, triple, *options).view(fmt.storage)
    raw = tuple(codes(a, fmt.name).reshape(a.shape) for a in triple)
    return flat_map(operate_codes, unsigned, raw, value_table(fmt), *options).view(fmt.storage)


def _apply(op: str, arrays: tuple[Array, ...], dtype: str, mode: Mode) -> Array:
    fmt = format_of(dtype)
    operands = tuple(np.asarray(a, dtype=fmt.storage) for a in arrays)
    with np.errstate(all="ignore"):
        if mode == "rne" and fmt.name in ("f32", "f64"):
            return np.asarray(_NATIVE[op](*operands))
        if fmt.name == "f64":
            return exact.elementwise(op, operands, np.asarray(_NATIVE[op](*operands)), fmt.name, mode)
    return _by_kernel(op, operands, fmt, mode)


def add(a: Array, b: Array, dtype: str, mode: Mode = "rne") -> Array:
    """a + b in ``dtype``, rounded once (IEEE 754-2019 §5.4.1). Arrays of its storage dtype, broadcast."""
    return _apply("add", (a, b), dtype, mode)


def sub(a: Array, b: Array, dtype: str, mode: Mode = "rne") -> Array:
    """a - b in ``dtype``, rounded once."""
    return _apply("sub", (a, b), dtype, mode)


def mul(a: Array, b: Array, dtype: str, mode: Mode = "rne") -> Array:
    """a * b in ``dtype``, rounded once."""
    return _apply("mul", (a, b), dtype, mode)


def div(a: Array, b: Array, dtype: str, mode: Mode = "rne") -> Array:
    """a / b in ``dtype``, rounded once; x/0 is an infinity, 0/0 NaN."""
    return _apply("div", (a, b), dtype, mode)


def sqrt(a: Array, dtype: str, mode: Mode = "rne") -> Array:
    """Square root, rounded once; sqrt(-0) = -0, below zero NaN."""
    return _apply("sqrt", (a,), dtype, mode)


def fma(a: Array, b: Array, c: Array, dtype: str, mode: Mode = "rne") -> Array:
    """a*b + c in ``dtype``, rounded once, for every format."""
    return _apply("fma", (a, b, c), dtype, mode)


def _floored(rest: Array, b: Array, flavour: RemFlavour) -> Array:
    """C remainder moved to the sign of the divisor; python also gives a zero that sign."""
    moved = np.where((rest != 0) & (np.signbit(rest) != np.signbit(b)), rest + b, rest)
    return np.where(rest == 0, np.copysign(rest, b), moved) if flavour == "python" else moved


def rem(a: Array, b: Array, dtype: str, flavour: RemFlavour = "trunc") -> Array:
    """Remainder in ``dtype``: ``trunc`` is C's fmod (exact); ``floor`` has the divisor's sign (torch.remainder, jnp).

    ``floor`` adds the divisor once where the signs differ, with one rounding; ``python`` also gives zeros its sign.
    """
    x, y = widen(a, dtype), widen(b, dtype)
    with np.errstate(all="ignore"):
        rest = np.fmod(x, y)
        result = rest if flavour == "trunc" else _floored(rest, y, flavour)
    return result if dtype in ("f32", "f64") else cast_float(result, "f32", dtype)
