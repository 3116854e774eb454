"""Rational numbers rounded once into a format: slow, exact, for what the fast paths leave out (directed f64).

Takes Python integers, gives Python floats. Must not know numpy's or numba's arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isfinite, isqrt
from typing import Any

import numpy as np

from .formats import Array, Format, format_of


def _round_up(quotient: int, twice_rest: int, whole: int, negative: bool, mode: str) -> bool:
    """Whether to add one to ``quotient`` when ``twice_rest``/2 out of ``whole`` was cut off."""
    if mode == "rne":
        return twice_rest > whole or (twice_rest == whole and quotient & 1 == 1)
    if mode == "rna":
        return twice_rest >= whole
    return twice_rest > 0 and mode != "rtz" and negative == (mode == "rtn")


def _overflowed(fmt: Format, negative: bool, mode: str) -> float:
    inward = mode == "rtz" or (mode in ("rtp", "rtn") and negative != (mode == "rtn"))
    if inward or fmt.nan == "none":
        return fmt.max
    return float("inf") if fmt.has_inf else float("nan")


def _scaled(n: int, d: int, e: int) -> tuple[int, int]:
    """n/d divided by 2^e, as a pair of integers."""
    return (n, d << e) if e >= 0 else (n << -e, d)


def round_rational(numerator: int, denominator: int, dtype: str, mode: str = "rne") -> float:
    """numerator/denominator (denominator > 0) rounded once into ``dtype``; zero is +0. As an f64, which holds it."""
    fmt, negative, n, d = format_of(dtype), numerator < 0, abs(numerator), denominator
    if n == 0:
        return 0.0
    e = n.bit_length() - d.bit_length()
    top, bottom = _scaled(n, d, e)
    e = max(e if top >= bottom else e - 1, fmt.emin) - fmt.fraction_bits  # exponent of the last place
    top, bottom = _scaled(n, d, e)
    quotient, rest = divmod(top, bottom)
    quotient += _round_up(quotient, 2 * rest, bottom, negative, mode)
    exact = Fraction(quotient) * Fraction(2) ** e
    value = _overflowed(fmt, negative, mode) if exact > Fraction(fmt.max) else float(exact)
    return -value if negative else value


def _rational(op: str, args: tuple[Fraction, ...]) -> tuple[int, int]:
    """Exact result; a square root is cut to 2^-1200 with a sticky bit, far below any half ulp of an f64 result."""
    table: dict[str, Callable[..., Fraction]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "fma": lambda a, b, c: a * b + c,
    }
    if op != "sqrt":
        r = table[op](*args)
        return r.numerator, r.denominator
    scaled = (args[0].numerator << 2400) // args[0].denominator  # denominators divide 2^1074: exact
    root = isqrt(scaled)
    return 2 * root + (root * root != scaled), 1 << 1201


def elementwise(op: str, arrays: tuple[Array, ...], nearest: Array, dtype: str, mode: str) -> Array:
    """``op`` on f64 arrays rounded once in ``mode``; ``nearest`` is the to-nearest result, kept where it is special.

    Special: operands not finite, an exact zero result (but for its sign in rtn, IEEE 754-2019 §6.3), x/0, sqrt(<0).
    """
    out = np.array(nearest, copy=True)
    flat = [np.broadcast_to(a, out.shape) for a in arrays]
    for index in np.ndindex(out.shape):
        args = [float(a[index]) for a in flat]
        if all(map(isfinite, args)) and not np.isnan(nearest[index]) and not (op == "div" and args[1] == 0):
            out[index] = _one(op, args, float(nearest[index]), dtype, mode)
    return out


def _one(op: str, args: list[float], nearest: float, dtype: str, mode: str) -> Any:
    n, d = _rational(op, tuple(map(Fraction, args)))
    if n != 0:
        return round_rational(n, d, dtype, mode)
    cancelled = op in ("add", "sub", "fma") and not _same_sign_zeros(op, args)
    return (-0.0 if mode == "rtn" else 0.0) if cancelled else nearest


def _same_sign_zeros(op: str, args: list[float]) -> bool:
    """Whether a zero sum has two zero terms of one sign, which every rounding mode then keeps."""
    sign = [np.signbit(a) for a in args]
    if op == "fma":
        return args[2] == 0 and (args[0] == 0 or args[1] == 0) and (sign[0] ^ sign[1]) == sign[2]
    return args[0] == 0 and args[1] == 0 and (sign[0] == sign[1]) == (op == "add")
