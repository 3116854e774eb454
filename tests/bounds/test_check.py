"""The check over a few kernels; a bound that is too small is caught; a reference that shares no code with it."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

from equivalence.bounds.check import Tally, check
from equivalence.bounds.observe import SLACK, Subject
from equivalence.interpretations import error
from lowering.ir.parser import parse_program
from lowering.ir.program import Program
from tests.bounds.programs import ONE_PASS, TWO_PASS, dot
from tests.mutation.oracle.arithmetic import DEEP
from tests.mutation.oracle.classify import run
from tests.tolerance.programs import normal, softmax, stored, total

KERNELS: dict[str, Program] = {
    "sum": total(100, rows=40), "softmax": softmax(33), "one pass": ONE_PASS, "two passes": TWO_PASS,
    "dot": dot("bf16"), "rms norm": stored("rms_norm"),
}  # fmt: skip


CHAIN = parse_program(
    'program(%0: f32[40,25] "x") {} {\n  %1 = mul %0, %0 : f32[40,25]\n  %2 = add %1, %0 : f32[40,25]\n'
    '  return "out0" %2\n}\n'
)


@pytest.mark.parametrize("name", KERNELS)
def test_no_observed_error_exceeds_its_bound(name: str) -> None:
    tally = check(KERNELS[name], normal(KERNELS[name]), 10_000, seconds=1.5)
    assert not tally.broken and tally.elements > 500 and tally.worst.ratio > 0.01


@pytest.mark.parametrize("rule", ["rounding", "growth"])
def test_a_bound_that_is_too_small_is_caught(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A twentieth of what a rounding costs, or of how a sum's roundings add up."""
    if rule == "rounding":
        real = error.rounding
        monkeypatch.setattr(error, "rounding", lambda data, dt: real(data, dt) / 20)
        monkeypatch.setattr(error.error_loops, "fits", lambda *_: False)
    else:
        monkeypatch.setitem(error.GROWTH, "bound", lambda n, u: error.worst(n, u) / 200)
    program = KERNELS["sum"] if rule == "growth" else CHAIN
    tally = check(program, normal(program), 10_000, seconds=1.5)
    assert tally.broken and "from its real result" in tally.broken[0]


def apart(one: Any, values: np.ndarray) -> np.ndarray:
    """|values - one| for an array of mpmath numbers."""
    with mpmath.workprec(300):
        flat = [abs(mpmath.mpf(float(v)) - mpmath.mpmathify(r)) for v, r in zip(values.ravel(), np.ravel(one))]
    return np.array([float(x) for x in flat]).reshape(values.shape)


@pytest.mark.parametrize("name", ["one pass", "two passes", "sum"])
def test_against_an_evaluator_of_200_bits(name: str) -> None:
    """Bounds and enclosures hold for a real result that another evaluator computes."""
    program = KERNELS[name]
    for shift in (0, 300):
        inputs = {key: (x + np.float32(shift)).astype(x.dtype) for key, x in normal(program).items()}
        references = Subject.of(program).references(inputs)
        deep = run(program, DEEP, inputs, 0.0, False).outputs[0]
        assert references is not None
        far = apart(deep, references[0].value)
        assert (far <= references[0].bound * SLACK).all() and far.max() > 0
        assert (
            np.abs(far - references[0].apart(references[0].value)) <= references[0].hi - references[0].lo + 1e-12 * far
        ).all()


def test_what_was_looked_at_is_counted() -> None:
    tally: Tally = check(KERNELS["sum"], normal(KERNELS["sum"]), 1_000, seconds=1.5)
    assert tally.runs >= 4 and tally.elements + tally.unknown == tally.runs * 40
