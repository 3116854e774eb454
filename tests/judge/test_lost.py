"""Digits that cancel on one side only, on inputs that are no witness: who loses them, and how much it matters."""

from __future__ import annotations

import pytest

from equivalence.verdicts import Report
from irverify.exits import exit_code_of
from irverify.report.words import headline
from lowering.ir.program import Value
from tests.judge.test_hazards import one_pass, two_pass
from tests.semantics.programs import EQUAL, Body, Kit, judged

SPEC = "f32[12,20]"


def by_expm1(k: Kit, x: Value) -> Value:
    return k.div(k.fn("expm1", x), x)


def by_exp(k: Kit, x: Value) -> Value:
    return k.div(k.sub(k.fn("exp", x), 1.0), x)


def said(report: Report) -> list[tuple[str, str]]:
    return [(f.severity, f.message[0]) for f in report.findings if "loses precision" in f.message]


def test_a_cancellation_at_small_inputs_is_an_error_of_b() -> None:
    report = judged(by_expm1, by_exp, SPEC)
    assert said(report) == [("error", "B")] and exit_code_of(report) == 1
    assert "but B loses precision where A does not" in headline(report)


def test_a_port_that_is_more_precise_is_no_fault() -> None:
    report = judged(by_exp, by_expm1, SPEC)
    assert report.verdict.level in EQUAL and said(report) == [("note", "A")] and exit_code_of(report) == 0


def test_a_variance_in_one_pass_is_a_warning() -> None:
    report = judged(two_pass, one_pass, "f32[12,100]")
    assert report.verdict.level in EQUAL and said(report) == [("warning", "B")] and exit_code_of(report) == 0
    assert "but B loses precision where A does not" in headline(report)


def softmax(k: Kit, x: Value, *, factor: float = 1.0) -> Value:
    shifted = k.mul(k.sub(x, k.c.spread(k.b("reduce", x, axis=1, combine="max"), x, 1)), factor)
    powers = k.fn("exp" if factor == 1.0 else "exp2", shifted)
    return k.div(powers, k.c.spread(k.sum(powers), x, 1))


def other_order(k: Kit, x: Value) -> Value:
    d = k.sub(x, k.c.spread(k.mul(k.sum(x), 1 / 20), x, 1))
    return k.mul(k.sum(k.mul(d, d), order="sequential"), 1 / 20)


def by_sigmoid(k: Kit, x: Value) -> Value:
    """tanh: its digits near 0 are lost, which its largest values do not show."""
    return k.sub(k.div(k.lit(2.0, x), k.add(k.fn("exp", k.mul(x, -2.0)), 1.0)), 1.0)


def quantised(scale: float) -> Body:
    """Steps of 1/8, by a division or a product: rounding turns a few."""

    def body(k: Kit, x: Value) -> Value:
        scaled = k.div(x, 0.3) if scale else k.mul(x, 1 / 0.3)
        return k.mul(k.b("round", k.mul(scaled, 8.0), mode="even"), 0.125 * 0.3)

    return body


@pytest.mark.parametrize(("a", "b"), [
    (softmax, lambda k, x: softmax(k, x, factor=1.4426950408889634)),
    (two_pass, other_order),
    (quantised(1.0), quantised(0.0)),
    (lambda k, x: k.fn("tanh", x), by_sigmoid),
])  # fmt: skip
def test_right_ports_are_not_refused(a: Body, b: Body) -> None:
    report = judged(a, b, SPEC)
    assert not [s for s, _ in said(report) if s == "error"]
