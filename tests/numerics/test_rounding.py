"""Casts, bit for bit: every 16-bit value to every small format, halfway and overflow cases, all modes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from equivalence.numerics.formats import FORMATS, codes, format_of, same_bits
from equivalence.numerics.rounding import MODES, cast_float, flush_subnormals, reduce_precision, round_integral

from .reference import by_mpfr, by_table, differing, finite_values, hard_values

SMALL = [n for n, f in FORMATS.items() if f.bits <= 8]
ALL16 = np.arange(1 << 16, dtype=np.uint16)


def adversarial(dtype: str) -> np.ndarray:
    """f64 values at, and one f64 step either side of, every value and every midpoint of a format up to 16 bits."""
    values = finite_values(format_of(dtype))
    values = values if values.size < 2000 else values[:: values.size // 1500]
    step = values[-1] - values[-2]
    points = np.concatenate([values, (values[1:] + values[:-1]) / 2, values[[0, -1]] * 1.5, [values[-1] + step / 2]])
    points = np.concatenate([points, -points])
    return np.concatenate([points, np.nextafter(points, np.inf), np.nextafter(points, -np.inf)])


@pytest.mark.parametrize("src", ["f16", "bf16"])
@pytest.mark.parametrize("dst", SMALL)
def test_every_16_bit_value_to_8_bits_as_ml_dtypes(src: str, dst: str) -> None:
    x = ALL16.view(format_of(src).storage)
    got = cast_float(x, src, dst)
    with np.errstate(all="ignore"):
        want = x.astype(np.float32).astype(format_of(dst).storage)
        number = ~np.isnan(x.astype(np.float32)) | (format_of(dst).nan != "none")
    assert same_bits(got, want, dst)[number].all()


@pytest.mark.parametrize("dst", [*SMALL, "f16", "bf16", "tf32"])
@pytest.mark.parametrize("mode", MODES)
def test_halfway_and_neighbours_from_f64(dst: str, mode: str) -> None:
    if dst == "tf32":
        x = np.concatenate([hard_values("f64", 2000, 3), adversarial("f16")])
        x = x[np.isfinite(x)]
        if mode == "rna":
            pytest.skip("MPFR has no ties-away here; f16 has the same precision and is covered by the table")
        want = by_mpfr("cast", (x,), dst, mode)
    else:
        x = adversarial(dst)
        want = by_table(x, format_of(dst), mode)
    got = cast_float(x, "f64", dst, mode=mode)
    want = np.where(want == 0, np.copysign(0.0, x), want)
    assert differing(got, want, dst).size == 0


@pytest.mark.parametrize("dst", ["f32", "f16", "bf16", "f8e5m2"])
@pytest.mark.parametrize("mode", ["rne", "rtz", "rtp", "rtn"])
def test_from_f64_as_mpfr(dst: str, mode: str) -> None:
    near = by_mpfr("cast", (hard_values(dst, 4000, 1),), "f64")
    near = near[np.isfinite(near)]
    x = np.concatenate([hard_values("f64", 2000, 2), near * (1 + 2.0**-40), near * (1 - 2.0 ** -format_of(dst).p)])
    assert differing(cast_float(x, "f64", dst, mode=mode), by_mpfr("cast", (x,), dst, mode), dst).size == 0


def test_the_comparison_sees_a_double_rounding() -> None:
    """ml_dtypes casts f64 to bf16 and fp8 through f32; the value that shows it must be seen as wrong here."""
    x = np.array([1 + 2.0**-8 + 2.0**-40])
    want = by_mpfr("cast", (x,), "bf16")
    assert differing(x.astype(ml_dtypes.bfloat16), want, "bf16").size == 1
    assert differing(cast_float(x, "f64", "bf16"), want, "bf16").size == 0


@pytest.mark.parametrize("dst", SMALL)
def test_saturation(dst: str) -> None:
    fmt = format_of(dst)
    x = np.array([np.inf, -np.inf, 1e30, -1e30, fmt.max * 1.25, fmt.max, -0.0])
    got = cast_float(x, "f64", dst, saturate=True).astype(np.float64)
    assert got.tolist() == [fmt.max, -fmt.max, fmt.max, -fmt.max, fmt.max, fmt.max, 0.0]


def test_overflow_rules_differ_by_format() -> None:
    x = np.array([464.0, 465.0, 1e9, np.inf])
    assert cast_float(x, "f64", "f8e4m3fn").astype(float).tolist()[0] == 448.0  # tie to even, 448 and not NaN
    assert np.isnan(cast_float(x, "f64", "f8e4m3fn").astype(float)[1:]).all()
    assert cast_float(np.array([61439.0, 61440.0]), "f64", "f8e5m2").astype(float).tolist() == [57344.0, np.inf]
    assert cast_float(x, "f64", "f4e2m1fn").astype(float).tolist() == [6.0] * 4
    assert cast_float(np.array([65520.0]), "f64", "f16")[0] == np.inf
    assert cast_float(np.array([65520.0]), "f64", "f16", mode="rtz")[0] == 65504.0


def test_zero_sign_is_kept_where_it_exists() -> None:
    tiny = np.array([-0.0, -1e-30])
    assert (codes(cast_float(tiny, "f64", "f8e4m3fn"), "f8e4m3fn") == 0x80).all()
    assert (codes(cast_float(tiny, "f64", "f8e4m3fnuz"), "f8e4m3fnuz") == 0).all()


def test_tf32_ties() -> None:
    half = np.array([1 + 2.0**-11, 1 + 3 * 2.0**-11], np.float32)
    assert cast_float(half, "f32", "tf32").tolist() == [1.0, 1 + 2.0**-9]
    assert cast_float(half, "f32", "tf32", mode="rna").tolist() == [1 + 2.0**-10, 1 + 2.0**-9]
    assert cast_float(half, "f32", "tf32", mode="rtz").tolist() == [1.0, 1 + 2.0**-10]


@pytest.mark.parametrize("src", [n for n in FORMATS if n != "f64"])
def test_widening_is_lossless_and_round_trips(src: str) -> None:
    x = hard_values(src, 4000, 5)
    assert same_bits(cast_float(cast_float(x, src, "f64"), "f64", src), x, src).all()


def test_fnuz_has_no_home_for_minus_zero_and_formats_do_not_contain_each_other() -> None:
    """e5m2fnuz reaches lower than e5m2 but has no infinity: the cast is not a widening in either direction."""
    inf = np.array([np.inf], ml_dtypes.float8_e5m2)
    assert np.isnan(cast_float(inf, "f8e5m2", "f8e5m2fnuz").astype(float)[0])
    low = np.array([2.0**-17], ml_dtypes.float8_e5m2fnuz)
    assert cast_float(low, "f8e5m2fnuz", "f8e5m2").astype(float)[0] == 0.0


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f8e4m3fn"])
def test_flush(dtype: str) -> None:
    fmt = format_of(dtype)
    x = np.array([fmt.smallest_subnormal, -fmt.smallest_subnormal, fmt.smallest_normal, 0.0, 1.0]).astype(fmt.storage)
    want = np.array([0.0, -0.0, fmt.smallest_normal, 0.0, 1.0])
    assert differing(flush_subnormals(x, dtype), want, dtype).size == 0


@pytest.mark.parametrize("mode", MODES)
def test_round_integral(mode: str) -> None:
    x = np.array([0.49999997, 0.5, 1.5, 2.5, -0.5, -0.2, 8388607.5, 8388609.0, np.inf], np.float32)
    want = {
        "rne": [0, 0, 2, 2, -0.0, -0.0, 8388608, 8388609, np.inf],
        "rtz": [0, 0, 1, 2, -0.0, -0.0, 8388607, 8388609, np.inf],
        "rtp": [1, 1, 2, 3, -0.0, -0.0, 8388608, 8388609, np.inf],
        "rtn": [0, 0, 1, 2, -1, -1, 8388607, 8388609, np.inf],
        "rna": [0, 1, 2, 3, -1, -0.0, 8388608, 8388609, np.inf],
    }[mode]
    assert differing(round_integral(x, "f32", mode=mode), np.array(want), "f32").size == 0


def test_reduce_precision_is_a_cast_without_subnormals() -> None:
    x = hard_values("f32", 5000, 9)
    for dtype, exponent, mantissa in (("bf16", 8, 7), ("f16", 5, 10), ("f8e5m2", 5, 2), ("f8e4m3", 4, 3)):
        fmt = format_of(dtype)
        cast = cast_float(x, "f32", dtype)
        ordinary = np.abs(x) >= 2 * fmt.smallest_normal
        got = reduce_precision(x, exponent, mantissa)
        assert same_bits(got, cast.astype(np.float32), "f32")[ordinary | (x == 0) | np.isnan(x)].all()
        assert (got[np.abs(x) < fmt.smallest_normal / 2] == 0).all()
        assert (np.signbit(got) == np.signbit(x))[~np.isnan(x)].all()
    tie = np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8, 2.0**-15], np.float32)
    assert reduce_precision(tie, 5, 7).tolist() == [1.0, 1 + 2.0**-6, 0.0]
