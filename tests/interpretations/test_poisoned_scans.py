"""A prefix depends on what comes before it, and on nothing after."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.evaluator import Machine
from equivalence.interpretations.depends import Depends
from equivalence.judge.compare import poisoned
from tests.semantics.programs import arrays, launched


@pytest.mark.parametrize("reverse", [False, True])
def test_undefined_lanes_reach_the_prefixes_that_have_them(reverse: bool) -> None:
    """Lanes 3 and 4 of 8 are masked off without a value."""

    def body(k, x, out):
        lanes = k.lanes(8)
        there = k.b("or", k.cmp("lt", lanes, 3), k.cmp("gt", lanes, 4))
        k.store(out, lanes, k.b("scan", k.load(x, lanes, there), axis=0, combine="add", reverse=reverse))

    run = Machine(launched(body, "f32[8]", out="f32[8]"), [Depends()]).run(arrays(1, "f32[8]"))
    found = poisoned(next(iter(run.outputs.values())))
    expected = np.arange(8) < 5 if reverse else np.arange(8) > 2
    assert (found == expected).all()
