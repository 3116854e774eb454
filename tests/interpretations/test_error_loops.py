"""The compiled error rules against the array expressions and against errors that were drawn."""

from __future__ import annotations

import numpy as np

from equivalence.interpretations import error_loops, error_math
from equivalence.numerics.error_bounds import declared_bound, error_at

BOUND = declared_bound("exp", "f32", "triton")
DIVISION = declared_bound("div", "f32", "triton")
N = 1 << 12


def drawn(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Arguments of exp that also reach subnormals, overflow and infinity, with errors from none to unknown."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-105, 92, N).astype(np.float32)
    e = np.where(rng.random(N) < 0.2, 0.0, 10.0 ** rng.uniform(-12, 2, N))
    x[:2], e[:3] = [-np.inf, np.inf], [0.0, 0.0, np.inf]
    return x, e, rng


def test_exp_covers_every_argument_in_reach() -> None:
    x, e, rng = drawn()
    with np.errstate(all="ignore"):
        data = np.exp(x.astype(np.float64)).astype(np.float32)
        bound = error_loops.exponential(BOUND, 1.0, x, data, e)
        for _ in range(50):
            real = np.exp(x.astype(np.float64) + e * rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], N))
            finite = np.isfinite(data) & np.isfinite(real)
            assert (np.abs(real - data)[finite] <= bound[finite]).all()
    assert not np.isnan(bound).any() and bound[0] == 0


def test_exp_of_a_mask_is_zero_whatever_its_error() -> None:
    """Far below 0 the upper end of the argument decides, not the error alone."""
    x = np.full(N, -1e30, np.float32)
    bound = error_loops.exponential(BOUND, 1.0, x, np.zeros(N, np.float32), np.full(N, 1e23))
    assert bound.max() < 1e-14
    near = error_loops.exponential(BOUND, 1.0, np.full(N, -90.0, np.float32), np.zeros(N, np.float32), np.full(N, 1e23))
    assert np.isinf(near).all()


def test_exp_is_about_as_tight_as_three_exponentials() -> None:
    x, e, _ = drawn(1)
    with np.errstate(all="ignore"):
        data = np.exp(x.astype(np.float64)).astype(np.float32)
        old = error_math.propagated("exp", [x.astype(np.float64)], [e]) + error_at(BOUND, x, data, "f32")
        new = error_loops.exponential(BOUND, 1.0, x, data, e)
    usual = np.isfinite(old) & (data > 1e-37)
    assert (new[usual] <= old[usual] * 1.02).all()


def test_quotients_and_products_are_the_array_rules() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, N)).astype(np.float32)
    ea, eb = 10.0 ** rng.uniform(-9, 0, (2, N))
    quotient, product = a / b, a * b
    room = np.abs(b.astype(np.float64)) - eb
    with np.errstate(all="ignore"):
        passed = np.where(room > 0, (ea + np.abs(quotient.astype(np.float64)) * eb) / room, np.inf)
    expected = passed + error_at(DIVISION, a, quotient, "f32")
    assert np.allclose(error_loops.quotient(DIVISION, [a, b], quotient, [ea, eb]), expected, rtol=1e-12, atol=0)
    wide = [np.abs(x.astype(np.float64)) for x in (a, b, product)]
    expected = wide[0] * eb + wide[1] * ea + ea * eb + wide[2] * 2.0**-24 + 2.0**-150
    assert np.allclose(error_loops.product(product, a, b, ea, eb, 2.0**-24, 2.0**-150), expected, rtol=1e-12, atol=0)


def test_an_unknown_error_is_infinite() -> None:
    data = np.array([0.0, np.inf, np.nan, 1.0], np.float32)
    error = error_loops.product(data, data, data, np.full(4, np.inf), np.zeros(1), 2.0**-24, 0.0)
    assert np.isinf(error).all()
    assert np.isinf(error_loops.rounded(data, np.zeros(1), 2.0**-24, 0.0)).tolist() == [False, True, True, False]
