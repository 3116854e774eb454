"""Guards that no input meets: facts about signs make them no decision.  A guard that some input meets stays one."""

from __future__ import annotations

import pytest

from tests.semantics.programs import EQUAL, Body, level

X = "f32[5,7]"


def mean(k, x):
    return k.mul(k.sum(x), 1 / 7)


def two_pass(k, x):
    apart = k.sub(x, k.b.broadcast(mean(k, x), (5, 7), [0]))
    return mean(k, k.mul(apart, apart))


def one_pass(k, x):
    centre = mean(k, x)
    return k.sub(mean(k, k.mul(x, x)), k.mul(centre, centre))


def indicator_sum(k, x):
    """How many leading sums are below their successors' bound: at least one, as x + 1 > x."""
    first = k.cast(k.cmp("gt", k.add(k.column(x, 0), 1.0), k.column(x, 0)), "f32")
    rest = k.cast(k.cmp("gt", k.column(x, 1), k.column(x, 2)), "f32")
    return k.add(first, rest)


def normalised(guard: bool) -> Body:
    def body(k, x):
        e = k.fn("exp", k.mul(x, 2.0**-6))  # which no tested input makes 0, as it would exp(x)
        total = k.sum(e)
        if guard:
            total = k.where(k.cmp("eq", total, 0.0), 1.0, total)
        return k.div(e, k.b.broadcast(total, (5, 7), [0]))

    return body


DEAD: dict[str, tuple[Body, Body]] = {
    "a sum of exponentials is not zero": (normalised(True), normalised(False)),
    "a variance is not negative": (lambda k, x: two_pass(k, x), lambda k, x: k.max(one_pass(k, x), 0.0)),
    "a clamped sum of squares": (
        lambda k, x: k.max(k.sum(k.mul(x, x)), 0.0), lambda k, x: k.mul(k.sum(k.mul(k.mul(x, 2.0), x)), 0.5)),
    "a count of at least one": (
        lambda k, x: k.div(k.column(x, 3), k.max(indicator_sum(k, x), 1.0)),
        lambda k, x: k.mul(k.column(x, 3), k.div(k.lit(1.0, k.column(x, 0)), indicator_sum(k, x)))),
}  # fmt: skip

ALIVE: dict[str, tuple[Body, Body]] = {
    "a sum that may be zero": (
        lambda k, x: k.where(k.cmp("eq", k.sum(x), 0.0), 1.0, k.sum(x)), lambda k, x: k.mul(k.sum(k.mul(x, 2.0)), 0.5)),
    "a clamp above the least value": (
        lambda k, x: two_pass(k, x), lambda k, x: k.max(one_pass(k, x), 1e-12)),
    "a difference of squares": (
        lambda k, x: k.max(k.add(k.sum(k.mul(x, x)), -1e-9), 0.0), lambda k, x: k.add(k.sum(k.mul(x, x)), -1e-9)),
    "a count that may be zero": (
        lambda k, x: k.max(k.sum(k.cast(k.cmp("gt", x, -1e6), "f32")), 1.0),
        lambda k, x: k.sum(k.cast(k.cmp("gt", x, -1e6), "f32"))),
    "an odd power": (
        lambda k, x: k.max(k.mul(k.add(k.mul(x, x), 1e4), k.add(x, 1e4)), 0.0),
        lambda k, x: k.mul(k.add(k.mul(x, x), 1e4), k.add(x, 1e4))),
    "a count that equals a square of another count": (
        lambda k, x: k.max(k.add(k.sum(k.cast(k.cmp("gt", x, -500.0), "f32")), -3.0), 0.0),
        lambda k, x: k.add(k.sum(k.cast(k.cmp("gt", x, -500.0), "f32")), -3.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", DEAD)
def test_a_guard_that_no_input_meets_is_no_decision(name: str) -> None:
    a, b = DEAD[name]
    assert level(a, b, X) in EQUAL
    assert level(b, a, X) in EQUAL


@pytest.mark.parametrize("name", ALIVE)
def test_a_guard_that_some_input_meets_is_one(name: str) -> None:
    a, b = ALIVE[name]
    assert level(a, b, X) not in EQUAL
    assert level(b, a, X) not in EQUAL
