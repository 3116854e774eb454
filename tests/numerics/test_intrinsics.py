"""Elementary functions against mpmath at 120 bits, and declared bounds against real implementations on this machine."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from equivalence.numerics import intrinsic_table as figures
from equivalence.numerics import intrinsics
from equivalence.numerics.error_bounds import declared_bound, declared_ulp, error_at
from equivalence.numerics.formats import format_of, same_bits, ulp
from equivalence.numerics.intrinsic_table import Bound

REAL = {
    "exp": mpmath.exp, "exp2": lambda x: mpmath.mpf(2) ** x, "exp10": lambda x: mpmath.mpf(10) ** x,
    "expm1": mpmath.expm1, "log": mpmath.log, "log2": lambda x: mpmath.log(x, 2), "log10": mpmath.log10,
    "log1p": mpmath.log1p, "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan, "sinpi": mpmath.sinpi,
    "cospi": mpmath.cospi, "asin": mpmath.asin, "acos": mpmath.acos, "atan": mpmath.atan, "sinh": mpmath.sinh,
    "cosh": mpmath.cosh, "tanh": mpmath.tanh, "asinh": mpmath.asinh, "acosh": mpmath.acosh, "atanh": mpmath.atanh,
    "erf": mpmath.erf, "erfc": mpmath.erfc, "erfinv": mpmath.erfinv, "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "sqrt": mpmath.sqrt, "cbrt": mpmath.cbrt, "rcp": lambda x: 1 / x, "lgamma": mpmath.loggamma,
    "digamma": mpmath.digamma, "tgamma": mpmath.gamma, "normcdf": mpmath.ncdf,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
}  # fmt: skip
POSITIVE = {"log", "log2", "log10", "rsqrt", "sqrt", "lgamma", "digamma", "tgamma", "cbrt"}
UNIT = {"asin", "acos", "atanh", "erfinv"}


def arguments(fn: str, count: int, dtype: str) -> np.ndarray:
    """Arguments of ``fn``'s domain, from tiny to a few tens."""
    rng = np.random.default_rng(len(fn))
    x = np.exp2(rng.uniform(-12, 4, count)) * rng.choice([-1, 1], count)
    if fn in UNIT:
        x = rng.uniform(-1, 1, count)
    if fn in POSITIVE or fn == "acosh":
        x = np.abs(x) + (fn == "acosh")
    if fn == "log1p":
        x = np.where(x <= -1, -x, x)
    return x.astype(format_of(dtype).storage)


def reference(fn: str, x: np.ndarray) -> list[mpmath.mpf]:
    with mpmath.workprec(160):
        return [mpmath.mpf(REAL[fn](mpmath.mpf(v))) for v in x.astype(np.float64).tolist()]


def ulps(got: np.ndarray, real: list[mpmath.mpf], dtype: str) -> float:
    """Largest |got - real| in ulps of the real value."""
    with mpmath.workprec(160):
        units = ulp(np.array([float(r) for r in real]), dtype).tolist()
        errors = [abs(mpmath.mpf(g) - r) / u for g, r, u in zip(got.astype(np.float64).tolist(), real, units)]
        return float(max(errors))


@pytest.mark.parametrize("fn", REAL)
def test_correctly_rounded_but_for_the_hard_cases(fn: str) -> None:
    x = arguments(fn, 150, "f32")
    real = reference(fn, x)
    assert ulps(intrinsics.apply(fn, x, dtype="f32"), real, "f32") <= 0.5 + 2.0**-20
    assert ulps(intrinsics.apply(fn, x.astype(np.float64), dtype="f64"), real, "f64") < 200


@pytest.mark.parametrize("fn", ["exp", "log", "tanh", "erf", "sin"])
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_narrow_formats_round_the_f64_value_once(fn: str, dtype: str) -> None:
    x = arguments(fn, 150, dtype) / np.array(2, format_of(dtype).storage)
    assert ulps(intrinsics.apply(fn, x, dtype=dtype), reference(fn, x), dtype) <= 0.5 + 2.0**-20


def test_special_values() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], np.float32)
    want = {
        "exp": [1, 1, np.inf, 0, np.nan],
        "log": [-np.inf, -np.inf, np.inf, np.nan, np.nan],
        "tanh": [0.0, -0.0, 1, -1, np.nan],
        "rsqrt": [np.inf, -np.inf, 0, np.nan, np.nan],
        "erf": [0.0, -0.0, 1, -1, np.nan],
        "sigmoid": [0.5, 0.5, 1, 0, np.nan],
        "sinpi": [0.0, -0.0, np.nan, np.nan, np.nan],
        "cospi": [1, 1, np.nan, np.nan, np.nan],
        "lgamma": [np.inf, np.inf, np.inf, np.inf, np.nan],
    }
    for fn, row in want.items():
        assert same_bits(intrinsics.apply(fn, x, dtype="f32"), np.array(row, np.float32), "f32").all(), fn


def test_pow_and_atan2() -> None:
    one, nan = np.ones(1, np.float32), np.full(1, np.nan, np.float32)
    assert intrinsics.apply("pow", one, nan, dtype="f32")[0] == 1
    assert intrinsics.apply("pow", nan, one * 0, dtype="f32")[0] == 1
    assert intrinsics.apply("atan2", -one * 0, -one, dtype="f32")[0] == np.float32(-np.pi)
    with pytest.raises(KeyError, match="no 1-argument function 'pow'"):
        intrinsics.apply("pow", one, dtype="f32")


