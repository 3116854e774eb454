"""Integer arithmetic of fixed width without traps: takes and gives numpy arrays of the dtype's storage.

Where a language leaves a result undefined the value is a stated one and a mask says where. Must not know languages.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ._kernels import truncate_quotient
from ._llvm import flat_map
from .formats import Array, IntFormat, int_format_of

Mask = npt.NDArray[np.bool_]
DivFlavour = Literal["trunc", "floor"]
ShiftFlavour = Literal["clamp", "mask"]


def _binary(operation: Any, a: Array, b: Array, dtype: str) -> Array:
    """A ring or bit operation, modulo 2^bits; i1 computes modulo 2."""
    ints = int_format_of(dtype)
    with np.errstate(all="ignore"):
        if ints.name == "i1":
            return (operation(np.asarray(a).astype(np.uint8), np.asarray(b).astype(np.uint8)) & 1).astype(np.bool_)
        return np.asarray(operation(a, b)).astype(ints.storage, copy=False)


def add(a: Array, b: Array, dtype: str) -> Array:
    """a + b modulo 2^bits."""
    return _binary(np.add, a, b, dtype)


def sub(a: Array, b: Array, dtype: str) -> Array:
    """a - b modulo 2^bits."""
    return _binary(np.subtract, a, b, dtype)


def mul(a: Array, b: Array, dtype: str) -> Array:
    """a * b modulo 2^bits (the low half)."""
    return _binary(np.multiply, a, b, dtype)


def neg(a: Array, dtype: str) -> Array:
    """-a modulo 2^bits; the minimum stays itself."""
    return sub(np.zeros((), int_format_of(dtype).storage), a, dtype)


def absolute(a: Array, dtype: str) -> Array:
    """|a| modulo 2^bits; the minimum stays itself (as in C compilers' two's complement, XLA and PTX abs)."""
    return np.where(np.asarray(a) < 0, neg(a, dtype), a) if int_format_of(dtype).signed else np.asarray(a)


def bit_and(a: Array, b: Array, dtype: str) -> Array:
    """Bitwise and."""
    return _binary(np.bitwise_and, a, b, dtype)


def bit_or(a: Array, b: Array, dtype: str) -> Array:
    """Bitwise or."""
    return _binary(np.bitwise_or, a, b, dtype)


def bit_xor(a: Array, b: Array, dtype: str) -> Array:
    """Bitwise exclusive or."""
    return _binary(np.bitwise_xor, a, b, dtype)


def bit_not(a: Array, dtype: str) -> Array:
    """Bitwise complement; logical for i1."""
    return np.invert(np.asarray(a, dtype=int_format_of(dtype).storage))


def minimum(a: Array, b: Array, dtype: str) -> Array:
    """The smaller, by the dtype's signedness."""
    return np.minimum(a, b)


def maximum(a: Array, b: Array, dtype: str) -> Array:
    """The larger, by the dtype's signedness."""
    return np.maximum(a, b)


def division_undefined(a: Array, b: Array, dtype: str) -> Mask:
    """Where a/b and a%b are undefined in C: b = 0, and minimum / -1 (C23 §6.5.6). Read-only, of the broadcast shape."""
    ints, x, y = int_format_of(dtype), np.asarray(a), np.asarray(b)
    shape = np.broadcast_shapes(x.shape, y.shape)
    if _positive(y):
        return np.broadcast_to(np.zeros((), np.bool_), shape)
    overflow = (x == ints.min) & (y == -1) if ints.signed else np.zeros((), np.bool_)
    return np.broadcast_to((y == 0) | overflow, shape)


def _positive(y: Array) -> bool:
    return y.dtype != np.bool_ and y.size > 0 and bool(y.min() > 0)


def _quotient(x: Array, y: Array, dtype: str, flavour: DivFlavour) -> tuple[Array, Array, Mask]:
    """Quotient by, and, a divisor that is 1 where the division is undefined; and where that is.

    minimum / 1 is then the wrapped quotient of minimum / -1, with remainder 0.
    """
    ints, undefined = int_format_of(dtype), division_undefined(x, y, dtype)
    divisor = np.where(undefined, ints.storage.type(1), y) if undefined.any() else y
    floored = np.asarray(np.floor_divide(x, divisor))
    if flavour == "floor" or not ints.signed or (_positive(divisor) and (x.size == 0 or x.min() >= 0)):
        return floored, divisor, undefined
    return flat_map(truncate_quotient, ints.storage, (floored, x, divisor)), divisor, undefined


