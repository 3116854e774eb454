"""Integers to floats and back: against MPFR-rounded integers and Python's own."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.numerics.casts import bitcast, cast, float_to_int, float_to_int_undefined, int_to_float, int_to_int
from equivalence.numerics.exact import round_rational
from equivalence.numerics.formats import INTS, int_format_of, storage_dtype

from .reference import differing, hard_values

SIGNED = ["i8", "i16", "i32", "i64"]
NUMBERS = [n for n in INTS if n != "i1"]


def hard_integers(dtype: str, count: int = 3000) -> np.ndarray:
    """Random widths, powers of two with neighbours at every rounding position, both ends."""
    ints, rng = int_format_of(dtype), np.random.default_rng(6)
    width = rng.integers(1, ints.bits + 1, count)
    raw = [int(rng.integers(0, 1 << 62)) * 4 + int(rng.integers(0, 4)) >> int(64 - w) for w in width]
    raw += [(1 << k) + (1 << j) + d for k in range(ints.bits) for j in range(0, k, 7) for d in (-1, 0, 1)]
    raw += [ints.min, ints.max, 0]
    signed = [v - (1 << ints.bits) if ints.signed and v > ints.max else v for v in (w % (1 << ints.bits) for w in raw)]
    return np.array(signed, dtype=ints.storage)


@pytest.mark.parametrize("mode", ["rne", "rtz", "rtp", "rtn", "rna"])
@pytest.mark.parametrize("dst", ["f64", "f32", "bf16", "f16", "f8e5m2", "f8e4m3fn"])
@pytest.mark.parametrize("src", ["i64", "u64", "i32", "i8"])
def test_int_to_float_rounds_once(src: str, dst: str, mode: str) -> None:
    x = hard_integers(src, 300)
    want = np.array([round_rational(int(v), 1, dst, mode) for v in x])
    assert differing(int_to_float(x, src, dst, mode=mode), want, dst).size == 0


def test_int64_to_bf16_through_f32_is_seen_as_wrong() -> None:
    x = np.array([(1 << 40) + (1 << 32) + 1], np.int64)  # just above a tie of bf16; f32 loses the last bit
    assert float(int_to_float(x, "i64", "bf16")[0]) == 2.0**40 + 2.0**33
    assert float(cast(cast(x, "i64", "f32"), "f32", "bf16")[0]) == 2.0**40


@pytest.mark.parametrize("dst", NUMBERS)
@pytest.mark.parametrize("src", ["f64", "f32", "f16"])
def test_float_to_int_saturates_and_wraps(src: str, dst: str) -> None:
    x = np.concatenate([hard_values(src, 2000, 1), edges(dst, src)])
    ints = int_format_of(dst)
    with np.errstate(invalid="ignore"):
        exact = [int(v) if np.isfinite(v) else None for v in x.astype(np.float64)]
    infinite = {np.inf: ints.max, -np.inf: ints.min}
    clipped = [
        min(max(e, ints.min), ints.max) if e is not None else infinite.get(float(v), 0) for e, v in zip(exact, x)
    ]
    assert float_to_int(x, src, dst).tolist() == clipped
    wrapped = [wrap(e or 0, dst) for e in exact]
    assert float_to_int(x, src, dst, overflow="wrap").tolist() == wrapped
    undefined = [e is None or not ints.min <= e <= ints.max for e in exact]
    assert float_to_int_undefined(x, src, dst).tolist() == undefined


def wrap(value: int, dtype: str) -> int:
    ints = int_format_of(dtype)
    low = value % (1 << ints.bits)
    return low - (1 << ints.bits) if low > ints.max else low


def edges(dst: str, src: str) -> np.ndarray:
    ints = int_format_of(dst)
    ends = np.array([ints.min, ints.max, ints.max + 1], np.float64)
    with np.errstate(over="ignore"):
        near = np.concatenate([ends, ends - 1, ends + 1, ends - 0.5, ends + 0.5]).astype(storage_dtype(src))
        return np.concatenate([near, np.nextafter(near, near.dtype.type(0))])


def test_undefined_is_x86() -> None:
    x = np.array([np.nan, 3e9, -3e9, 300.0, 1e20])
    assert float_to_int(x, "f64", "i32", overflow="undefined").tolist() == [-(2**31)] * 3 + [300, -(2**31)]
    assert float_to_int(x, "f64", "i64", overflow="undefined").tolist()[-1] == -(2**63)
    assert float_to_int(x, "f64", "i8", overflow="undefined").tolist() == [0, 0, 0, 44, 0]


def test_modes_to_int() -> None:
    x = np.array([0.5, 1.5, -0.5, -1.5])
    got = {m: float_to_int(x, "f64", "i32", mode=m).tolist() for m in ("rne", "rtz", "rtp", "rtn", "rna")}
    assert got["rne"] == [0, 2, 0, -2]
    assert got["rtz"] == [0, 1, 0, -1]
    assert got["rtp"] == [1, 2, 0, -1]
    assert got["rtn"] == [0, 1, -1, -2]
    assert got["rna"] == [1, 2, -1, -2]


def test_bools() -> None:
    assert float_to_int(np.array([0.0, -0.0, 0.1, np.nan]), "f64", "i1").tolist() == [False, False, True, True]
    assert int_to_float(np.array([True, False]), "i1", "bf16").astype(float).tolist() == [1.0, 0.0]
    assert int_to_int(np.array([256, 0], np.int32), "i32", "i1").tolist() == [True, False]


@pytest.mark.parametrize("src", SIGNED)
@pytest.mark.parametrize("dst", NUMBERS)
def test_int_to_int_wraps_and_extends(src: str, dst: str) -> None:
    x = hard_integers(src, 200)
    assert int_to_int(x, src, dst).tolist() == [wrap(int(v), dst) for v in x]


def test_bitcast() -> None:
    assert bitcast(np.array([1.0], np.float32), "f32", "i32")[0] == 0x3F800000
    assert bitcast(np.float32(1.0), "f32", "u32").shape == ()
    with pytest.raises(ValueError, match="4 bytes against 8"):
        bitcast(np.zeros(2, np.float32), "f32", "i64")