def test_sinpi_is_exact_at_half_integers() -> None:
    x = np.array([0.5, 1.0, 1.5, 2.0, -0.5, -1.5, 2.0**52 + 1])
    assert intrinsics.apply("sinpi", x, dtype="f64").tolist() == [1, 0, -1, 0, -1, 1, 0]
    assert intrinsics.apply("cospi", x, dtype="f64").tolist() == [0, -1, 0, 1, 0, 0, -1]


def test_declared_figures() -> None:
    assert declared_ulp("exp", "f32", "cuda") == 2.5
    assert declared_ulp("div", "f32", "triton") == 2.0
    assert declared_ulp("div", "f32", "cuda") == 0.5
    assert declared_ulp("div", "f16", "cuda") == 0.5
    assert declared_ulp("rsqrt", "f32", "ptx") == 2**1.1
    assert declared_ulp("sin", "f32", "ptx") == math.inf  # absolute, and only near zero
    assert declared_ulp("exp", "f32", "triton") == math.inf  # grows with the argument
    assert declared_ulp("digamma", "f32", "cuda") == math.inf  # nobody says
    assert 0.5 < declared_ulp("exp", "bf16", "cuda") < 0.51
    with pytest.raises(KeyError, match="opencl"):
        declared_bound("exp", "f32", "opencl")  # type: ignore[arg-type]


def test_error_at_uses_every_part_of_a_bound() -> None:
    x = np.array([0.0, 2.0, 100.0])
    got = error_at(Bound(1.0, 0.25, per_arg=0.5, limit=50), x, np.ones(3), "f32")
    assert got.tolist() == [2.0**-23 + 0.25, 2 * 2.0**-23 + 0.25, math.inf]
    assert error_at(Bound(1.0), np.ones(1), np.zeros(1), "f32")[0] == 2.0**-149 + 2.0**-126


TORCH = ["exp", "log", "sin", "tanh", "erf", "rsqrt", "sigmoid", "sqrt", "expm1"]


@pytest.mark.parametrize("fn", TORCH)
def test_torch_keeps_its_bound(fn: str) -> None:
    torch = pytest.importorskip("torch")
    x = arguments(fn, 20000, "f32")
    got = getattr(torch, fn)(torch.from_numpy(x)).numpy().astype(np.float64)
    real = intrinsics.apply(fn, x.astype(np.float64), dtype="f64")
    error = np.abs(got - real)
    assert (error <= error_at(declared_bound(fn, "f32", "torch"), x, real, "f32")).all()
    assert (error > 0.3 * ulp(real, "f32")).any()  # the comparison is not empty: a bound of 0.3 ulp would fail


def test_a_target_says_whose_functions_are_meant() -> None:
    """torch on a device calls CUDA's expf, 2 ulp; on a CPU SLEEF's, 1.0; Trainium's are assumed."""
    assert declared_bound("exp", "f32", "torch").ulp == declared_bound("exp", "f32", "torch", "sm_90").ulp == 2.5
    assert declared_bound("exp", "f32", "torch", "cpu").ulp == 1.0
    assert declared_bound("exp", "f32", "xla", "tpu_v5e").status == "assumed"
    assert declared_bound("exp", "f32", "xla", "cpu").status == "measured"
    assert declared_bound("exp", "f32", "nki").ulp == declared_bound("exp", "f32", "nki", "trn2").ulp == 16.0
    assert declared_bound("tan", "f32", "nki", "trn2").status == declared_bound("sin", "f32", "nki").status == "assumed"
    sine = error_at(declared_bound("sin", "f32", "nki"), np.array([3.0, 9.0]), np.ones(2), "f32")
    assert sine[0] == 2.0**-19 and math.isinf(sine[1])  # outside of [-pi, pi] nisa.activation(sin) is garbage
    assert declared_bound("mul", "f32", "nki").ulp == 0.5
    for target in ("sm_75", "sm_80", "sm_89", "sm_90a", "sm_100", "sm_120"):
        assert declared_bound("div", "f32", "triton", target).ulp == 2.0


def test_every_figure_has_a_source() -> None:
    tables = (figures.APPROX, figures.FAST, figures.TRITON, figures.XLA, figures.TORCH, figures.HALVES)
    for bound in (bound for rows in tables for bound in rows.values()):
        assert bound.source and bound.status in ("documented", "measured", "derived")


def test_a_bound_in_pieces_and_one_that_flushes() -> None:
    wave = error_at(declared_bound("sin", "f32", "ptx"), np.array([1.0, 10.0, 1000.0]), np.zeros(3), "f32")
    assert wave[0] < 2.0**-20 < wave[1] < 2.0**-14 and math.isinf(wave[2])
    quotient = error_at(declared_bound("div", "f32", "cuda-fast"), np.array([1.0, 2.0**127]), np.ones(2), "f32")
    assert quotient[0] == 2.0**-22 and math.isinf(quotient[1])
    root = error_at(declared_bound("sqrt", "f32", "triton"), np.array([1e-40, 1.0]), np.array([1e-20, 1.0]), "f32")
    assert root[0] >= 1e-20 and root[1] == 2.0**-22
    assert math.isinf(error_at(declared_bound("rsqrt", "f32", "triton"), np.array([1e-40]), np.array([1e20]), "f32")[0])


def test_half_instructions_have_figures_of_their_own() -> None:
    assert declared_bound("tanh", "f16", "ptx").absolute == 2.0**-10.987
    assert declared_bound("exp2", "bf16", "ptx").ulp == 2.0
