"""What only informs is given up in time: behind one element of a chain of products lie all elements of the others."""

from __future__ import annotations

from pytest import MonkeyPatch

from equivalence.judge import accumulations
from equivalence.verdicts import Level
from lowering.ir.program import Value
from tests.semantics.programs import Kit, judged

SPEC = "f32[6,6]"


def chain(k: Kit, x: Value) -> Value:
    y = x
    for _ in range(6):
        y = k.b("dot", y, y, acc="f32")
    return y


def test_orders_are_given_up_and_said_to_be(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(accumulations, "SECONDS", 0.0)
    report = judged(chain, chain, SPEC)
    said = [check.detail for check in report.checks if check.name == accumulations.CHECK]
    assert report.verdict.level is Level.BITWISE and not report.orders
    assert said and "out of time" in said[0]


def test_in_time_there_are_orders() -> None:
    report = judged(chain, chain, SPEC)
    assert report.orders and not [check for check in report.checks if check.name == accumulations.CHECK]
