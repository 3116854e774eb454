"""Attacks on decisions: pairs that differ only where a decision goes a way that inputs rarely show, or in one lane.

Each was once called `real`.  None may be called equal.
"""

from __future__ import annotations

import numpy as np
import pytest

from lowering.ir.program import Program
from tests.semantics.programs import EQUAL, F32, Body, Level, launched, level

X, V, WIDE = "f32[5,7]", "f32[8]", "f32[1,600]"


def square(k, model, root: float):
    """A literal that is in neither program as a constant, so that no input is drawn near it."""
    return k.mul(k.lit(root, model), root)


def cap_in_one_lane(capped: bool) -> Body:
    def body(k, x):
        last = k.cmp("eq", k.b.index((8,), 0), 7)
        if capped:
            return k.min(x, k.where(last, square(k, x, 1000.0), 0.25))
        return k.where(last, x, k.min(x, 0.25))

    return body


def guarded_cap(root: float | None) -> Body:
    """Rows with an element beyond 50 are capped; the given inputs have none."""

    def body(k, x):
        most = k.b("reduce", k.b("abs", x), axis=1, combine="max")
        large = k.b.broadcast(k.cmp("gt", most, 50.0), (5, 7), [0])
        return k.where(large, x if root is None else k.min(x, square(k, x, root)), x)

    return body


def sign_pattern(how: str) -> Body:
    """Twice the sum where twelve elements have one pattern of signs."""

    def body(k, x):
        total = k.sum(x)
        columns = enumerate(k.columns(x))
        signs = [k.cmp("gt" if i % 2 else "lt", c, 0.1 * (i + 1) * (1 if i % 2 else -1)) for i, c in columns]
        if how == "none":
            return total
        if how == "mul":
            hit = k.cast(signs[0], "f32")
            for sign in signs[1:]:
                hit = k.mul(hit, k.cast(sign, "f32"))
            return k.mul(total, k.add(hit, 1.0))
        hit = signs[0]
        for sign in signs[1:]:
            hit = k.b("and", hit, sign)
        return k.mul(total, k.add(k.cast(hit, "f32"), 1.0))

    return body


def extremum(without: int | None, combine: str = "max") -> Body:
    def body(k, x):
        return k.b("reduce", k.add(x, k.b.constant(hole(without, combine), F32)), axis=1, combine=combine)

    return body


def hole(place: int | None, combine: str = "max") -> np.ndarray:
    made = np.zeros((1, 600), np.float32)
    if place is not None:
        made[0, place] = -np.inf if combine == "max" else np.inf
    return made


def top_three(without: int | None) -> Body:
    def body(k, x):
        held = k.add(x, k.b.constant(hole(without), F32))
        return k.part(k.b.op("sort", [held, k.b.index((1, 600), 1)], axis=1, order="descending").results[0], 0, 3)

    return body


def junk_lanes(guarded: bool) -> Program:
    """The padding lanes of a block hold minus the mean: there alone the guard is true."""

    def body(k, x, out):
        lanes = k.lanes(16)
        inside = k.cmp("lt", lanes, 11)
        value = k.load(x, lanes, inside, k.b.constant(0.0, F32, (16,)))
        mean = k.splat(k.mul(k.b("reduce", value, axis=0, combine="add"), 1 / 11), 16)
        apart = k.sub(value, mean)
        if guarded:
            near = k.cmp("lt", k.mul(k.b("abs", k.add(apart, mean)), 1e7), 1e-3)
            apart = k.where(near, k.mul(apart, 2.0), apart)
        k.store(out, lanes, apart, inside)

    return launched(body, "f32[11]", out="f32[11]", init=0.0)


def running_maximum(start: float) -> Body:
    def body(k, x):
        most = k.lit(start, k.column(x, 0))
        for column in k.columns(x):
            most = k.max(most, column)
        return most

    return body


def bump(width: float | None) -> Body:
    """A hat of that width around 3.7."""

    def body(k, x):
        if width is None:
            return x
        return k.add(x, k.max(k.sub(k.lit(width, x), k.b("abs", k.add(k.mul(x, x), -13.69))), 0.0))

    return body


def tail(dropped: bool) -> Body:
    def body(k, x):
        low = k.sub(x, k.b.broadcast(k.b("reduce", x, axis=1, combine="max"), (5, 7), [0]))
        e = k.fn("exp", low)
        return k.sum(k.where(k.cmp("lt", low, -60.0), 0.0, e) if dropped else e)

    return body


