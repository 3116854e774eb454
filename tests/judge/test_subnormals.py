"""Differences among subnormals: no witness where a target may flush them, a witness where none does."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.evaluator import Lanes
from equivalence.judge.compare import compare
from lowering.ir.types import BF16, F16, F32, DType


def lanes(dt: DType, value: float) -> Lanes:
    return Lanes(dt, (1,), np.array([[value]]).astype(dt.numpy), {})


@pytest.mark.parametrize(("dt", "a", "b", "counts"), [
    (F32, 1e-40, 2e-40, False), (BF16, 1e-39, 2e-39, False), (F16, 1e-5, 2e-5, True),
    (F32, 1e-40, 2e-38, True), (F32, 1.0, 1.5, True),
])  # fmt: skip
def test_which_differences_count(dt: DType, a: float, b: float, counts: bool) -> None:
    assert bool((compare(lanes(dt, a), lanes(dt, b), ()).excess > 0).any()) is counts