def _operands(a: Array, b: Array, dtype: str) -> tuple[Array, Array]:
    storage = int_format_of(dtype).storage
    return np.asarray(a, dtype=storage), np.asarray(b, dtype=storage)


def div(a: Array, b: Array, dtype: str, flavour: DivFlavour = "trunc") -> tuple[Array, Mask]:
    """Quotient and where it is undefined. ``trunc`` towards zero (C, arith.divsi), ``floor`` (Python, floordivsi).

    Stated values: x/0 = -1, all bits set (XLA, RISC-V); minimum/-1 = minimum.
    """
    ints, (x, y) = int_format_of(dtype), _operands(a, b, dtype)
    if ints.name == "i1":
        return x | ~y, ~y
    quotient, _, undefined = _quotient(x, y, dtype, flavour)
    all_ones = ints.storage.type(-1 if ints.signed else ints.max)
    return (np.where(y == 0, all_ones, quotient) if undefined.any() else quotient), undefined


def rem(a: Array, b: Array, dtype: str, flavour: DivFlavour = "trunc") -> tuple[Array, Mask]:
    """Remainder and where it is undefined; sign of the dividend (``trunc``) or of the divisor (``floor``).

    Stated values: x%0 = x (XLA, RISC-V); minimum % -1 = 0.
    """
    x, y = _operands(a, b, dtype)
    if dtype == "i1":
        return x & ~y, ~y
    quotient, divisor, undefined = _quotient(x, y, dtype, flavour)
    with np.errstate(over="ignore"):
        rest = x - quotient * divisor
    return (np.where(y == 0, x, rest) if undefined.any() else rest), undefined


def _amount(b: Array, ints: IntFormat) -> tuple[Array, Mask]:
    """Shift amounts as unsigned, and which are not below the width (negative ones are huge)."""
    amount = np.asarray(b).astype(f"u{ints.storage.itemsize}")
    return amount, np.asarray(amount >= ints.bits)


def _shift(
    operation: Any, x: Array, b: Array, ints: IntFormat, flavour: ShiftFlavour, beyond: Array
) -> tuple[Array, Mask]:
    amount, undefined = _amount(b, ints)
    inside = (amount & amount.dtype.type(ints.bits - 1)).astype(x.dtype)
    shifted = operation(x, inside)
    result = shifted if flavour == "mask" else np.where(undefined, beyond, shifted)
    return result.astype(ints.storage), undefined


def shl(a: Array, b: Array, dtype: str, flavour: ShiftFlavour = "clamp") -> tuple[Array, Mask]:
    """a << b and where b >= width (undefined in C). ``clamp``: then 0 (PTX, XLA); ``mask``: b mod width (x86)."""
    ints = int_format_of(dtype)
    x = np.asarray(a, dtype=ints.storage).view(f"u{ints.storage.itemsize}")
    return _shift(np.left_shift, x, b, ints, flavour, np.zeros((), x.dtype))


def shr_logical(a: Array, b: Array, dtype: str, flavour: ShiftFlavour = "clamp") -> tuple[Array, Mask]:
    """a >> b filling with zeros, and where b >= width; flavours as for ``shl``."""
    ints = int_format_of(dtype)
    x = np.asarray(a, dtype=ints.storage).view(f"u{ints.storage.itemsize}")
    return _shift(np.right_shift, x, b, ints, flavour, np.zeros((), x.dtype))


def shr_arithmetic(a: Array, b: Array, dtype: str, flavour: ShiftFlavour = "clamp") -> tuple[Array, Mask]:
    """a >> b filling with the top bit, and where b >= width; ``clamp``: then all bits are the top bit."""
    ints = int_format_of(dtype)
    x = np.asarray(a, dtype=ints.storage).view(f"i{ints.storage.itemsize}")
    return _shift(np.right_shift, x, b, ints, flavour, np.where(x < 0, x.dtype.type(-1), x.dtype.type(0)))
