"""The search: bounds of well-conditioned kernels are within 100 of an error that it finds; a loose bound is seen."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.bounds.search import search
from equivalence.interpretations import error
from tests.bounds.programs import ONE_PASS, TWO_PASS, dot
from tests.bounds.run import LOOSE
from tests.tolerance.programs import normal, softmax, stored, total

KERNELS = {
    "sum of 100": total(100), "softmax": softmax(33), "one pass": ONE_PASS, "two passes": TWO_PASS, "dot": dot("f32"),
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_bounds_of_well_conditioned_elements_are_tight(name: str) -> None:
    found = search(KERNELS[name], normal(KERNELS[name]), 25, seconds=1.5)
    assert found is not None and found.elements > 0 and 1 <= found.ratio < LOOSE / 2


def test_a_loose_bound_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(error.GROWTH, "bound", lambda n, u: 3000 * error.worst(n, u))
    found = search(KERNELS["sum of 100"], normal(KERNELS["sum of 100"]), 25, seconds=1.5)
    assert found is not None and found.ratio > LOOSE


def test_the_search_climbs() -> None:
    """More tries never find less, and changed inputs beat the given ones."""
    program = KERNELS["sum of 100"]
    few, many = (search(program, normal(program), tries, seconds=3.0) for tries in (1, 30))
    assert few is not None and many is not None and many.share > 1.5 * few.share > 0


def test_a_kernel_that_rounds_nothing_is_exact() -> None:
    found = search(stored("clamp"), normal(stored("clamp")), 10, seconds=1.5)
    assert found is not None and found.exact and found.ratio == 1


def test_ill_conditioned_elements_do_not_count() -> None:
    """Rows of which nothing but rounding is left."""
    x = np.random.default_rng(0).standard_normal((3, 100)).astype(np.float32)
    x[:, 50:] = -x[:, :50]
    found = search(total(100), {"x": x}, 1, seconds=1.5)
    assert found is not None and found.elements == 0
