"""A matrix unit's sum in exact rationals, one element at a time: what the fast one is tested against.

Takes lists of floats and an Adder; gives a float.  Imports nothing that rounds from the code under test.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor, inf

import numpy as np

from equivalence.numerics.formats import Format, format_of
from equivalence.numerics.fused_add import Adder


def exponent_of(x: Fraction, fmt: Format) -> int:
    """floor(log2 |x|), not below the format's smallest exponent."""
    e = fmt.emin
    while Fraction(2) ** (e + 1) <= abs(x):
        e += 1
    return e


def toward_zero(x: Fraction, unit: Fraction) -> Fraction:
    return (floor(abs(x) / unit)) * unit * (1 if x > 0 else -1)


def rounded(x: Fraction, fmt: Format, fraction: int, nearest: bool) -> float:
    unit = Fraction(2) ** (exponent_of(x, fmt) - fraction)
    low = toward_zero(x, unit)
    if nearest:
        away = low + (unit if x > 0 else -unit)
        below, above = abs(x - low), abs(away - x)
        if above < below or (above == below and (low / unit) % 2):
            low = away
    return float(low) if abs(low) <= Fraction(fmt.max) else inf if x > 0 else -inf


def slow(a: list[float], b: list[float], c: float, adder: Adder, dtype_in: str, dtype_acc: str) -> float:
    """One element, in exact rationals; special values by Python's floats."""
    source, target = format_of(dtype_in), format_of(dtype_acc)
    for low in range(0, len(a), adder.products):
        pairs = [(x, y) for x, y in zip(a[low : low + adder.products], b[low : low + adder.products], strict=True)]
        if not all(map(np.isfinite, [c, *(v for pair in pairs for v in pair)])):
            c = sum((x * y for x, y in pairs), c)
            continue
        terms = [
            (Fraction(x) * Fraction(y), exponent_of(Fraction(x), source) + exponent_of(Fraction(y), source))
            for x, y in pairs
            if x * y != 0 or (x != 0 and y != 0)
        ]
        if c and adder.joins:
            terms.append((Fraction(c), exponent_of(Fraction(c), target)))
        if not terms:
            c = 0.0 if adder.joins else c + 0.0
            continue
        top = max([e for _, e in terms] + ([] if adder.least is None else [adder.least]))
        unit = Fraction(2) ** (top - adder.fraction)
        total = sum((toward_zero(value, unit) for value, _ in terms), Fraction(0))
        kept = target.fraction_bits if adder.kept is None else adder.kept
        step = rounded(total, target, kept, adder.nearest) or 0.0
        c = step if adder.joins else rounded(Fraction(c) + Fraction(step), target, target.fraction_bits, True)
    return c
