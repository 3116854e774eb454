"""Where a set of shapes is large, one run has a row of every derived set, so tiny rows are among them."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.judge import inputs
from equivalence.verdicts import Level
from tests.semantics.programs import Body, judged


def rms_norm(eps: float) -> Body:
    def body(k, x):
        mean = k.mul(k.sum(k.mul(x, x)), 1.0 / x.type.shape[-1])
        return k.mul(x, k.b.broadcast(k.fn("rsqrt", k.add(mean, eps)), x.type.shape, [0]))

    return body


@pytest.mark.parametrize(("eps", "level"), [(1e-6, Level.REASSOCIATED), (1e-9, Level.DIFFERENT)])
def test_an_epsilon_at_a_large_set_of_shapes(eps: float, level: Level) -> None:
    assert judged(rms_norm(1e-6), rms_norm(eps), f"f32[{(1 << 16) // 32 + 8},32]").verdict.level is level


def test_a_row_of_every_set() -> None:
    x = np.random.default_rng(0).standard_normal((100, 4)).astype(np.float32)
    y = np.arange(100.0, dtype=np.float32)
    made = inputs.make(inputs.MIXED, {"x": x, "y": y}, 0)
    assert made["y"] is y and made["x"] is not x
    sizes = np.abs(made["x"]).max(axis=1)
    assert sizes.min() == 0 and (sizes < 1e-12).sum() > 1 and (sizes > 50).any() and ((sizes > 0.1) & (sizes < 4)).any()
    assert np.array_equal(x, np.random.default_rng(0).standard_normal((100, 4)).astype(np.float32))


def test_masks_and_integers_stay() -> None:
    given = {"flags": np.resize([0.0, 1.0], (64, 3)), "places": np.ones((64, 3), np.int32)}
    made = inputs.make(inputs.MIXED, given, 0)
    assert all(made[name] is given[name] for name in given)
