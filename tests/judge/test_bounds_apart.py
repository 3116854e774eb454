"""Bounds one step apart that nothing reaches: windows, capacities, draws that equal a threshold."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.evaluator.cuts import Cut, Cuts
from equivalence.evaluator.lanes import FLOAT_DATA, Lanes
from equivalence.judge import judge
from equivalence.verdicts import Report
from irverify.exits import exit_code_of
from irverify.options import CompareOptions
from lowering.ir.types import I64
from tests.semantics.programs import EQUAL, Body, program

CODE = "bounds-apart"


def judged(a: Body, b: Body, *sizes: int) -> Report:
    """Two bodies of x f32[n] and whole numbers i64[n], which count up, at several sizes."""
    sides, data = [], []
    for n in sizes or (12, 20):
        specs = f"f32[{n}]", f"i64[{n}]"
        sides.append([program(body, *specs) for body in (a, b)])
        data.append({"x0": np.linspace(-1.5, 2.0, n, dtype=np.float32), "x1": np.arange(n) * 7 % n})
    return judge(*zip(*sides, strict=True), data, CompareOptions(a="a", b="b"))


def kept(pred: str, bound: int, sign: int = 1) -> Body:
    """x where the whole number is within a bound; 0 elsewhere."""

    def body(k, x, i):
        number = i if sign > 0 else k.b("neg", i)
        return k.where(k.cmp(pred, number, bound), x, 0.0)

    return body


def drawn(pred: str, threshold: float, turned: bool = False) -> Body:
    """A dropout by numbers computed from integers; ``turned``: of 1 - r."""

    def body(k, x, i):
        r = k.mul(k.cast(k.b("and", k.b("mul", i, k.lit(40503, i)), k.lit(1023, i)), "f32"), 1 / 1024)
        r = k.sub(k.lit(1.0, r), r) if turned else r
        return k.where(k.cmp(pred, r, threshold), k.mul(x, 2.0), 0.0)

    return body


def stream(pred: str, threshold: float) -> Body:
    """A dropout by numbers of a stream."""

    def body(k, x, i):
        r = k.b("random", to="f32", shape=x.type.shape, dist="uniform", stream=1 << 40)
        return k.where(k.cmp(pred, r, threshold), x, 0.0)

    return body


def codes(report: Report) -> list[tuple[str, str]]:
    return [(found.code, found.severity) for found in report.findings if found.code == CODE]


@pytest.mark.parametrize(("a", "b"), [
    (kept("lt", 128), kept("le", 128)),
    (kept("lt", 128), kept("gt", -129, sign=-1)),
    (kept("ge", 128), kept("gt", 128)),
    (drawn("gt", 0.5001), drawn("ge", 0.5001)),
    (drawn("gt", 0.5001), drawn("lt", 0.5001)),
    (stream("gt", 0.5), stream("ge", 0.5)),
])  # fmt: skip
def test_bounds_that_are_apart_where_nothing_reaches_them(a: Body, b: Body) -> None:
    report = judged(a, b)
    different = report.verdict.level not in EQUAL
    assert (codes(report) == [(CODE, "error")] or different) and exit_code_of(report) == 1


@pytest.mark.parametrize(("a", "b"), [
    (kept("lt", 128), kept("le", 127)),
    (kept("lt", 128), kept("gt", -128, sign=-1)),
    (kept("lt", 128), kept("lt", 300)),
    (kept("lt", 128), lambda k, x, i: x),
    (drawn("gt", 0.5001), drawn("gt", 0.5001)),
    (drawn("gt", 0.5), drawn("lt", 0.5, turned=True)),
    (stream("gt", 0.5), stream("gt", 0.5)),
])  # fmt: skip
def test_other_spellings_of_one_bound(a: Body, b: Body) -> None:
    report = judged(a, b)
    assert report.verdict.level in EQUAL and not codes(report) and exit_code_of(report) == 0


def test_bounds_that_are_apart_at_one_of_several_sizes_only() -> None:
    """At 128 rows i < n is no bound, and another comparison may lie beside it; at others it is not there."""

    def rows(extra: int) -> Body:
        return lambda k, x, i: k.where(k.cmp("lt", i, x.type.shape[0] if extra == 0 else 129), x, 0.0)

    assert not codes(judged(rows(0), rows(1), 12, 20)) and not codes(judged(rows(0), rows(1), 128, 20))


def test_numbers_that_floats_were_given_are_left_to_their_words() -> None:
    op = program(kept("lt", 5), "f32[3]", "i64[3]").body.ops
    compared = next(op for op in op if op.name == "cmp")
    x = Lanes(I64, (3,), np.array([[1, 2, 9]]))
    five, cuts = Lanes(I64, (), np.array([5])), Cuts()
    cuts.compared(compared, [x.replace(taint=FLOAT_DATA), five])
    assert not cuts
    cuts.compared(compared, [x, five])
    assert cuts[Cut(4.5, True, True)].nearest == (2.0, 9.0)
