"""Recognition, identification and places of constants: counterexamples of the design, laws of the fields."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import gmpy2
import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sympy import factorint
from sympy import sqrt as symbolic_sqrt
from sympy.ntheory import is_quad_residue

from equivalence.fields import formats, forms, identification, primes, recognition
from equivalence.fields.constants import (
    Form,
    description_length,
    discrete_log,
    exact,
    field_value,
    identify,
    recognise,
)
from equivalence.fields.pairfield import pair_field
from equivalence.numerics.formats import format_of

PRIMES = primes.choose(seed=1, count=12)
ONE = Fraction(1)
LOG2E = Form(ONE, ln2=-1)
LN2 = Form(ONE, ln2=1)
PI = Form(ONE, half_pi=2)


def f32(x: float | str) -> float:
    return float(np.float32(x))


def bf16(x: float) -> float:
    return float(ml_dtypes.bfloat16(np.float32(x)))


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("0.1", "1/10"),
        ("1.44269504", "log2(e)"),
        ("0.6931472", "ln 2"),
        ("0.70710677", "1/2*√2"),
        ("0.7978846", "√2*√π^-1"),
        ("0.16129822", "1/20*√5*log2(e)"),
        ("0.18033688", "1/8*log2(e)"),
        ("3.1415927", "π"),
        ("6.2831855", "2*π"),
        ("0.33333334", "1/3"),
        ("-0.33333334", "-1/3"),
        ("2.3025851", "ln 10"),
        ("3.3219281", "log2(e)*ln 10"),
        ("1e-5", "1/100000"),
        ("1e-12", "1/1000000000000"),
        ("0.5", "1/2"),
        ("3.0", "3"),
        ("0.375", "3/8"),
        ("-0.0", "0"),
    ],
)
def test_f32_constants_that_mean_something(written: str, words: str) -> None:
    form = recognise(f32(written), "f32")
    assert form is not None and form.words() == words
    assert f32(str(form.value())) == f32(written)


@pytest.mark.parametrize("written", ["0.123456", "1.2345678", "0.7071068", "0.7978847", "3.14159"])
def test_f32_constants_that_stay_exact(written: str) -> None:
    """Too many digits for a decimal that is meant, and no correct roundings of what they resemble."""
    assert recognise(f32(written), "f32") is None


@pytest.mark.parametrize("written", ["0.1", "1.44269504", "0.70710677", "1e-5", "0.3989423"])
def test_one_ulp_away_is_not_recognised(written: str) -> None:
    for toward in (-np.inf, np.inf):
        neighbour = float(np.nextafter(np.float32(written), np.float32(toward)))
        assert recognise(neighbour, "f32") != recognise(f32(written), "f32") is not None


@pytest.mark.parametrize("head", [16, 32, 40, 64, 72, 80, 88, 96, 104, 112, 128, 160, 192, 256, 512, 576])
def test_softmax_scales_of_every_head_size(head: int) -> None:
    root = forms.root_of(Fraction(1, head))
    assert recognise(f32(head**-0.5), "f32") == root == recognise(head**-0.5, "f64")
    folded = f32(head**-0.5 * math.log2(math.e))
    assert recognise(folded, "f32") == root.times(LOG2E)


def test_f64_and_coarse_formats() -> None:
    assert recognise(math.log2(math.e), "f64") == LOG2E and recognise(1.44269504, "f64") != LOG2E
    assert recognise(0.044715, "f64") == exact(Fraction(44715, 10**6))
    assert recognise(math.pi, "f64") == PI and recognise(math.sqrt(2 / math.pi), "f64") is not None
    for dtype, value in (("bf16", bf16(0.1)), ("bf16", bf16(1.4427)), ("f16", float(np.float16(0.1)))):
        assert recognise(value, dtype) == exact(value)
    assert recognise(math.inf, "f32") is None and recognise(math.nan, "f32") is None


def test_ambiguous_is_not_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    other = exact(Fraction(1, 10) + Fraction(1, 10**12))
    monkeypatch.setattr(recognition, "_decimals", lambda x, limit: iter([other]))
    assert recognition.rounds_to(other, Fraction(f32(0.1)), formats.FORMATS["f32"])
    assert recognise.__wrapped__(f32(0.1), "f32") is None and recognise.__wrapped__(f32(0.2), "f32") is not None


def _cheap(budget: float) -> int:
    """Reduced fractions of odd parts within a budget of bits."""
    top = int(2**budget)
    return sum(math.gcd(m, n) == 1 for m in range(1, top + 1, 2) for n in range(1, top // m + 1, 2))


def test_fewer_than_2_to_14_significands_carry_a_form() -> None:
    limit, total = recognition.LIMIT["f32"], 0
    for _, bits, degree in recognition._families():  # 2^j moves no significand, but for its part under a root
        total += degree * _cheap(limit - bits) if bits <= limit else 0
    for k in range(1, recognition.LARGEST_DECIMAL + 1):
        total += int(2 ** (limit - recognition.DECIMAL_TAG) / k)
    print(f"forms of at most {limit:.0f} bits: {total}")
    assert 4000 < total < 2**14


def test_random_constants_are_rarely_misread() -> None:
    values = np.random.default_rng(5).uniform(0.5, 1.0, 600).astype(np.float32)
    long = [float(v) for v in values if recognition.odd_part(Fraction(float(v)).numerator) > 2**14]
    assert sum(recognise(v, "f32") is not None for v in long) <= 6


def test_description_lengths() -> None:
    assert description_length(exact(Fraction(1, 10))) == 4 and description_length(LOG2E) == 5
    assert description_length(exact(Fraction(1, 10**5))) < description_length(exact(Fraction(1, 3125 * 17)))
    assert description_length(Form(ONE, half_pi=5)) == math.inf


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 45), st.integers(1, 45), st.sampled_from([0, 1]), st.sampled_from(["f32", "f64"]))
def test_round_trip_of_short_forms(m: int, n: int, rooted: int, dtype: str) -> None:
    r = Fraction(m, n)
    assume(recognition.fraction_bits(r) <= 8)
    form = forms.root_of(r) if rooted else exact(r)
    rounded = formats.FORMATS[dtype].round(formats.rational(form.value()))
    assert rounded is not None and recognise(float(rounded), dtype) == form


@settings(max_examples=200, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_rounding_to_formats_against_numpy(x: float) -> None:
    for dtype, kind in (("f32", np.float32), ("f16", np.float16)):
        got = formats.FORMATS[dtype].round(Fraction(x))
        with np.errstate(over="ignore", under="ignore"):
            want = float(kind(x))
        assert (got is None and math.isinf(want)) or got == Fraction(want)


def test_rounding_is_done_once() -> None:
    """Through f32 this f64 lands on a tie and then on the even, lower bf16."""
    x = 1 + 2.0**-8 + 2.0**-40
    assert formats.FORMATS["bf16"].round(Fraction(x)) == 1 + Fraction(1, 128)
    for value in np.random.default_rng(6).uniform(1, 2, 50):
        with gmpy2.context(gmpy2.get_context(), precision=8):
            assert formats.FORMATS["bf16"].round(Fraction(value)) == Fraction(float(gmpy2.mpfr(value)))


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 2000))
def test_integer_helpers_against_sympy(n: int) -> None:
    a, s = forms.square_part(n)
    assert a * symbolic_sqrt(s) == symbolic_sqrt(n)
    assert forms.is_power(n) == (n > 1 and math.gcd(*factorint(n).values()) > 1)


def test_form_arithmetic() -> None:
    root_2 = forms.root_of(Fraction(2))
    assert root_2.times(root_2) == exact(2) and root_2.inverse() == forms.root_of(Fraction(1, 2))
    assert LOG2E.times(LN2) == exact(1) and PI.sqrt() == Form(ONE, half_pi=1) and LN2.sqrt() is None
    assert Form(ONE, log=3).times(Form(ONE, log=5)) is None and exact(0).inverse() is None
    assert forms.root_of(Fraction(0)) == exact(0) and exact(Fraction(9, 4)).sqrt() == exact(Fraction(3, 2))


# Identification ------------------------------------------------------------------------------------------------------


def merged(a: tuple[str, float], b: tuple[str, float]) -> bool:
    result = identify({a}, {b})
    assert result.meaning[a] == result.meaning[b] or result.representative[a] != result.representative[b]
    return result.representative[a] == result.representative[b]


def test_a_rounded_constant_is_its_finer_one() -> None:
    assert merged(("f32", f32(0.1)), ("f64", 0.1))
    assert merged(("bf16", bf16(0.044715)), ("f32", f32(0.044715)))
    assert merged(("f64", 1.702), ("f16", float(np.float16(1.702))))
    assert identify({("f32", f32(0.1))}, {("f64", 0.1)}).meaning[("f32", f32(0.1))] == exact(Fraction(1, 10))


def test_constants_of_one_dtype_never_merge() -> None:
    x = f32(0.1)
    up = float(np.nextafter(np.float32(x), np.float32(1)))
    assert not merged(("f32", x), ("f32", up)) and not merged(("f64", 1e-12), ("f64", 1e-13))
    assert not merged(("f32", f32(1e-12)), ("f32", f32(1e-13))) and not merged(("f32", f32(1e-12)), ("f64", 1e-13))
    result = identify({("f32", x), ("f32", up)}, {("f64", 0.1)})
    assert result.meaning[("f32", x)] != result.meaning[("f32", up)]


def test_bf16_0447_is_bf16_044715_only_because_they_are_one_value() -> None:
    assert bf16(0.044715) == bf16(0.0447)
    assert not merged(("f32", f32(0.044715)), ("f32", f32(0.0447)))
    c, d, e = ("bf16", bf16(0.0447)), ("f32", f32(0.044715)), ("f32", f32(0.0447))
    result = identify({c, d}, {e})
    assert len({result.representative[x] for x in (c, d, e)}) == 3, "two candidates: ambiguous, hence distinct"
    assert result.meaning[c] == exact(c[1])
    far = ("bf16", bf16(0.0457))
    assert not merged(c, far)


def test_no_transitive_closure() -> None:
    """f16 and bf16 0.1 both round f32 0.1, and are not each other's rounding."""
    half, brain, single = ("f16", float(np.float16(0.1))), ("bf16", bf16(0.1)), ("f32", f32(0.1))
    result = identify({half, brain}, {single})
    assert len({result.representative[x] for x in (half, brain, single)}) == 3
    assert merged(half, single) and merged(brain, single) and not merged(half, brain)


