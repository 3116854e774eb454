"""Declared ranges hold for derived inputs, integers take other values of theirs, masks have empty rows."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.judge import inputs, judge, ranges
from equivalence.judge.runs import Pair
from equivalence.verdicts import Level
from irverify.options import CompareOptions
from tests.semantics.programs import Body, program

X = np.linspace(0.5, 199.0, 24, dtype=np.float32).reshape(4, 6)
LABELS = np.array([3, 1, 7, 1, 9, 0], np.int64)
BOTH = program(lambda k, x, y: (x, y), "f32[4,6]", "i64[6]")
PAIR = Pair(BOTH, BOTH, {"x0": X, "x1": LABELS})


def test_by_position_and_by_name() -> None:
    found = ranges.declared(["f32[4,6] in [0,200)", "x1=i64[6] in [-1, N]"], PAIR)
    assert found["x0"] == ranges.Range(0, 200, closed=False)
    assert found["x1"] == ranges.Range(-1, np.inf, closed=True)
    assert ranges.declared(["f32[4,6]", 3], PAIR) == {}


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_values_are_moved_inside(dtype: str) -> None:
    kept = ranges.Range(-3, 200, closed=False).kept(np.array([-1e4, -3, 0, 199, 200, 3e4], dtype))
    assert kept.dtype == dtype and (kept >= -3).all() and (kept < 200).all()
    assert kept[1:4].tolist() == [-3, 0, 199]
    assert ranges.Range(0, 1, closed=True).kept(np.float32([2.0, -1.0])).tolist() == [1.0, 0.0]


def test_every_derived_set_stays_inside() -> None:
    declared = ranges.declared(["f32[4,6] in [0,200)"], PAIR)
    for name in inputs.SETS:
        made = ranges.within(inputs.make(name, PAIR.inputs, 0), PAIR.inputs, declared)
        assert (made["x0"] >= 0).all() and (made["x0"] < 200).all(), name


def test_integers_of_a_declared_range() -> None:
    declared = ranges.declared(["f32[4,6]", "i64[6] in [0,50)"], PAIR)
    made = {label: arrays["x1"] for label, arrays in ranges.integers(PAIR.inputs, declared, [-100, 7, 49, 60], 0)}
    assert set(made[ranges.ENDS].tolist()) <= {0, 49} and set(made[ranges.LITERALS].tolist()) <= {7, 49}
    assert ((made[ranges.REDRAWN] >= 0) & (made[ranges.REDRAWN] < 50)).all()
    assert not list(ranges.integers(PAIR.inputs, {}, [7], 0))  # integers without a range are never invented


def test_one_literal_throughout() -> None:
    declared = ranges.declared(["f32[4,6]", "i64[6] in [0,50)"], PAIR)
    made = list(ranges.throughout(PAIR.inputs, declared, [-100, 7, 49, 60]))
    assert [(label, set(arrays["x1"].tolist())) for label, arrays in made] == [
        (ranges.THROUGHOUT, {7}), (ranges.THROUGHOUT, {49})
    ]  # fmt: skip
    undeclared = list(ranges.throughout(PAIR.inputs, {}, [-100, 2, 7, 49]))  # 2 is no given label
    assert [(label, set(arrays["x1"].tolist())) for label, arrays in undeclared] == [(ranges.ONE_GIVEN, {7})]
    for ordered in ([0, 1, 3, 3], [3, 0, 2, 1]):  # offsets, a permutation
        assert not list(ranges.throughout({"x0": X, "x1": np.array(ordered)}, {}, [0, 3]))


@pytest.mark.parametrize(("spec", "level"), [
    ("i64[8] in [0,10)", Level.DIFFERENT), ("i64[8] in [8,10)", Level.REAL), ("3", Level.REAL)
])  # fmt: skip
def test_every_label_left_out(spec: str, level: Level) -> None:
    """0/0 on one side, where the count is not kept from 0 on the other: only within a declared range."""

    def mean(least: float) -> Body:
        def body(k, x, y):
            kept = k.where(k.cmp("ne", y, 7), k.lit(1.0, x), 0.0)
            return k.div(k.sum(k.mul(x, kept)), k.max(k.sum(kept), least))

        return body

    a, b = (program(mean(least), "f32[8]", "i64[8]") for least in (0.0, 1.0))
    labels = np.array([8, 9, 8, 9, 8, 9, 9, 8], np.int64)
    options = CompareOptions(a="a", b="b", inputs=("f32[8]", spec))
    assert judge([a], [b], [{"x0": np.ones(8, np.float32), "x1": labels}], options).verdict.level is level


@pytest.mark.parametrize("words", ["sorted", "permutation"])
def test_permutations_and_sorted_integers_stay(words: str) -> None:
    declared = ranges.declared(["f32[4,6]", f"i64[6] in [0,50) {words}"], PAIR)
    assert not list(ranges.integers(PAIR.inputs, declared, [7], 0))


def test_a_mask_has_an_empty_row_and_a_full_one() -> None:
    mask = np.random.default_rng(0).integers(0, 2, (2, 3, 5)).astype(bool)
    empty, full = (arrays["m"] for _, arrays in ranges.empty_rows({"x": X, "m": mask}, 0))
    assert not empty[0].any() and not empty[1, 0].any() and empty[1].any()
    assert full[0].all() and full[1, 0].all()
    assert not list(ranges.empty_rows({"x": X}, 0))


def test_equal_rows_and_inputs_alike() -> None:
    given = {"x": X, "y": X[::-1].copy(), "z": -X[:2], "w": X[:2, :3]}
    rows = inputs.make("equal rows", given, 0)["x"]
    assert (rows == X[:, :1]).all()
    alike = inputs.make("alike", given, 0)
    assert alike["y"] is X and (alike["z"] == X[:2]).all() and alike["w"] is given["w"]


def clamped(high: float | None) -> Body:
    return lambda k, x: k.mul(x if high is None else k.min(x, high), 2.0)


@pytest.mark.parametrize(("spec", "differs"), [("f32[4,6] in [0,200)", False), ("f32[4,6]", True)])
def test_a_clamp_beyond_the_range_is_no_difference(spec: str, differs: bool) -> None:
    a, b = program(clamped(255.0), "f32[4,6]"), program(clamped(None), "f32[4,6]")
    report = judge([a], [b], [{"x0": X}], CompareOptions(a="a", b="b", inputs=(spec,)))
    assert (report.verdict.level is Level.DIFFERENT) is differs
    assert report.verdict.level not in (Level.BITWISE, Level.REASSOCIATED, Level.REAL)


def test_a_label_that_is_left_out_is_tried() -> None:
    """ignore_index: the label 7 gives 0 on one side; it was not among the given labels."""

    def ignoring(label: int) -> Body:
        return lambda k, x, y: k.where(k.cmp("eq", y, label), 0.0, x)

    x, labels = np.ones(8, np.float32), np.array([3, 1, 6, 1, 9, 0, 2, 2], np.int64)
    a, b = (program(ignoring(label), "f32[8]", "i64[8]") for label in (7, -100))
    options = CompareOptions(a="a", b="b", inputs=("f32[8]", "i64[8] in [0,10)"))
    assert judge([a], [b], [{"x0": x, "x1": labels}], options).verdict.level is Level.DIFFERENT


def test_a_distance_that_reaches_a_radius() -> None:
    """3-4-5 is rare among random points; one coordinate of 5 and zeros is a row that is tried."""

    def inside(pred: str) -> Body:
        def body(k, p, q, v):
            d = k.sub(p, q)
            return k.where(k.cmp(pred, k.sum(k.mul(d, d)), 25.0), v, 0.0)

        return body

    rng = np.random.default_rng(1)
    shapes = {"x0": (6, 3), "x1": (6, 3), "x2": (6,)}
    given = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    a, b = (program(inside(pred), "f32[6,3]", "f32[6,3]", "f32[6]") for pred in ("le", "lt"))
    assert judge([a], [b], [given], CompareOptions(a="a", b="b")).verdict.level is Level.DIFFERENT


def test_a_range_that_ends_at_a_dimension_follows_it() -> None:
    """ids in [0,50) of a table with 50 rows: at a set of shapes with 16 rows only 16 of them exist."""
    both = program(lambda k, x, y: (x, y), "f32[16,6]", "i64[6]")
    pair = Pair(both, both, {"x0": np.zeros((16, 6), np.float32), "x1": LABELS})
    found = ranges.declared(["f32[50,24]", "i64[12] in [0,50)"], pair)
    assert found["x1"].integers == (0, 15)
    assert ranges.declared(["f32[50,24]", "i64[12] in [0,49)"], pair)["x1"].integers == (0, 48)
    assert ranges.declared(["f32[16,6]", "i64[6] in [0,16)"], pair)["x1"].integers == (0, 15)


def test_floats_that_were_promised_in_order_stay_in_order() -> None:
    edges = np.sort(X, axis=-1)
    pair = Pair(BOTH, BOTH, {"x0": edges, "x1": LABELS})
    declared = ranges.declared(["f32[4,6] sorted"], pair)
    for name in inputs.SETS:
        made = ranges.within(inputs.make(name, pair.inputs, 0), pair.inputs, declared)["x0"]
        assert (np.diff(made, axis=-1) >= 0).all(), name
    free = [ranges.within(inputs.make(name, pair.inputs, 0), pair.inputs, {})["x0"] for name in inputs.SETS]
    assert any((np.diff(made, axis=-1) < 0).any() for made in free)


def test_alike_inputs_stay_in_the_domain_of_each() -> None:
    signed, shares = (
        np.linspace(-2, 2, 24, dtype=np.float32).reshape(4, 6),
        np.linspace(0.1, 0.9, 24, dtype=np.float32).reshape(4, 6),
    )
    made = inputs.alike({"p": signed, "q": shares})
    assert np.array_equal(made["p"], signed) and (made["q"] >= 0).all() and (made["q"] <= 1).all()
    assert np.array_equal(inputs.alike({"p": shares, "q": signed})["q"], shares)
