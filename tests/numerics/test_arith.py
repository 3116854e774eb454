"""One rounding per operation, bit for bit against MPFR, libm and a table of all values; a wrong one is seen."""

from __future__ import annotations

import ctypes
import ctypes.util

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equivalence.numerics import arith
from equivalence.numerics.formats import FORMATS, format_of, same_bits
from equivalence.numerics.rounding import cast_float

from .reference import by_mpfr, by_table, differing, finite_values, hard_values

IEEE = ["f64", "f32", "f16", "bf16", "tf32", "f8e5m2", "f8e4m3"]
ARITY = {"add": 2, "sub": 2, "mul": 2, "div": 2, "sqrt": 1, "fma": 3}


def operands(dtype: str, arity: int, count: int) -> tuple[np.ndarray, ...]:
    return tuple(hard_values(dtype, count, seed) for seed in range(10, 10 + arity))


def run(op: str, arrays: tuple[np.ndarray, ...], dtype: str, mode: str) -> np.ndarray:
    return getattr(arith, op)(*arrays, dtype, mode)


@pytest.mark.parametrize("mode", ["rne", "rtz", "rtp", "rtn"])
@pytest.mark.parametrize("op", ARITY)
@pytest.mark.parametrize("dtype", IEEE)
def test_as_mpfr(dtype: str, op: str, mode: str) -> None:
    count = 4000 if mode == "rne" else 800
    arrays = operands(dtype, ARITY[op], count)
    assert differing(run(op, arrays, dtype, mode), by_mpfr(op, arrays, dtype, mode), dtype).size == 0