def test_double_rounding_breaks_a_chain() -> None:
    fine = ("f64", 1 + 2.0**-8 + 2.0**-40)
    middle, coarse = ("f32", 1 + 2.0**-8), ("bf16", 1.0)
    result = identify({fine, coarse}, {middle})
    assert result.representative[middle] == fine and result.representative[coarse] == coarse


def test_zero_subnormal_and_non_finite_constants_stay_apart() -> None:
    assert not merged(("f32", 0.0), ("f64", 1e-60)) and not merged(("f32", f32(1e-40)), ("f64", 1e-40))
    assert not merged(("f16", float(np.float16(1e-6))), ("f32", f32(1e-6)))
    assert not identify({("f32", math.inf)}, {("f64", 1e300)}).representative.get(("f32", math.inf))


def test_no_two_constants_of_a_dtype_share_a_meaning() -> None:
    rng = np.random.default_rng(7)
    pool = [("f64", float(x)) for x in rng.uniform(0.1, 2, 12)] + [("f64", x) for x in (0.1, 1 / 3, math.log2(math.e))]
    pool += [
        (t, float(formats.FORMATS[t].round(Fraction(x)) or 0)) for (_, x), t in product(pool, ("f32", "bf16", "f16"))
    ]
    result = identify(pool[::2], pool[1::2])
    for dtype in ("f64", "f32", "bf16", "f16"):
        mine = {c for c in result.meaning if c[0] == dtype}
        assert len({result.meaning[c] for c in mine}) == len(mine)


