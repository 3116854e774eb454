"""The table of special values: for every kind a pair that differs there, and one that does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from equivalence.judge import judge, special
from equivalence.judge.judge import Judge
from equivalence.judge.planted import mirrored
from equivalence.judge.runs import Pair, Runner
from equivalence.verdicts import Level, Report, SpecialRow
from irverify.report.json import report_to_dict
from irverify.report.special import special_lines
from lowering.ir.program import Program
from tests.semantics.programs import Body, arrays, options, program

X = "f32[5,7]"


def same(k: Any, x: Any) -> Any:
    return x


def largest(nan: str) -> Body:
    return lambda k, x: k.b("reduce", x, axis=1, combine="max", nan=nan)


def flushed(k: Any, x: Any) -> Any:
    return k.where(k.cmp("lt", k.b("abs", x), 2.0**-126), 0.0, x)


def clamped(k: Any, x: Any) -> Any:
    return k.max(k.min(x, 1e4), -1e4)


def through(k: Any, x: Any, to: str = "f8e4m3fn", **attrs: Any) -> Any:
    return k.cast(k.cast(x, to, **attrs), "f32")


def softmax(guard: bool) -> Body:
    def body(k: Any, x: Any) -> Any:
        shape, top = x.type.shape, k.b("reduce", x, axis=1, combine="max")
        e = k.fn("exp", k.sub(x, k.b.broadcast(top, shape, [0])))
        if guard:
            e = k.where(k.cmp("eq", x, -np.inf), 0.0, e)
        total = k.max(k.sum(e), 1e-30) if guard else k.sum(e)
        return k.div(e, k.b.broadcast(total, shape, [0]))

    return body


def masked_mean(guard: bool) -> Body:
    def body(k: Any, mask: Any, x: Any) -> Any:
        ones = k.where(mask, 1.0, k.lit(0.0, x))
        total, count = k.sum(k.mul(x, ones)), k.sum(ones)
        return k.div(total, k.max(count, 1.0) if guard else count)

    return body


def place(last: bool) -> Body:
    """The place of the largest element of every row."""

    def body(k: Any, x: Any) -> Any:
        turned = k.b("reverse", x, axes=(1,)) if last else x
        places = k.b.broadcast(k.b("iota", to="i32", shape=(x.type.shape[1],)), x.type.shape, [1])
        found = k.b.op("reduce", [turned, places], axis=1, combine="argmax").results[1]
        return k.sub(k.lit(x.type.shape[1] - 1, found), found) if last else found

    return body


def plus_zero(k: Any, x: Any) -> Any:
    return k.add(x, 0.0)


#: kind -> (a pair that differs there and nowhere on ordinary numbers, what it is planted in)
DIFFERING: dict[str, tuple[Body, Body, tuple[str, ...]]] = {
    "a NaN": (largest("number"), largest("propagate"), (X,)),
    "+infinity": (clamped, lambda k, x: k.sub(k.add(clamped(k, x), x), x), (X,)),
    "-infinity": (same, lambda k, x: k.where(k.cmp("eq", x, -np.inf), 0.0, x), (X,)),
    "a subnormal": (lambda k, x: k.mul(x, 2.0**100), lambda k, x: k.mul(flushed(k, x), 2.0**100), (X,)),
    "the largest finite value": (same, lambda k, x: k.mul(k.mul(x, 2.0), 0.5), (X,)),
    "overflow in a cast": (through, lambda k, x: through(k, x, saturate=True), (X,)),
    "a row of -infinity": (softmax(False), softmax(True), (X,)),
    "a masked row": (masked_mean(False), masked_mean(True), ("i1[5,7]", X)),
}
SIGNS: dict[str, Body] = {
    "-0": plus_zero,
    "-0 everywhere": plus_zero,
    "zeros of either sign": lambda k, x: k.b("abs", x),
}


def table(a: Body | Program, b: Body | Program, *specs: str) -> list[SpecialRow]:
    pair = made(a, b, *specs)
    with np.errstate(all="ignore"):
        return special.table(pair, Runner(), error(pair))[0]


def made(a: Body | Program, b: Body | Program, *specs: str) -> Pair:
    sides = [x if isinstance(x, Program) else program(x, *specs) for x in (a, b)]
    return Pair(sides[0], sides[1], arrays(1, *specs))


def error(pair: Pair) -> Any:
    return Judge([pair], options()).error(pair)


def judged(a: Body, b: Body, *specs: str, **changes: Any) -> Report:
    pair = made(a, b, *specs)
    with np.errstate(all="ignore"):
        return judge([pair.a], [pair.b], [pair.inputs], options(**changes))


def of(rows: list[SpecialRow], kind: str) -> Iterator[SpecialRow]:
    found = [row for row in rows if row.kind == kind]
    assert found, kind
    yield from found


@pytest.mark.parametrize("kind", DIFFERING)
def test_a_row_where_the_sides_differ(kind: str) -> None:
    a, b, specs = DIFFERING[kind]
    rows = table(a, b, *specs)
    assert "differ" in {row.status for row in of(rows, kind)}
    assert {row.status for row in of(rows, "zero everywhere")} <= {"alike", "differ"}


@pytest.mark.parametrize("kind", DIFFERING)
def test_a_row_where_they_are_alike(kind: str) -> None:
    for body in DIFFERING[kind][:2]:
        assert {row.status for row in of(table(body, body, *DIFFERING[kind][2]), kind)} == {"alike"}


@pytest.mark.parametrize("kind", SIGNS)
def test_signs_of_zeros_are_rows_and_never_count(kind: str) -> None:
    assert {row.status for row in of(table(same, SIGNS[kind], X), kind)} == {"signs differ"}
    assert {row.status for row in of(table(same, same, X), kind)} == {"alike"}
    report = judged(same, SIGNS[kind], X, special="strict") if kind != "zeros of either sign" else None
    assert report is None or not report.special_values


def test_ties_are_rows_where_an_extremum_is_named() -> None:
    [row] = of(table(place(last=False), place(last=True), X), "ties")
    assert row.status == "differ" and row.value_a != row.value_b
    [row] = of(table(place(last=False), place(last=False), X), "ties")
    assert row.status == "alike"
    assert not [row for row in table(same, same, X) if row.kind == "ties"]


def test_equal_keys_of_an_unstable_sort_are_open() -> None:
    def order(stable: bool) -> Body:
        def body(k: Any, x: Any) -> Any:
            places = k.b.broadcast(k.b("iota", to="i32", shape=(7,)), x.type.shape, [1])
            return k.b.op("sort", [x, places], axis=1, stable=stable).results[1]

        return body

    for first, second, said in ((True, False, "in B"), (False, True, "in A")):
        [row] = of(table(order(first), order(second), X), "ties")
        assert row.status == "open" and row.message.endswith(said)
    [row] = of(table(order(True), order(True), X), "ties")
    assert row.status == "alike"


@pytest.mark.parametrize(("level_a", "level_b", "status"), [
    ("ttir", "stablehlo", "open"), ("stablehlo", "aten", "open"), ("stablehlo", "stablehlo", "alike"),
    ("ttir", "aten", "alike"),
])  # fmt: skip
def test_a_subnormal_that_xla_flushes_is_open(level_a: str, level_b: str, status: str) -> None:
    sides = [program(lambda k, x: k.mul(x, 2.0**100), X) for _ in "ab"]
    for side, level in zip(sides, (level_a, level_b)):
        side.attrs["level"] = level
    [row] = of(table(sides[0], sides[1], X), "a subnormal")
    assert row.status == status and (status != "open" or "0.0 in" in row.message)


def test_a_subnormal_that_stays_one_shows_no_flushing() -> None:
    sides = [program(lambda k, x: k.mul(x, 2.0), X) for _ in "ab"]
    for side, level in zip(sides, ("ttir", "stablehlo")):
        side.attrs["level"] = level
    [row] = of(table(sides[0], sides[1], X), "a subnormal")
    assert row.status == "alike"


@pytest.mark.parametrize("kind", ["a NaN", "overflow in a cast", "a masked row"])
def test_every_row_replays(kind: str) -> None:
    a, b, specs = DIFFERING[kind]
    pair = made(a, b, *specs)
    with np.errstate(all="ignore"):
        for row in special.table(pair, Runner(), error(pair))[0]:
            if row.status != "signs differ":
                assert special.replay(pair, Runner(), row) == (row.value_a, row.value_b)


def test_outcomes_are_said_against_the_given_inputs() -> None:
    [row] = of(table(largest("number"), largest("propagate"), X), "a NaN")
    assert row.outcome_b == "NaN in 1 of 5 elements" and row.outcome_a in (
        "unchanged",
        "another number in 1 of 5 elements",
    )
    assert row.plants[0].place == "[1, 4]" and row.plants[0].value == "nan"


# -- in a report ---------------------------------------------------------------------------------------------------


def test_the_report_prints_what_differs_and_names_what_is_alike() -> None:
    report = judged(largest("number"), largest("propagate"), X)
    assert report.verdict.level in (Level.BITWISE, Level.REASSOCIATED) and len(report.special_values) == 1
    lines = list(special_lines(report))
    assert lines[0].startswith("out0: a NaN in x0 gives ") and lines[1].startswith("  A  ")
    assert lines[2].startswith("alike on both sides: ") and "+infinity" in lines[2] and "a NaN" not in lines[2]
    document = report_to_dict(report)["special_table"]
    assert len(document) == len(report.special_table) > 5
    nan = next(row for row in document if row["kind"] == "a NaN")
    assert nan["status"] == "differ" and nan["planted"] == [{"input": "x0", "place": "[1, 4]", "value": "nan"}]
    assert nan["replay"]["x0"]["values"][11] == "nan"


def test_alike_sides_have_one_line() -> None:
    [line] = special_lines(judged(same, same, X))
    assert line.startswith("alike on both sides: ") and "a NaN" in line and "zeros of either sign" in line


def test_different_pairs_keep_the_rows_of_outputs_that_agree_otherwise() -> None:
    report = judged(place(last=False), place(last=True), X)
    assert report.verdict.level is Level.DIFFERENT and not report.special_values
    assert [row.status for row in report.special_table if row.kind == "ties"] == ["differ"]
    assert not judged(same, lambda k, x: k.mul(x, 1.5), X).special_table


def test_ignored_special_values_have_no_rows() -> None:
    assert not judged(same, same, X, special="ignore").special_table


def test_ties_of_an_equal_pair_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finite input that tells two sides apart is no matter of special values alone."""
    pair = made(place(last=False), place(last=True), X)
    found, _ = special.table(pair, Runner(), error(pair))
    alone = [row for row in found if row.kind == "ties"]
    monkeypatch.setattr(special, "table", lambda *_: (alone, special.Tally()))
    report = judged(place(last=False), place(last=False), X)
    [finding] = [finding for finding in report.findings if finding.code == "special-values"]
    assert finding.severity == "error"


def test_mirrored_arrays_hold_each_value_again() -> None:
    x = mirrored(np.arange(35.0).reshape(5, 7))
    assert (x == x[::-1]).all() and (x == x[:, ::-1]).all() and x.shape == (5, 7)
