"""Format parameters against ml_dtypes and numpy; ulps and distances against the neighbours themselves."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from equivalence.numerics.formats import (
    FORMATS,
    NAN_DISTANCE,
    format_of,
    int_format_of,
    ordered,
    same_bits,
    storage_dtype,
    ulp,
    ulp_distance,
)

from .reference import finite_values, hard_values

STORED = [n for n in FORMATS if n != "tf32"]


@pytest.mark.parametrize("name", STORED)
def test_parameters_are_those_of_ml_dtypes(name: str) -> None:
    fmt, info = format_of(name), ml_dtypes.finfo(storage_dtype(name))
    assert fmt.max == float(info.max)
    assert fmt.smallest_subnormal == float(info.smallest_subnormal)
    assert (fmt.fraction_bits, fmt.emin, fmt.bits) == (info.nmant, info.minexp, info.bits)
    assert 2 * fmt.u == float(info.eps)


def test_tf32_is_f16_precision_with_f32_range() -> None:
    tf32 = format_of("tf32")
    assert (tf32.p, tf32.emin, tf32.emax) == (11, -126, 127)
    assert tf32.max == 2.0**128 - 2.0**117


@pytest.mark.parametrize("name", ["f16", "bf16", *(n for n, f in FORMATS.items() if f.bits <= 8)])
def test_ulp_is_the_gap_above(name: str) -> None:
    fmt = format_of(name)
    values = finite_values(fmt)
    values = values[values >= 0]
    assert (ulp(values[:-1], name) == np.diff(values)).all()
    between = values[:-1] + np.diff(values) * 0.75
    assert (ulp(between, name) == np.diff(values)).all()


def test_ulp_at_the_ends() -> None:
    x = np.array([0.0, 1e300, np.inf, np.nan, -1.0])
    assert ulp(x, "f32")[:2].tolist() == [2.0**-149, 2.0**104]
    assert np.isnan(ulp(x, "f32")[2:4]).all()
    assert ulp(x, "f32")[4] == 2.0**-23


@pytest.mark.parametrize("name", ["f16", "bf16", *(n for n, f in FORMATS.items() if f.bits <= 8)])
def test_neighbours_are_one_apart(name: str) -> None:
    x = finite_values(format_of(name)).astype(storage_dtype(name))
    assert (ulp_distance(x[1:], x[:-1], name) == 1).all()
    assert (ulp_distance(x[2:], x[:-2], name) == 2).all()
    assert (np.diff(ordered(x, name)) == 1).all()


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_nextafter_is_one_apart(name: str) -> None:
    x = hard_values(name, 5000, 2)
    x = x[np.isfinite(x) & (x != format_of(name).max)]
    up = np.nextafter(x, x.dtype.type(np.inf))
    assert (ulp_distance(x, up, name) == 1).all()
    assert (ulp_distance(up, x, name) == 1).all()


def test_distance_across_the_whole_range_and_at_specials() -> None:
    big = np.array([np.finfo(np.float64).max, np.inf, np.nan, np.nan, 0.0, 1.0])
    far = np.array([-np.finfo(np.float64).max, -np.inf, np.nan, 1.0, -0.0, 1.0])
    got = ulp_distance(big, far, "f64").tolist()
    largest = int(np.array(np.finfo(np.float64).max).view(np.uint64))
    assert got == [2 * largest, 2 * largest + 2, 0, int(NAN_DISTANCE), 0, 0]


def test_tf32_distance_counts_tf32_steps() -> None:
    x = np.array([1.0], np.float32)
    assert ulp_distance(x, x + np.float32(2.0**-10), "tf32")[0] == 1


def test_same_bits_tells_the_zeros_apart_and_not_the_nans() -> None:
    a = np.array([0.0, np.nan, 1.0], np.float32)
    b = np.array([-0.0, -np.nan, 1.0], np.float32)
    assert same_bits(a, b, "f32").tolist() == [False, True, True]


def test_names_that_do_not_exist() -> None:
    with pytest.raises(KeyError, match="f80"):
        format_of("f80")
    with pytest.raises(KeyError, match="i7"):
        int_format_of("i7")
    assert format_of("f4e2m1") is format_of("f4e2m1fn")