def test_a_form_that_two_constants_of_a_dtype_would_get_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identification, "recognise", lambda value, dtype: LOG2E)
    constants = {("f32", 0.25), ("f32", 0.5)}
    assert identify(constants, set()).meaning == {c: exact(c[1]) for c in constants}


def test_every_identification_is_in_words() -> None:
    result = identify({("f32", f32("1.44269504"))}, {("f64", math.log2(math.e))})
    assert result.assumptions == (
        "f32 1.4426950216293335 is f64 1.4426950408889634 rounded to f32",
        "f64 1.4426950408889634 is log2(e) rounded to f64",
    )
    assert identify({("f32", 0.5)}, {("f32", 3.0)}).assumptions == ()


# Places in the fields ------------------------------------------------------------------------------------------------

SAMPLES = [
    exact(Fraction(-7, 30)),
    forms.root_of(Fraction(2)),
    forms.root_of(Fraction(1, 80)),
    LOG2E,
    LN2,
    PI,
    Form(ONE, half_pi=-1),
    Form(ONE, log=10),
    forms.root_of(Fraction(17)),
    Form(ONE, log=17),
]


@pytest.mark.parametrize("prime", PRIMES[:4])
def test_places_are_multiplicative(prime: primes.SafePrime) -> None:
    for a, b in product(SAMPLES, SAMPLES):
        whole = a.times(b)
        if whole is None:
            continue
        x, y, z = (field_value(f, prime, 3) for f in (a, b, whole))
        assert not (x.v_valid and y.v_valid) or x.v * y.v % prime.p == z.v
        assert not (x.w_valid and y.w_valid) or x.w * y.w % prime.q == z.w


