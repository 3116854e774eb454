"""Which unseen outcomes end before an output, by their regions alone: no test of values takes part."""

from __future__ import annotations

import pytest

import equivalence.evaluator  # noqa: F401  (first: the evaluator and its interpretations know each other)
from equivalence.fields.primes import choose
from equivalence.interpretations.depends import Depends
from equivalence.interpretations.real import prepare
from equivalence.interpretations.real_sites import OUTCOMES
from equivalence.judge import exclusion
from equivalence.judge.runs import Pair, Runner
from tests.semantics.programs import Body, arrays, program
from tests.semantics.test_discarded_branches import (
    FAR,
    WRONG,
    both_positive,
    by_absolute,
    by_product,
    guarded,
    log_of_positive,
    square,
)

T = "f32[6,10]"
CHOSEN = {"max", "min", "abs"}


def excluded(body: Body, *specs: str) -> list[str]:
    """Outcomes of extrema and absolute values that A's body has on two inputs and that are excluded."""
    one = program(body, *specs)
    pair, runner = Pair(one, one, arrays(1, *specs)), Runner()
    real, _ = prepare(one, one, 3, choose(0, 1)[0])
    real.sites.side = "A"
    runner.one(one, [real, Depends(marks=False)], pair.inputs)
    for record in real.sites.values():
        record.seen = 0  # as if nothing had reached an output
    exclusion.exclude(runner, pair, real, [pair.inputs, {n: x * 50 for n, x in pair.inputs.items()}])
    return [OUTCOMES[r.kind][k] for r in real.sites.values() if r.key.startswith("A|") and r.kind in CHOSEN
            for k in range(len(OUTCOMES[r.kind])) if r.excluded >> k & 1]  # fmt: skip


@pytest.mark.parametrize(("body", "inputs", "outcome"), [
    (guarded(20.0), 1, "the right operand is smaller"),
    (guarded(25.0), 1, "the right operand is smaller"),
    (square(True), 2, "the right operand is smaller"),
    (square(True, FAR, FAR, taken=True, pred="le"), 2, "the right operand is smaller"),
    (by_product(True), 1, "the right operand is smaller"),
    (by_absolute, 1, "a negative operand"),
])  # fmt: skip
def test_the_guard_is_excluded_and_nothing_else(body: Body, inputs: int, outcome: str) -> None:
    assert excluded(body, *[T] * inputs) == [outcome]


@pytest.mark.parametrize("body", [
    *[a for a, _ in WRONG.values()], lambda k, x, y: guarded(19.9)(k, x), lambda k, x, y: by_product(True, "gt")(k, x),
])  # fmt: skip
def test_a_guard_that_counts_is_not_excluded(body: Body) -> None:
    assert "the right operand is smaller" not in excluded(body, T, T)


def test_inner_selections() -> None:
    for body, inputs in ((log_of_positive, 1), (both_positive(True), 2)):
        one = program(body, *[T] * inputs)
        pair, runner = Pair(one, one, arrays(1, *[T] * inputs)), Runner()
        real, _ = prepare(one, one, 3, choose(0, 1)[0])
        real.sites.side = "A"
        runner.one(one, [real, Depends(marks=False)], pair.inputs)
        for record in real.sites.values():
            record.seen = 0
        exclusion.exclude(runner, pair, real, [pair.inputs])
        found = [(r.kind, r.excluded) for r in real.sites.values() if r.kind == "select"]
        assert sorted(found) == [("select", 0), ("select", 2)]
