"""Ties that computed values make only where extents are powers of two: x >= mean(x) against x > mean(x)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from equivalence.judge import judge
from equivalence.verdicts import Level, Report
from tests.semantics.programs import arrays, options, program


def chosen(predicate: str, swapped: bool = False) -> Any:
    """x where it is so compared with the mean, else -x; the division is an approximate one."""

    def body(k: Any, x: Any) -> Any:
        n = x.type.shape[0]
        mean = k.b("div", k.sum(x), k.lit(float(n), k.sum(x)), accuracy="declared", impl="cuda")
        asked = k.b.cmp(predicate, x, k.b.broadcast(mean, x.type.shape, []))
        other = k.mul(x, -1.0)
        return k.b("select", asked, *((other, x) if swapped else (x, other)))

    return body


def report(a: Any, b: Any, *specs: str) -> Report:
    with np.errstate(all="ignore"):
        return judge(
            [program(a, s) for s in specs], [program(b, s) for s in specs], [arrays(1, s) for s in specs], options()
        )


def test_a_tie_is_met_at_a_power_of_two() -> None:
    assert report(chosen("ge"), chosen("gt"), "f32[41]", "f32[64]").verdict.level is Level.DIFFERENT


@pytest.mark.parametrize("specs", [("f32[41]", "f32[64]"), ("f32[41]",)])
def test_the_same_choice_in_other_words_is_none(specs: tuple[str, ...]) -> None:
    assert report(chosen("ge"), chosen("lt", swapped=True), *specs).verdict.level >= Level.REAL