@pytest.mark.parametrize("prime", PRIMES)
def test_usual_constants_have_a_place_in_both_channels(prime: primes.SafePrime) -> None:
    for form in SAMPLES[:8]:
        place = field_value(form, prime)
        assert place.v_valid and place.w_valid
    for small in primes.SMOOTH:
        assert is_quad_residue(small, prime.p) and is_quad_residue(small, prime.q)


@pytest.mark.parametrize("prime", PRIMES[:4])
def test_places_agree_with_the_operations(prime: primes.SafePrime) -> None:
    field = pair_field(prime)
    for r in (Fraction(2), Fraction(1, 80), Fraction(50), Fraction(1, 576)):
        place, argument = field_value(forms.root_of(r), prime), field_value(r, prime)
        assert field.v.sqrt(argument.v)[0] == place.v and field.w.sqrt(argument.w)[0] == place.w
    pi, root_pi = field_value(PI, prime, 9), field_value(Form(ONE, half_pi=1), prime, 9)
    assert field.v.sqrt(pi.v)[0] == root_pi.v and field.w.sqrt(pi.w)[0] == root_pi.w
    assert field.exp(field_value(LN2, prime).w) == 2 and field.exp(field_value(Form(ONE, log=10), prime).w) == 10


@pytest.mark.parametrize("prime", PRIMES[:3])
def test_logarithms_add(prime: primes.SafePrime) -> None:
    ln2, ln5, ln10 = (field_value(f, prime, 4) for f in (LN2, Form(ONE, log=5), Form(ONE, log=10)))
    assert (ln2.v + ln5.v - ln10.v) % prime.p == 0 and (ln2.w + ln5.w - ln10.w) % prime.q == 0
    for n in (2, 10, 17, 19, 23):
        w = discrete_log(n, prime)
        assert (w is not None) == is_quad_residue(n, prime.p) and (w is None or pow(prime.g, w, prime.p) == n)


def test_what_has_no_place_is_flagged() -> None:
    missing = [(n, p) for n in (17, 19, 23, 29) for p in PRIMES if not is_quad_residue(n, p.p)]
    assert missing
    for n, p in missing:
        assert not field_value(forms.root_of(Fraction(n)), p).v_valid
        place = field_value(Form(ONE, log=n), p)
        assert place.v_valid and not place.w_valid
    assert field_value(Fraction(1, PRIMES[0].q), PRIMES[0])[2:] == (True, False)


def test_places_repeat_by_seed_and_distinguish_constants() -> None:
    p = PRIMES[0]
    assert field_value(PI, p, 1) == field_value(PI, p, 1) != field_value(PI, p, 2)
    values = [field_value(x, p, 1) for x in (*SAMPLES[:8], 0.1, f32(0.1), 1e-12, 1e-13)]
    assert len({(x.v, x.w) for x in values}) == len(values)
    assert field_value(0.1, p) != field_value(Fraction(1, 10), p), "an unrecognised float is taken exactly"


# -- constants of one side that follow from the other's ----------------------------------------------------------------


