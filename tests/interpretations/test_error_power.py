"""The bound of a power: every power in reach is inside, whole powers of negative bases too, and it is no wider."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.interpretations.error_math import power

RNG = np.random.default_rng(7)
BASES = RNG.choice([-1, 1], 300) * RNG.uniform(0.05, 3, 300)
ERRORS = RNG.choice([0, 1e-6, 1e-3, 0.2], 300)
NONE = np.zeros(300)


@pytest.mark.parametrize("n", [2.0, 3.0, 5.0, -1.0, -2.0])
def test_every_whole_power_in_reach_is_inside(n: float) -> None:
    found = power((BASES, np.full(300, n)), (ERRORS, NONE))
    for s in np.linspace(-1, 1, 41):
        apart = np.abs((BASES + s * ERRORS) ** n - BASES**n)
        assert (apart <= found * (1 + 1e-9) + 1e-15).all()


def test_it_is_no_wider() -> None:
    """(-1.5)^3 moves by 3 * 1.5^2 * 1e-6; a base that may be 0 has a whole power all the same, but no inverse."""
    assert power((np.array([-1.5]), np.array([3.0])), (np.array([1e-6]), np.zeros(1))) == pytest.approx(
        6.75e-6, rel=1e-5
    )
    assert power((np.array([-0.1]), np.array([2.0])), (np.array([0.2]), np.zeros(1))) == pytest.approx(0.10)
    assert np.isinf(power((np.array([-0.1]), np.array([-2.0])), (np.array([0.2]), np.zeros(1)))).all()


def test_other_powers_of_negative_bases_are_unknown() -> None:
    with np.errstate(invalid="ignore"):
        found = power((np.array([-1.5, -1.5]), np.array([2.5, 2.0])), (np.full(2, 1e-6), np.array([0, 1e-9])))
    assert np.isinf(found).all()
