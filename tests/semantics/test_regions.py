"""SEMANTICS §2 and §5: decisions by data.  A sample that never shows the other outcome proves nothing about it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.semantics.programs import BOOL, EQUAL, F32, I32, Body, Level, arrays, judged, launched, level

X, V = "f32[5,7]", "f32[8]"


def branch(limit: float, other: float) -> Body:
    """x where its maximum is below ``limit``, else x times ``other``."""

    def body(k, x):
        below = k.cmp("lt", k.b("reduce", x, axis=0, combine="max"), limit)
        regions = [k.b.region([], lambda: [x]), k.b.region([], lambda: [k.mul(x, other)])]
        return k.b.op("if", [below], regions).results[0]

    return body


def rounds(limit: float, factor: float) -> Body:
    """x, multiplied by ``factor`` while its maximum is above ``limit``."""

    def body(k, x):
        def condition(y):
            return [k.cmp("gt", k.b("reduce", y, axis=0, combine="max"), limit), y]

        regions = [k.b.region([x.type], condition, "condition"), k.b.region([x.type], lambda y: [k.mul(y, factor)])]
        return k.b.op("while", [x], regions).results[0]

    return body


UNSEEN: dict[str, tuple[Body, Body]] = {
    "relu6 and relu": (lambda k, x: k.c.relu6(x), lambda k, x: k.max(x, 0.0)),
    "a soft cap": (lambda k, x: k.min(x, 30.0), lambda k, x: x),
    "a cap at 1e6": (lambda k, x: k.min(x, 1e6), lambda k, x: x),
    "max(norm, eps)": (lambda k, x: k.max(k.sum(k.mul(x, x)), 1e-12), lambda k, x: k.sum(k.mul(x, x))),
    "a threshold of softplus": (lambda k, x: k.c.softplus(x), lambda k, x: k.fn("log1p", k.fn("exp", x))),
    "a tail above 1e5": (lambda k, x: k.where(k.cmp("gt", x, 1e5), k.mul(x, 2.0), x), lambda k, x: x),
    "a tail of the square": (lambda k, x: k.where(k.cmp("gt", k.mul(x, x), 1e8), k.lit(1.0, x), x), lambda k, x: x),
    "one condition hidden by another": (
        lambda k, x: k.where(k.b("and", k.cmp("gt", x, 0.0), k.cmp("gt", x, 1e9)), x, k.mul(x, 2.0)),
        lambda k, x: k.mul(x, 2.0)),
    "a floor of -50 in a maximum": (
        lambda k, x: k.b("reduce", k.b("concat", x, k.lit(-50.0, x), axis=1), axis=1, combine="max"),
        lambda k, x: k.b("reduce", x, axis=1, combine="max")),
    "saturation of a cast": (lambda k, x: k.cast(x, "f8e4m3fn", saturate=True), lambda k, x: k.cast(x, "f8e4m3fn")),
    "rounding ties": (lambda k, x: k.b("round", x, mode="even"), lambda k, x: k.b("round", x, mode="away")),
    "floor and truncation": (lambda k, x: k.b("round", k.b("abs", x), mode="floor"),
                             lambda k, x: k.b("round", x, mode="trunc")),
    "x > 0 and x >= 0": (lambda k, x: k.cmp("gt", x, 0.0), lambda k, x: k.cmp("ge", x, 0.0)),
    "not x > y and x < y": (lambda k, x: k.b("not", k.cmp("gt", x, 0.0)), lambda k, x: k.cmp("lt", x, 0.0)),
    "a clamp of 0.7 and of the next number": (lambda k, x: k.min(x, 0.7), lambda k, x: k.min(x, 0.70000005)),
    "a leak of 1e-8": (lambda k, x: k.max(x, k.mul(x, 1e-8)), lambda k, x: k.max(x, 0.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSEEN)
def test_an_outcome_that_was_not_seen_is_not_equal(name: str) -> None:
    assert level(*UNSEEN[name], X) not in EQUAL


@pytest.mark.parametrize(
    "pair",
    [
        (branch(1e4, 2.0), branch(1e4, 3.0)),
        (branch(1e4, 2.0), lambda k, x: x),
        (rounds(1e6, 0.5), rounds(1e6, 0.25)),
        (rounds(1e6, 0.5), lambda k, x: x),
    ],
)
def test_the_branch_not_taken_is_compared_too(pair: tuple[Body, Body]) -> None:
    assert level(*pair, V) not in EQUAL


def test_equal_branches_are_equal() -> None:
    assert level(branch(1e4, 2.0), branch(1e4, 2.0), V) is Level.REASSOCIATED


# -- addresses that follow data --------------------------------------------


def picked(source: Body, mode: str = "fill", beyond: int = 0) -> Body:
    """Element argmax(x) + beyond of ``source(y)``."""

    def body(k, x, y):
        place = k.b.op("reduce", [x, k.b.index((8,), 0)], axis=0, combine="argmax").results[1]
        return k.b("gather", source(k, y), k.add(k.b.broadcast(place, (4,), ()), beyond), mode=mode)

    return body


def test_elements_that_the_sample_does_not_read_count() -> None:
    chosen = int(arrays(1, V, V)["x0"].argmax())
    factors = np.where(np.arange(8) == chosen, 1.0, 1.0 + 2.0**-20).astype(np.float32)
    other = picked(lambda k, y: k.mul(y, k.b.constant(factors, F32)))
    assert level(picked(lambda k, y: y), other, V, V) not in EQUAL
    assert level(picked(lambda k, y: y), picked(lambda k, y: y), V, V) is Level.BITWISE


def test_clamped_and_dropped_indices_are_not_alike() -> None:
    room = 7 - int(arrays(1, V, V)["x0"].argmax())
    assert level(picked(lambda k, y: y, "clamp", room), picked(lambda k, y: y, "fill", room), V, V) not in EQUAL


@pytest.mark.parametrize("limit", [50.0, 1e6])
def test_what_a_mask_of_data_keeps_out_counts(limit: float) -> None:
    def read(other: float):
        def body(k, x, out):
            mask = k.cmp("lt", k.load(x, k.lanes(8)), limit)
            k.store(out, k.lanes(8), k.load(x, k.lanes(8), mask, k.b.constant(other, F32, (8,))))

        return launched(body, V, out=V)

    def written(before: float):
        def body(k, x, out):
            value = k.load(x, k.lanes(8))
            k.store(out, k.lanes(8), value, k.cmp("lt", value, limit))

        return launched(body, V, out=V, init=before)

    assert level(read(0.0), read(1.0), V) not in EQUAL
    assert level(written(0.0), written(1.0), V) not in EQUAL


# -- mismatches of the field refute nothing --------------------------------------------

SAME_FUNCTION: dict[str, tuple[Body, Body]] = {
    "the root of a square": (lambda k, x: k.fn("sqrt", k.mul(x, x)), lambda k, x: k.b("abs", x)),
    "a second softmax": (
        lambda k, x: k.c.softmax(k.c.softmax(x, 1), 1),
        lambda k, x: k.div(k.fn("exp", k.c.softmax(x, 1)),
                           k.b.broadcast(k.sum(k.fn("exp", k.c.softmax(x, 1))), (5, 7), [0]))),
    "a clamp in two orders": (lambda k, x: k.max(k.min(x, 1.0), -1.0), lambda k, x: k.min(k.max(x, -1.0), 1.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME_FUNCTION)
def test_one_function_is_never_called_different(name: str) -> None:
    assert level(*SAME_FUNCTION[name], X) is not Level.DIFFERENT


def test_an_exponential_of_a_product_of_exponentials_is_never_called_different() -> None:
    def product(k, x, y):
        return k.fn("exp", k.mul(k.fn("exp", x), k.fn("exp", y)))

    def sum_(k, x, y):
        return k.fn("exp", k.fn("exp", k.add(x, y)))

    small = {name: 0.01 * x for name, x in arrays(1, X, X).items()}
    assert level(product, sum_, X, X, data=small) is not Level.DIFFERENT


# -- decisions at other places --------------------------------------------

NEAR: dict[str, tuple[Body, Body, str]] = {
    "thresholds 1 and 1.0001": (
        lambda k, x: k.where(k.cmp("gt", x, 1.0), x, k.mul(x, 0.5)),
        lambda k, x: k.where(k.cmp("gt", x, 1.0001), x, k.mul(x, 0.5)), X),
    "truth values at 1 and 1.0001": (lambda k, x: k.cmp("gt", x, 1.0), lambda k, x: k.cmp("gt", x, 1.0001), X),
    "a clamp that one lane alone lacks": (
        lambda k, x: k.min(x, k.b.constant(np.array([0.25] * 7 + [1e6], np.float32), F32)),
        lambda k, x: k.min(x, k.b.constant(np.array([0.25] * 7 + [np.inf], np.float32), F32)), V),
    "a sort by keys that are 1e-5 off": (
        lambda k, x: k.b.op("sort", [x, k.b.index((8,), 0)], axis=0).results[1],
        lambda k, x: k.b.op("sort", [k.mul(x, k.b.constant((1 + 1e-5 * np.arange(8)).astype(np.float32), F32)),
                                     k.b.index((8,), 0)], axis=0).results[1], V),
}  # fmt: skip


@pytest.mark.parametrize("name", NEAR)
def test_decisions_at_nearly_the_same_place_are_not_equal(name: str) -> None:
    a, b, spec = NEAR[name]
    assert level(a, b, spec) not in EQUAL


def test_a_floor_of_minus_5e6_is_no_minus_infinity_for_free() -> None:
    def floored(k, x):
        return k.b("reduce", k.b("concat", x, k.lit(-5e6, x), axis=1), axis=1, combine="max")

    report = judged(floored, lambda k, x: k.b("reduce", x, axis=1, combine="max"), X)
    assert report.verdict.level not in EQUAL or any("5e+06" in a or "-inf" in a for a in report.assumptions)


def test_a_mask_of_constants_is_no_decision() -> None:
    keep = np.tril(np.ones((5, 5), bool))

    def causal(strict: bool) -> Body:
        mask = np.tril(np.ones((5, 5), bool), -1 if strict else 0)
        return lambda k, x: k.sum(k.where(k.b.constant(mask, BOOL), x, 0.0))

    def compared(k, x):
        return k.sum(k.where(k.cmp("le", k.b.index((5, 5), 1), k.b.index((5, 5), 0)), x, 0.0))

    assert keep.any()
    assert level(causal(False), compared, "f32[5,5]") is Level.REASSOCIATED
    assert level(causal(True), compared, "f32[5,5]") is Level.DIFFERENT


def test_a_host_that_looks_at_data_was_captured_on_one_way_only() -> None:
    """`if x.max().item() < 1e4: ... else: ...`: the other way is in neither program."""

    def looked(k, x):
        k.b.op("observe", [k.b.reshape(k.cmp("lt", k.b("reduce", x, axis=0, combine="max"), 1e4), ())])
        return k.mul(x, 2.0)

    assert level(looked, looked, V) is Level.UNDECIDED


def capped_rounds(most: int | None) -> Body:
    """x, halved while its maximum is above 1, ``most`` times at most."""

    def body(k, x):
        def condition(y, i):
            going = k.cmp("gt", k.b("reduce", y, axis=0, combine="max"), 1.0)
            return [going if most is None else k.b("and", going, k.cmp("lt", i, most)), y, i]

        first = k.b.constant(0, I32)
        regions = [
            k.b.region([x.type, first.type], condition, "condition"),
            k.b.region([x.type, first.type], lambda y, i: [k.mul(y, 0.5), k.add(i, 1)]),
        ]
        return k.mul(k.b.op("while", [x, first], regions).results[0], k.lit(1.0, x))

    return body


def test_a_number_of_rounds_that_was_never_reached() -> None:
    assert level(capped_rounds(200), capped_rounds(None), V) not in EQUAL
    assert level(capped_rounds(200), capped_rounds(200), V) in EQUAL
    assert level(capped_rounds(None), capped_rounds(None), V) in EQUAL


def padded_maximum(pad: float, inner: str = "abs") -> Body:
    """The largest of |x| (or x) along rows of 6 of which 2 are padding, over which x is divided."""

    def body(k, x):
        inside = k.cmp("lt", k.b.index((3, 6), 1), 4)
        rows = k.where(inside, k.b("abs", x) if inner == "abs" else x, pad)
        return k.div(x, k.b.broadcast(k.b("reduce", rows, axis=1, combine="max"), (3, 6), [0]))

    return body


def whole_maximum(inner: str = "abs") -> Body:
    def body(k, x):
        part = k.part(x, 0, 4)
        rows = k.b("abs", part) if inner == "abs" else part
        return k.mul(x, k.div(k.lit(1.0, x), k.b.broadcast(k.b("reduce", rows, axis=1, combine="max"), (3, 6), [0])))

    return body


@pytest.mark.parametrize(("pad", "inner", "equal"), [(0.0, "abs", True), (0.5, "abs", False), (0.0, "x", False)])
def test_padding_below_absolute_values_never_wins(pad: float, inner: str, equal: bool) -> None:
    """The largest magnitude of a row with lanes masked to 0, as rows are quantised; a larger pad wins, so do signs."""
    assert (level(padded_maximum(pad, inner), whole_maximum(inner), "f32[3,6]") is Level.REAL) is equal