def cancelling(dtype: str, count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Triples with c near -a*b, near half an ulp of a*b, or far below it: where a second rounding shows."""
    fmt, rng = format_of(dtype), np.random.default_rng(seed)
    a = (1 + rng.integers(0, 1 << fmt.fraction_bits, count) * 2.0**-fmt.fraction_bits).astype(fmt.storage)
    b = (1 + rng.integers(0, 1 << fmt.fraction_bits, count) * 2.0**-fmt.fraction_bits).astype(fmt.storage)
    product = a.astype(np.float64) * b.astype(np.float64)
    scale = np.exp2(rng.integers(-2 * fmt.p - 2, 2, count))
    c = -np.sign(rng.standard_normal(count)) * product * scale
    return a, b, cast_float(c, "f64", dtype)


@pytest.mark.parametrize("dtype", IEEE)
def test_fma_where_it_cancels(dtype: str) -> None:
    arrays = cancelling(dtype, 5000, 4)
    assert differing(arith.fma(*arrays, dtype), by_mpfr("fma", arrays, dtype), dtype).size == 0


def test_the_comparison_sees_an_unfused_and_a_twice_rounded_fma() -> None:
    a, b, c = cancelling("f32", 20000, 4)
    want = by_mpfr("fma", (a, b, c), "f32")
    assert differing(a * b + c, want, "f32").size > 1000
    twice = (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(np.float32)
    ties = halfway_fma()
    assert differing(twice, want, "f32").size < 10  # rare, which is why ties are constructed:
    got = (ties[0].astype(np.float64) * ties[1] + ties[2]).astype(np.float32)
    assert differing(got, by_mpfr("fma", ties, "f32"), "f32").size == ties[0].size


def halfway_fma() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """a*b = 1 + 2^-24 (a tie of f32, nudged by c far below 2^-53): rounding to f64 first loses the nudge."""
    k = np.arange(1, 40)
    a = np.full(k.size, 1 + 2.0**-12, np.float32)
    b = np.full(k.size, 1 + 2.0**-12, np.float32)  # (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24
    return a, b, np.ldexp(1.0, -60 - k).astype(np.float32)


def test_fma_halfway() -> None:
    ties = halfway_fma()
    for sign in (1, -1):
        arrays = (ties[0], ties[1], (sign * ties[2]).astype(np.float32))
        assert differing(arith.fma(*arrays, "f32"), by_mpfr("fma", arrays, "f32"), "f32").size == 0


@pytest.mark.parametrize(("dtype", "name", "ctype"), [("f32", "fmaf", ctypes.c_float), ("f64", "fma", ctypes.c_double)])
def test_fma_as_libm(dtype: str, name: str, ctype: type) -> None:
    libm = getattr(ctypes.CDLL(ctypes.util.find_library("m")), name)
    libm.argtypes, libm.restype = [ctype] * 3, ctype
    arrays = operands(dtype, 3, 20000)
    want = np.array([libm(*row) for row in zip(*(a.tolist() for a in arrays), strict=True)])
    assert differing(arith.fma(*arrays, dtype), want, dtype).size == 0


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize("dtype", [n for n, f in FORMATS.items() if f.bits <= 8])
def test_every_pair_of_8_bit_values(dtype: str, op: str) -> None:
    """All pairs of finite values against the table; sums and products are exact in f64, quotients far from its ties."""
    fmt = format_of(dtype)
    values = finite_values(fmt)
    a, b = (v.reshape(-1) for v in np.meshgrid(values, values[values != 0], indexing="ij"))
    exact = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[op](a, b)
    got = run(op, (a.astype(fmt.storage), b.astype(fmt.storage)), dtype, "rne")
    want = by_table(exact, fmt, "rne")
    assert differing(got, np.where(want == 0, np.copysign(0.0, exact), want), dtype).size == 0


@pytest.mark.parametrize("op", ["mul", "div"])
def test_bf16_where_f32_is_subnormal(op: str) -> None:
    """bf16 shares f32's exponents: results at 2^-135 .. 2^-125 are the ones that a second rounding could spoil."""
    rng = np.random.default_rng(8)
    n = 20000
    a = np.ldexp(128.0 + rng.integers(0, 128, n), rng.integers(-80, -60, n))
    target = np.ldexp(1.0 + rng.random(n), rng.integers(-136, -124, n))
    b = target / a if op == "mul" else a / target
    arrays = cast_float(a, "f64", "bf16"), cast_float(b, "f64", "bf16")
    assert differing(run(op, arrays, "bf16", "rne"), by_mpfr(op, arrays, "bf16"), "bf16").size == 0


def test_numpy_agrees_on_f16() -> None:
    a, b = operands("f16", 2, 100_000)
    with np.errstate(all="ignore"):
        for op, native in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide)):
            assert same_bits(run(op, (a, b), "f16", "rne"), native(a, b), "f16").all()


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16", "f8e4m3fn"])
def test_rem_is_exact_and_has_the_stated_sign(dtype: str) -> None:
    fmt = format_of(dtype)
    a = np.array([7.0, -7.0, 7.0, -7.0, 6.0, -6.0, 0.0]).astype(fmt.storage)
    b = np.array([3.0, 3.0, -3.0, -3.0, -3.0, 3.0, -3.0]).astype(fmt.storage)
    trunc, floor = [1, -1, 1, -1, 0.0, -0.0, 0.0], [1, 2, -2, -1, 0.0, -0.0, 0.0]
    assert differing(arith.rem(a, b, dtype), np.array(trunc), dtype).size == 0
    assert differing(arith.rem(a, b, dtype, "floor"), np.array(floor), dtype).size == 0
    python = [1, 2, -2, -1, -0.0, 0.0, -0.0]
    assert differing(arith.rem(a, b, dtype, "python"), np.array(python), dtype).size == 0


finite32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(max_examples=300, deadline=None)
@given(finite32, finite32, finite32)
def test_fma_f32_by_fractions(a: float, b: float, c: float) -> None:
    arrays = tuple(np.array([v], np.float32) for v in (a, b, c))
    assert differing(arith.fma(*arrays, "f32"), by_mpfr("fma", arrays, "f32"), "f32").size == 0


def test_broadcasting_and_chunks() -> None:
    """Above the threading grain and with a broadcast operand the result is that of the small pieces."""
    a = np.random.default_rng(0).standard_normal((3, 1 << 18)).astype(np.float32)
    c = np.array([[1.0], [2.0], [3.0]], np.float32)
    whole = arith.fma(a, a, c, "f32")
    assert whole.shape == a.shape
    assert (whole[1, :100] == arith.fma(a[1, :100], a[1, :100], c[1], "f32")).all()
    assert (whole[2, -100:] == arith.fma(a[2, -100:], a[2, -100:], c[2], "f32")).all()


def test_scalars_and_empty() -> None:
    assert arith.fma(np.float32(2), np.float32(3), np.float32(4), "f32").shape == ()
    assert arith.add(np.zeros((0, 3), np.float16), np.zeros((1, 3), np.float16), "f16").shape == (0, 3)
