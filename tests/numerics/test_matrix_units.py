"""Matrix units against exact rationals, against published figures, and on inputs that tell their parameters apart."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from math import inf, isinf, isnan, nan
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from equivalence.numerics.formats import Format, format_of, same_bits
from equivalence.numerics.fused_add import Adder, accumulate, split
from equivalence.numerics.matrix_units import SOURCES, UNITS, Row, dot, unit_of
from equivalence.numerics.rounding import cast_float
from tests.numerics.rational_adder import slow

FUSED = [(unit.name, row) for unit in UNITS.values() for row in unit.rows if row.adder.kind == "fused"]
CHAINS = [(unit.name, row) for unit in UNITS.values() for row in unit.rows if row.adder.kind == "chain"]
IDS = [f"{name}-{row.inputs[0]}-{row.acc}" for name, row in FUSED]
SEQUENTIAL = Adder("chain", 1 << 30)


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, low: int, high: int) -> np.ndarray:
    """Values of a format whose exponents are spread from ``low`` to ``high``; a fifth of them zero."""
    fmt = format_of(dtype)
    wide = rng.standard_normal(shape) * 2.0 ** rng.integers(low, high + 1, shape)
    wide = np.clip(wide * (rng.random(shape) < 0.8), -fmt.max, fmt.max)
    return cast_float(wide, "f64", dtype)


def ranges(fmt: Format) -> list[tuple[int, int]]:
    """Of exponents: all alike, spread, subnormal, near overflow."""
    deep, far = max(fmt.emin - fmt.fraction_bits, -140), min(fmt.emax, 120)
    return [(0, 0), (-9, 9), (deep, deep + 8), (far - 4, far), (deep // 2 - 3, deep // 2 + 3)]


@pytest.mark.parametrize(("name", "row"), FUSED, ids=IDS)
def test_agrees_with_exact_rationals(name: str, row: Row) -> None:
    k = 2 * row.adder.products + 3  # a tail that is no whole step
    for dtype in row.inputs:
        for number, (low, high) in enumerate(ranges(format_of(dtype))):
            rng = np.random.default_rng([number, k])
            a, b = drawn(rng, (3, k), dtype, low, high), drawn(rng, (k, 3), dtype, low, high)
            c = drawn(rng, (3, 3), row.acc, *ranges(format_of(row.acc))[number])
            found = dot(a, b, c, row.adder, dtype, row.acc)
            wide = [x.astype(np.float64) for x in (a, b, c)]
            for i, j in np.ndindex(3, 3):
                expected = slow(list(wide[0][i]), list(wide[1][:, j]), float(wide[2][i, j]), row.adder, dtype, row.acc)
                assert same_bits(found[i : i + 1, j], np.array([expected], found.dtype), row.acc).all(), (dtype, low)


def test_a_late_accumulator_is_added_with_a_rounding_of_its_own() -> None:
    adder = Adder("fused", 4, 24, joins=False)
    rng = np.random.default_rng(5)
    a, b = drawn(rng, (4, 11), "bf16", -5, 5), drawn(rng, (11, 4), "bf16", -5, 5)
    c = drawn(rng, (4, 4), "f32", -5, 5)
    found = dot(a, b, c, adder, "bf16", "f32")
    for i, j in np.ndindex(4, 4):
        row, column = a[i].astype(float).tolist(), b[:, j].astype(float).tolist()
        assert found[i, j] == slow(row, column, float(c[i, j]), adder, "bf16", "f32")
    assert (found != dot(a, b, c, replace(adder, joins=True), "bf16", "f32")).any()


# -- special values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "c", "expected"),
    [
        ([inf], [0.0], 1.0, nan),
        ([inf], [2.0], 5.0, inf),
        ([inf, -inf], [1.0, 1.0], 0.0, nan),
        ([inf], [1.0], -inf, nan),
        ([nan], [0.0], 0.0, nan),
        ([1.0], [1.0], nan, nan),
        ([0.0] * 9 + [inf], [1.0] * 10, -inf, nan),  # the infinity comes in the second step
        ([0.0], [1.0], -inf, -inf),
        ([65504.0] * 16, [65504.0] * 16, 3.4e38, 3.3999999521443642e38),
        ([-0.0] * 8, [1.0] * 8, -0.0, 0.0),  # a sum of zeros is +0
        ([1.0, -1.0], [1.0, 1.0], -0.0, 0.0),
        ([0.0] * 8, [1.0] * 8, -(2.0**-149), -(2.0**-149)),  # a subnormal accumulator stays
        ([2.0**-24, -(2.0**-24)], [2.0**-24, 2.0**-24], 2.0**-149, 0.0),  # ... unless products are far above it
        ([2.0**-24], [2.0**-24], 0.0, 2.0**-48),  # subnormal operands count
    ],
)
def test_special_values(a: list[float], b: list[float], c: float, expected: float) -> None:
    rows, columns = np.array([a], np.float16), np.array(b, np.float16).reshape(-1, 1)
    found = dot(rows, columns, np.array([[c]], np.float32), UNITS["Ampere"], "f16", "f32")[0, 0]
    assert (isnan(found) and isnan(expected)) or (found == expected and np.signbit(found) == np.signbit(expected))


def test_overflow_is_an_infinity_although_rounding_is_toward_zero() -> None:
    big = np.full((1, 8), 2.0**127, ml_dtypes.bfloat16)
    assert isinf(dot(big, big.T, None, UNITS["Ampere"], "bf16", "f32")[0, 0])
    half = np.array([[65504.0, 16.0]], np.float16)
    assert isinf(dot(half, np.ones((2, 1), np.float16), None, UNITS["Ampere"], "f16", "f16")[0, 0])
    half[0, 1] = 15.0
    assert dot(half, np.ones((2, 1), np.float16), None, UNITS["Ampere"], "f16", "f16")[0, 0] == 65504


def test_zeros_and_special_values_have_exponents_beyond_all_others() -> None:
    significand, exponent = split(np.array([0.0, 1.5, -6.0, 2.0**-24, inf, nan]), format_of("f16"))
    assert significand.tolist() == [0, 1536, -1536, 1, 1, 1] or significand[1:4].tolist() == [1536, -1536, 1]
    assert exponent[1:4].tolist() == [0, 2, -14]
    assert exponent[0] < -1000 and (exponent[4:] > 1000).all()


# -- what is published -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Volta", "Turing", "Ampere", "Ada", "Hopper", "Blackwell"])
def test_two_thirds_of_short_dots_differ_from_a_sequential_chain(name: str) -> None:
    rng = np.random.default_rng(7)
    a, b = (rng.standard_normal((4000, 16)).astype(np.float16) for _ in "ab")
    found = dot(a[:, None, :], b[:, :, None], None, UNITS[name], "f16", "f32")
    chain = dot(a[:, None, :].astype(np.float32), b[:, :, None].astype(np.float32), None, SEQUENTIAL, "f32", "f32")
    assert 0.58 < (found != chain).mean() < 0.72


def stated_shares() -> list[tuple[str, ...]]:
    """The rows of the table of docs/matrix-units.md."""
    text = (Path(__file__).parents[2] / "docs" / "matrix-units.md").read_text()
    return re.findall(r"^\| (\w+) \| (\w+) \| (\w+) \| (\d+) % \|$", text, re.MULTILINE)


@pytest.mark.parametrize(("one", "other", "dtype", "percent"), stated_shares())
def test_how_many_elements_of_a_product_differ(one: str, other: str, dtype: str, percent: str) -> None:
    rng = np.random.default_rng(11)
    shares = []
    for _ in range(4):
        a, b = (cast_float(rng.standard_normal((64, 64)), "f64", dtype) for _ in "ab")
        shares.append((product(a, b, one, dtype) != product(a, b, other, dtype)).mean())
    assert abs(100 * np.mean(shares) - int(percent)) < 4 * (percent != "0") + 0.01
    assert len(stated_shares()) == 7


def product(a: np.ndarray, b: np.ndarray, name: str, dtype: str = "bf16") -> np.ndarray:
    return dot(a, b, None, UNITS[name], dtype, "f32")


@pytest.mark.parametrize("name", ["Ada", "Hopper"])
def test_an_fp8_accumulator_has_13_fraction_bits(name: str) -> None:
    """SageAttention2: with A and B zero, D is C with its last 10 fraction bits cut off."""
    rng = np.random.default_rng(3)
    c = rng.standard_normal((8, 8)).astype(np.float32)
    zero = np.zeros((8, 64), ml_dtypes.float8_e4m3fn)
    found = dot(zero, zero.T, c, UNITS[name], "f8e4m3fn", "f32")
    assert (found.view(np.uint32) == c.view(np.uint32) & np.uint32(0xFFFFFC00)).all()
    assert (dot(zero, zero.T, c, UNITS["Blackwell"], "f8e4m3fn", "f32") == c).all()


@pytest.mark.parametrize(("name", "extra"), [("Volta", 0), ("Turing", 1), ("Ampere", 1), ("Ada", 1), ("Hopper", 2)])
def test_bits_beyond_f32_that_are_kept_in_the_alignment(name: str, extra: int) -> None:
    """Parts of a last place make a whole where they are kept: 1 + 2^e 2^-(23 + e) is more than 1 for e <= extra."""
    for e in (1, 2, 3):
        count = 1 << e
        a = np.array([[1.0] + [2.0**-11] * count], np.float16)[:, : 1 + count]
        b = np.array([[1.0]] + [[2.0 ** -(12 + e)]] * count, np.float16)
        if a.shape[1] > UNITS[name].row("f16", "f32").adder.products:  # type: ignore[union-attr]
            continue
        grew = product(a, b, name, "f16")[0, 0] > 1
        assert grew == (e <= extra), (e, extra)


@pytest.mark.parametrize(("name", "together"), [("Volta", 4), ("Turing", 8), ("Ampere", 8), ("Ada", 8), ("Hopper", 16)])
def test_how_many_products_are_one_addition(name: str, together: int) -> None:
    """FPRev: 2^28 and -2^28 mask what is added between them; after a step they are gone."""
    for far in range(1, 32):
        a, b = np.full((1, 32), 2.0**-4, np.float16), np.ones((32, 1), np.float16)
        a[0, 0], a[0, far], b[0, 0], b[far, 0] = 2.0**14, -(2.0**14), 2.0**14, 2.0**14
        seen = product(a, b, name, "f16")[0, 0] * 16
        assert seen == 32 - (far // together + 1) * together, far


# -- exactness ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "row"), FUSED + CHAINS)
def test_small_integers_are_exact(name: str, row: Row) -> None:
    rng = np.random.default_rng(13)
    for dtype in row.inputs:
        a, b, c = (rng.integers(-3, 4, shape).astype(float) for shape in ((2, 5, 70), (2, 70, 6), (2, 5, 6)))
        found = dot(cast_float(a, "f64", dtype), cast_float(b, "f64", dtype), cast_float(c, "f64", row.acc), row.adder,
                    dtype, row.acc)  # fmt: skip
        assert (found.astype(float) == a @ b + c).all()


def test_f64_is_a_chain_of_fused_multiply_adds() -> None:
    rng = np.random.default_rng(17)
    a, b, c = rng.standard_normal((3, 40)), rng.standard_normal((40, 2)), rng.standard_normal((3, 2))
    found = dot(a, b, c, UNITS["Hopper"], "f64", "f64")
    for i, j in np.ndindex(3, 2):
        total = Fraction(float(c[i, j]))
        for x, y in zip(a[i], b[:, j], strict=True):
            exact = Fraction(float(x)) * Fraction(float(y)) + total
            total = Fraction(float(exact))  # Python rounds a rational to nearest
        assert found[i, j] == float(total)


@pytest.mark.parametrize("name", ["TPU", "Trainium"])
def test_a_systolic_column_is_summed_before_the_accumulator_is_added(name: str) -> None:
    rng = np.random.default_rng(19)
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((2, 300), (300, 2)))
    c = rng.standard_normal((2, 2)).astype(np.float32)
    expected = c.copy()
    for low in range(0, 300, 128):
        column = np.zeros((2, 2), np.float32)
        for k in range(low, min(low + 128, 300)):
            column = column + a[:, k, None].astype(np.float32) * b[None, k].astype(np.float32)  # exact products
        expected = expected + column
    assert (dot(a, b, c, UNITS[name], "bf16", "f32") == expected).all()


# -- parameters tell ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [{"fraction": 23}, {"fraction": 25}, {"products": 4}, {"products": 16},
                                    {"nearest": True}, {"kept": 20}, {"joins": False}])  # fmt: skip
def test_each_parameter_changes_some_result(change: dict[str, int]) -> None:
    rng = np.random.default_rng(23)
    a, b, c = rng.standard_normal((32, 32)), rng.standard_normal((32, 32)), rng.standard_normal((32, 32))
    rows, columns, start = a.astype(np.float16), b.astype(np.float16), c.astype(np.float32)
    ampere = UNITS["Ampere"].rows[0].adder
    assert ampere == Adder("fused", 8, 24, least=-132)
    base = dot(rows, columns, start, ampere, "f16", "f32")
    other = dot(rows, columns, start, replace(ampere, **change), "f16", "f32")
    assert (base != other).any()
    assert np.abs(base - other).max() < 1e-2


def test_the_least_exponent_shows_among_subnormals() -> None:
    """2^-149 less something far below: cut toward zero where it still counts."""
    a = np.array([[2.0**-75, 2.0**-80]], np.float32).astype(ml_dtypes.bfloat16)
    b = np.array([[2.0**-74], [-(2.0**-85)]], np.float32).astype(ml_dtypes.bfloat16)
    ampere = UNITS["Ampere"].rows[0].adder
    assert dot(a, b, None, ampere, "bf16", "f32")[0, 0] == np.float32(2.0**-149)
    assert dot(a, b, None, replace(ampere, least=None), "bf16", "f32")[0, 0] == 0


# -- the table ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "name"),
    [("sm_70", "Volta"), ("sm_75", "Turing"), ("sm_80", "Ampere"), ("sm_86", "Ampere"), ("sm_89", "Ada"),
     ("sm_90", "Hopper"), ("sm_90a", "Hopper"), ("sm_100", "Blackwell"), ("sm_100a", "Blackwell"),
     ("sm_120", "Blackwell"), ("tpu_v4", "TPU"), ("tpu_v5e", "TPU"), ("tpu_v5p", "TPU"), ("tpu_v6e", "TPU v6"),
     ("trn1", "Trainium"), ("trn2", "Trainium"), ("trn3", "Trainium 3")],
)  # fmt: skip
def test_targets(target: str, name: str) -> None:
    assert unit_of(target) is UNITS[name]


@pytest.mark.parametrize("target", ["cpu", "sm_60", "sm_90x1", "tpu", "trn9", ""])
def test_targets_without_a_model(target: str) -> None:
    assert unit_of(target) is None


def test_every_row_says_what_it_rests_on() -> None:
    for unit in UNITS.values():
        for row in unit.rows:
            assert row.sources and set(row.sources) <= SOURCES.keys()
            assert ("none" in row.sources) == (row.status == "assumed")


def test_formats_without_a_row_are_refused() -> None:
    x = np.ones((2, 2), ml_dtypes.bfloat16)
    with pytest.raises(ValueError, match=r"Volta, mma\.sync: products of bf16 and bf16 into f32 are not modelled"):
        dot(x, x, None, UNITS["Volta"], "bf16", "f32")
    with pytest.raises(ValueError, match="modelled in f32 and f64, not in f16"):
        accumulate(x[None], x[None], x[None], SEQUENTIAL, ("bf16", "bf16"), "f16")


def test_outer_axes_broadcast() -> None:
    rng = np.random.default_rng(29)
    a, b = rng.standard_normal((3, 1, 4, 8)).astype(np.float16), rng.standard_normal((2, 8, 5)).astype(np.float16)
    found = product(a, b, "Ampere", "f16")
    assert found.shape == (3, 2, 4, 5)
    assert (found[1, 1] == product(a[1, 0], b[1], "Ampere", "f16")).all()