def related_meaning(a: float, b: float, *both: float) -> tuple[Fraction, Fraction] | None:
    """What two constants of f32 mean, one on each side, if a relation was found."""
    shared = [("f32", f32(x)) for x in both]
    result = identify({("f32", f32(a)), *shared}, {("f32", f32(b)), *shared})
    if len(result.assumptions) and any("({}".format("f32") in s or "root of" in s for s in result.assumptions):
        return tuple(result.meaning["f32", f32(x)].rational for x in (a, b))  # type: ignore[return-value]
    return None


RATE = 1 - 0.9**10


@pytest.mark.parametrize("power", range(3, 20, 2))
def test_bias_corrections_that_a_host_has_folded(power: int) -> None:
    rate = 1 - 0.999**power
    for a, b, both, holds in (
        (rate, rate**0.5, (), lambda x, y: x == y * y),
        (rate, 1 / rate, (), lambda x, y: x * y == 1),
        (rate, 1e-3 / rate, (1e-3,), lambda x, y: x * y == Fraction(1, 1000)),
    ):
        found = related_meaning(a, b, *both)
        assert found is not None and holds(*found)
        assert [f32(float(x)) for x in found] == [f32(a), f32(b)]


@pytest.mark.parametrize("other", [RATE * (1 + 1e-5), RATE**0.5 * (1 + 2e-7), 1 / RATE * (1 - 1e-6), 1 - 0.999**10])
def test_constants_that_are_slightly_off_are_not_related(other: float) -> None:
    assert related_meaning(RATE, other) is None


def test_what_both_sides_have_or_what_is_a_decimal_is_not_related() -> None:
    assert related_meaning(RATE, RATE) is None
    result = identify({("f32", f32(1e-5))}, {("f32", f32(1.1e-5))})
    assert result.meaning["f32", f32(1e-5)] == exact(Fraction(1, 10**5))
    assert result.meaning["f32", f32(1.1e-5)] == exact(Fraction(11, 10**6))


def test_chance_relations_are_rare() -> None:
    drawn = np.random.default_rng(8).uniform(0.5, 1.0, (300, 2))
    assert sum(related_meaning(float(x), float(y), 1e-3, 0.9, 0.999) is not None for x, y in drawn) <= 1


@pytest.mark.parametrize("head", [24, 32, 40, 48, 80, 96, 112, 128, 160, 192])
def test_the_fourth_root_that_scales_both_factors(head: int) -> None:
    """torch's attention multiplies queries and keys by d^(-1/4) each; the product is 1/sqrt(d)."""
    for dtype, kind in (("f32", np.float32), ("f64", np.float64)):
        form = recognition.recognise(float(kind(head**-0.25)), dtype)
        assert form is not None and form.times(form) == forms.root_of(Fraction(1, head))


def test_fourth_roots_are_a_group() -> None:
    some = [forms.fourth_root_of(Fraction(a, b)) for a in range(1, 20, 3) for b in range(1, 12, 2)]
    for x in some:
        inverse = x.inverse()
        assert inverse is not None and x.times(inverse) == forms.exact(1)
        assert abs(float(x.value()) * float(inverse.value()) - 1) < 1e-14
        for y in some:
            product = x.times(y)
            assert product is not None
            assert abs(float(product.value()) / float(x.value()) / float(y.value()) - 1) < 1e-14
            fourth = product.times(product)
            assert fourth is not None and (product.degree == 4) == (not fourth.is_rational and fourth.sqrt() == product)


def test_fourth_roots_have_places_in_the_field() -> None:
    form = forms.fourth_root_of(Fraction(1, 32))
    seen = 0
    for prime in primes.choose(0, 6):
        one, two = (field_value(f, prime) for f in (form, forms.root_of(Fraction(1, 32))))
        if one.v_valid:
            assert one.v * one.v % prime.p == two.v
            seen += 1
    assert seen


def test_every_format_has_the_numbers_of_its_table() -> None:
    """Precision, least exponent and largest number, against the formats that numerics rounds to."""
    for name, made in formats.FORMATS.items():
        known = format_of(name)
        assert (made.precision, made.e_min, float(made.maximum)) == (known.p, known.emin, known.max)
    assert "f8e4m3" in formats.FORMATS
