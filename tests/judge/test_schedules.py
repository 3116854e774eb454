"""What B's source leaves open and A's fixes: equal keys of an unstable sort, several values set at one place."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.judge import judge
from equivalence.verdicts import Level, Report
from irverify.exits import exit_code_of
from irverify.options import CompareOptions
from tests.semantics.programs import EQUAL, I64, Body, program

SPECS = "f32[8]", "i64[8]"
X = np.linspace(-1.5, 2.0, 8, dtype=np.float32)
KEYS = np.array([2, 0, 2, 1, 0, 2, 3, 1], np.int64)


def judged(a: Body, b: Body, keys: np.ndarray = KEYS) -> Report:
    sides = [program(body, *SPECS) for body in (a, b)]
    return judge(sides[:1], sides[1:], [{"x0": X, "x1": keys}], CompareOptions(a="a", b="b", inputs=SPECS))


def permuted(stable: bool, back: bool = False) -> Body:
    """x in the order of the keys; ``back``: twice as large, and put where it was."""

    def body(k, x, e):
        places = k.b.index((8,), 0, I64)
        order = k.b.op("sort", [e, places], axis=0, order="ascending", stable=stable).results[1]
        moved = k.b("gather", x, order)
        if not back:
            return moved
        return k.b("scatter", k.mul(x, 0.0), k.add(moved, moved), order, combine="set", order="unordered")

    return body


def placed(order: str, constant: bool = False) -> Body:
    """x put at the keys; ``constant``: the same value everywhere."""

    def body(k, x, e):
        zeros = k.mul(x, 0.0)
        return k.b("scatter", zeros, k.add(zeros, 3.0) if constant else x, e, combine="set", order=order)

    return body


def found(report: Report, code: str) -> list[str]:
    return [finding.severity for finding in report.findings if finding.code == code]


def test_a_permutation_that_only_b_leaves_open() -> None:
    report = judged(permuted(stable=True), permuted(stable=False))
    assert found(report, "unstable-order") == ["error"] and exit_code_of(report) == 1


@pytest.mark.parametrize(("a", "b", "said"), [
    (permuted(True, back=True), permuted(False, back=True), []),
    (permuted(False), permuted(False), []),
    (permuted(False), permuted(True), ["note"]),
])  # fmt: skip
def test_a_permutation_that_is_undone_or_open_in_a(a: Body, b: Body, said: list[str]) -> None:
    report = judged(a, b)
    assert report.verdict.level in EQUAL and found(report, "unstable-order") == said and exit_code_of(report) == 0


def test_keys_that_do_not_tie_say_nothing() -> None:
    report = judged(permuted(True), permuted(False), np.arange(8)[::-1].copy())
    assert not found(report, "unstable-order") and exit_code_of(report) == 0


def test_several_values_at_one_place_in_no_order() -> None:
    report = judged(placed("sequential"), placed("unordered"))
    assert report.verdict.level is Level.UNDECIDED and "set at one place" in report.verdict.reason


@pytest.mark.parametrize(("a", "b", "keys"), [
    (placed("unordered"), placed("unordered"), KEYS),
    (placed("sequential", constant=True), placed("unordered", constant=True), KEYS),
    (placed("sequential"), placed("unordered"), np.arange(8)[::-1].copy()),
    (placed("unordered"), placed("sequential"), KEYS),
])  # fmt: skip
def test_one_value_or_one_freedom_is_no_matter(a: Body, b: Body, keys: np.ndarray) -> None:
    assert judged(a, b, keys).verdict.level in EQUAL