ATTACKS: dict[str, tuple[Body | Program, Body | Program, tuple[str, ...]]] = {
    "a cap in one lane, computed from literals": (cap_in_one_lane(True), cap_in_one_lane(False), (V,)),
    "a cap behind a guard": (guarded_cap(1000.0), guarded_cap(None), (X,)),
    "two caps behind a guard": (guarded_cap(1000.0), guarded_cap(1100.0), (X,)),
    "a product of indicators that is always 0": (sign_pattern("mul"), sign_pattern("none"), ("f32[3,12]",)),
    "a conjunction that is always false": (sign_pattern("and"), sign_pattern("none"), ("f32[3,12]",)),
    "a maximum without an inner lane": (extremum(400), extremum(None), (WIDE,)),
    "a minimum without an inner lane": (extremum(401, "min"), extremum(None, "min"), (WIDE,)),
    "the top three without an inner lane": (top_three(400), top_three(None), (WIDE,)),
    "a guard that is true in padding lanes": (junk_lanes(True), junk_lanes(False), ("f32[11]",)),
    "a running maximum from -30": (running_maximum(-30.0), running_maximum(-np.inf), (X,)),
    "a running maximum from -500": (running_maximum(-500.0), running_maximum(-np.inf), (X,)),
    "a running maximum from -8000": (running_maximum(-8000.0), running_maximum(-np.inf), (X,)),
    "a clamp from far below": (
        lambda k, x: k.max(k.b("reduce", x, axis=1, combine="max"), -1e4),
        lambda k, x: k.b("reduce", x, axis=1, combine="max"), (X,)),
    "a running maximum from -10000": (running_maximum(-1e4), running_maximum(-np.inf), (X,)),
    "a running maximum from -1e9": (running_maximum(-1e9), running_maximum(-np.inf), (X,)),
    "a hat": (bump(1e-4), bump(None), (X,)),
    "a tail that is dropped": (tail(True), tail(False), (X,)),
    "equal at one value": (
        lambda k, x, y: k.where(k.cmp("eq", k.mul(x, 3.0), k.add(y, 0.25)), 0.0, k.mul(x, y)),
        lambda k, x, y: k.mul(x, y), (X, X)),
    "a removable singularity filled in": (
        lambda k, x: k.where(k.cmp("lt", k.b("abs", x), 1e-8), 2.0, k.div(k.fn("sin", x), k.add(x, 0.1))),
        lambda k, x: k.div(k.fn("sin", x), k.add(x, 0.1)), (X,)),
    "the second of two clamps": (
        lambda k, x: k.min(k.max(k.min(x, 1.0), -1.0), 0.9999999),
        lambda k, x: k.max(k.min(x, 1.0), -1.0), (X,)),
    "a disjunction with a rare part": (
        lambda k, x, y: k.where(k.b("or", k.cmp("gt", x, y), k.cmp("gt", k.mul(x, x), 1e9)), x, y),
        lambda k, x, y: k.max(x, y), (X, X)),
    "the sign of zero as 0/0": (
        lambda k, x: k.div(x, k.b("abs", x)),
        lambda k, x: k.where(k.cmp("ge", x, 0.0), k.lit(1.0, x), -1.0), (X,)),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_the_pair_is_not_called_equal(name: str) -> None:
    a, b, specs = ATTACKS[name]
    assert level(a, b, *specs) not in EQUAL


def blocks(size: int) -> Body:
    """A row's maximum block by block, scaled and back."""

    def body(k, x):
        most = None
        for low in range(0, x.type.shape[1], size):
            part = k.b("reduce", k.part(x, low, min(low + size, x.type.shape[1])), axis=1, combine="max")
            most = part if most is None else k.max(most, part)
        return k.div(most, 3.0)

    return body


def test_a_maximum_of_maxima_is_the_maximum_whichever_lane_wins() -> None:
    """600 lanes in one row are too many for each to win once: the multisets of operands are compared."""
    whole: Body = lambda k, x: k.mul(k.div(k.b("reduce", x, axis=1, combine="max"), 6.0), 2.0)  # noqa: E731
    assert level(blocks(128), whole, WIDE) is Level.REAL


def test_a_lane_that_takes_its_turn_counts() -> None:
    """An inner lane is missing from a maximum whose rows are few: spikes show it with a witness."""
    assert level(top_three(20), top_three(None), WIDE) is Level.DIFFERENT
    assert level(extremum(20), extremum(None), WIDE) is Level.DIFFERENT
