"""Integer operations against Python's unbounded integers, at every width, on random and end values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from equivalence.numerics import bits, integers
from equivalence.numerics.formats import INTS, int_format_of

from .test_casts import hard_integers, wrap

NUMBERS = [n for n in INTS if n != "i1"]
RING: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "bit_and": lambda a, b: a & b,
    "bit_or": lambda a, b: a | b,
    "bit_xor": lambda a, b: a ^ b,
    "minimum": min,
    "maximum": max,
}


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]:
    ints = int_format_of(dtype)
    a = hard_integers(dtype, 400)
    ends = np.array([ints.min, ints.max, 0, 1, 3, ints.min, ints.storage.type(-1) if ints.signed else 7], ints.storage)
    b = np.concatenate([np.roll(a, 7), np.roll(ends, 1), ends])
    a = np.concatenate([a, ends, ends])
    if ints.signed:
        a, b = np.append(a, ints.storage.type(ints.min)), np.append(b, ints.storage.type(-1))
    return a, b, list(zip(a.tolist(), b.tolist(), strict=True))


@pytest.mark.parametrize("op", RING)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_ring_and_bits(dtype: str, op: str) -> None:
    a, b, both = pairs(dtype)
    got = getattr(integers, op)(a, b, dtype)
    assert got.dtype == int_format_of(dtype).storage
    assert got.tolist() == [wrap(RING[op](x, y), dtype) for x, y in both]


def c_division(x: int, y: int) -> tuple[int, int]:
    quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return quotient, x - quotient * y


@pytest.mark.parametrize("flavour", ["trunc", "floor"])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_division(dtype: str, flavour: str) -> None:
    ints = int_format_of(dtype)
    a, b, both = pairs(dtype)
    assert any(y == 0 for _, y in both)
    quotient, undefined = integers.div(a, b, dtype, flavour)
    rest, undefined_rest = integers.rem(a, b, dtype, flavour)
    divide = c_division if flavour == "trunc" else divmod
    all_ones = -1 if ints.signed else ints.max
    want = [divide(x, y) if y else (all_ones, x) for x, y in both]
    assert quotient.tolist() == [wrap(q, dtype) for q, _ in want]
    assert rest.tolist() == [r for _, r in want]
    assert undefined.tolist() == [y == 0 or (ints.signed and (x, y) == (ints.min, -1)) for x, y in both]
    assert (undefined == undefined_rest).all()


@pytest.mark.parametrize("dtype", NUMBERS)
def test_shifts(dtype: str) -> None:
    ints = int_format_of(dtype)
    x = hard_integers(dtype, 100)
    for amount in (0, 1, ints.bits // 2, ints.bits - 1, ints.bits, ints.bits + 3):
        b = np.full(x.shape, amount, ints.storage)
        code = [v % (1 << ints.bits) for v in x.tolist()]
        inside, masked = min(amount, ints.bits), amount % ints.bits
        signed = [c - (1 << ints.bits) if c >> (ints.bits - 1) else c for c in code]
        for flavour, by in (("clamp", inside), ("mask", masked)):
            left, undefined = integers.shl(x, b, dtype, flavour)
            assert left.tolist() == [wrap(c << by, dtype) for c in code]
            assert undefined.tolist() == [amount >= ints.bits] * x.size
            assert integers.shr_logical(x, b, dtype, flavour)[0].tolist() == [wrap(c >> by, dtype) for c in code]
            assert integers.shr_arithmetic(x, b, dtype, flavour)[0].tolist() == [wrap(s >> by, dtype) for s in signed]


def test_a_negative_shift_is_beyond_the_width() -> None:
    value, undefined = integers.shl(np.array([5], np.int32), np.array([-1], np.int32), "i32")
    assert (value[0], bool(undefined[0])) == (0, True)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_high_halves_and_saturation(dtype: str) -> None:
    ints = int_format_of(dtype)
    a, b, both = pairs(dtype)
    assert bits.mulhi(a, b, dtype).tolist() == [(x * y) >> ints.bits for x, y in both]
    assert bits.add_saturating(a, b, dtype).tolist() == [min(max(x + y, ints.min), ints.max) for x, y in both]
    assert bits.sub_saturating(a, b, dtype).tolist() == [min(max(x - y, ints.min), ints.max) for x, y in both]


@pytest.mark.parametrize("dtype", NUMBERS)
def test_counts(dtype: str) -> None:
    width = int_format_of(dtype).bits
    x = hard_integers(dtype, 200)
    code = [v % (1 << width) for v in x.tolist()]
    assert bits.popcount(x, dtype).tolist() == [c.bit_count() for c in code]
    assert bits.clz(x, dtype).tolist() == [width - c.bit_length() for c in code]
    assert bits.ffs(x, dtype).tolist() == [(c & -c).bit_length() for c in code]
    assert bits.ctz(x, dtype).tolist() == [(c & -c).bit_length() - 1 if c else width for c in code]
    assert bits.reverse(x, dtype).tolist() == [wrap(int(f"{c:0{width}b}"[::-1], 2), dtype) for c in code]


def test_division_by_one_positive_number() -> None:
    """The shape of index arithmetic: an array by a scalar, nothing undefined; negative dividends still truncate."""
    up, down = np.arange(12, dtype=np.int32).reshape(3, 4), np.arange(-12, 0, dtype=np.int32).reshape(3, 4)
    five = np.array(5, np.int32)
    for x in (up, down):
        quotient, undefined = integers.div(x, five, "i32")
        rest, _ = integers.rem(x, five, "i32")
        assert quotient.tolist() == [[int(v / 5) for v in row] for row in x.tolist()]
        assert (quotient * 5 + rest == x).all()
        assert undefined.shape == x.shape
        assert not undefined.any()
    assert integers.div(np.zeros((0, 2), np.int32), five, "i32")[0].shape == (0, 2)


def test_unary() -> None:
    x = np.array([-128, -1, 5], np.int8)
    assert integers.neg(x, "i8").tolist() == [-128, 1, -5]
    assert integers.absolute(x, "i8").tolist() == [-128, 1, 5]
    assert integers.bit_not(x, "i8").tolist() == [127, 0, -6]


def test_bools_are_arithmetic_modulo_two() -> None:
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    assert integers.add(a, b, "i1").tolist() == [False, True, True, False]
    assert integers.mul(a, b, "i1").tolist() == [False, False, False, True]
    assert integers.sub(a, b, "i1").tolist() == [False, True, True, False]
    assert integers.bit_not(a, "i1").tolist() == [True, True, False, False]
    assert integers.div(a, b, "i1")[1].tolist() == [True, False, True, False]
