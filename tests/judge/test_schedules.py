"""What B's source leaves open and A's fixes: equal keys of an unstable sort, several values set at one place."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.evaluator.tied import spared, tied_extrema, tied_rows
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


def keyed(stable: bool, by: str = "keys", also: str = "") -> Body:
    """x in the order of the keys, or of x; ``also``: with x where some extremum of x or of the keys is."""

    def body(k, x, e):
        places = k.b.index((8,), 0, I64)
        keys = x if by == "x" else e
        moved = k.b("gather", x, k.b.op("sort", [keys, places], axis=0, order="ascending", stable=stable).results[1])
        return k.add(moved, k.b.broadcast(extreme(also)(k, x, e), (8,), ())) if also else moved

    return body


def extreme(of: str) -> Body:
    """x where one of the least of x or of the keys is, whichever."""

    def body(k, x, e):
        places, named = k.b.index((8,), 0, I64), x if of == "x" else e
        found = k.b.op("reduce", [named, places], axis=0, combine="argmin", tie="any", order="unordered").results
        return k.b("gather", x, found[1])

    return body


def first_sorted(at: int) -> Body:
    """x in one place of the order of the keys, which leaves equal ones open."""

    def body(k, x, e):
        return k.column(keyed(False)(k, x, e), at)

    return body


def two_sorts(second_stable: bool) -> Body:
    """The order of x is open, that of the keys only where the second sort is not stable."""

    def body(k, x, e):
        return k.add(keyed(False, "x")(k, k.b("round", x, mode="floor"), e), keyed(second_stable)(k, x, e))

    return body


@pytest.mark.parametrize(("a", "b"), [
    (keyed(True, also="x"), keyed(False, also="x")),
    (keyed(True, also="keys"), keyed(False, also="keys")),
    (two_sorts(True), two_sorts(False)),
])  # fmt: skip
def test_another_freedom_of_a_is_no_excuse(a: Body, b: Body) -> None:
    report = judged(a, b)
    assert found(report, "unstable-order") == ["error"] and exit_code_of(report) == 1


def test_a_host_that_reads_what_is_open() -> None:
    def reading(stable: bool) -> Body:
        def body(k, x, e):
            moved = keyed(stable)(k, x, e)
            k.b.op("observe", [k.cmp("gt", k.column(moved, 0), -1.0)])
            return k.mul(x, 2.0)

        return body

    assert found(judged(reading(True), reading(False)), "unstable-order") == ["error"]
    assert not found(judged(reading(False), reading(False)), "unstable-order")


@pytest.mark.parametrize(("a", "b"), [
    (extreme("keys"), first_sorted(0)),
    (two_sorts(False), two_sorts(False)),
])  # fmt: skip
def test_the_same_freedom_of_a_is_one(a: Body, b: Body) -> None:
    assert not found(judged(a, b), "unstable-order")


def test_another_place_is_not_that_of_the_extremum() -> None:
    assert found(judged(extreme("keys"), first_sorted(3)), "unstable-order") != []


def test_ties_by_their_places() -> None:
    keys = np.array([[3, 1, 3, 2]])
    assert tied_rows(keys, 1) == tied_rows(-keys, 1) == tied_extrema(keys, 1, largest=True)
    assert not tied_extrema(keys, 1, largest=False) and not tied_rows(np.arange(4)[None], 1)
    both = np.array([[5, 4, 5, 4]])
    assert spared(both, 1, tied_rows(keys, 1)).tolist() == [[True, False, True, False]]
    assert spared(np.array([[7, 7, 7, 0]]), 1, tied_rows(keys, 1)).tolist() == [[False, False, False, True]]
    assert spared(keys, 1, tied_rows(np.array([[1, 0, 1, 1]]), 1)).all()
