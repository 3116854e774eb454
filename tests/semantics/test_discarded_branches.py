"""Guards of what a selection throws away: they need not be seen, unless their value reaches an output otherwise."""

from __future__ import annotations

import pytest

from lowering.ir.program import Value
from tests.semantics.programs import EQUAL, Body, Kit, Level, judged, level

T = "f32[6,10]"


def guarded(guard: float | None, threshold: float = 20.0, within: str = "min") -> Body:
    """where(x > threshold, x, log(1 + exp(min(x, guard))))."""

    def body(k: Kit, x: Value) -> Value:
        inner = x if guard is None else k.b(within, x, k.lit(guard, x))
        return k.where(k.cmp("gt", x, threshold), x, k.fn("log", k.add(k.fn("exp", inner), 1.0)))

    return body


def log_of_positive(k: Kit, x: Value) -> Value:
    """The selection twice, so that no gradient is a NaN."""
    positive = k.cmp("gt", x, 0.0)
    return k.where(positive, k.fn("log", k.where(positive, x, 1.0)), 0.0)


def by_maximum(k: Kit, x: Value) -> Value:
    return k.where(k.cmp("gt", x, 0.0), k.fn("log", k.max(x, 0.0)), 0.0)


def by_absolute(k: Kit, x: Value) -> Value:
    return k.where(k.cmp("le", x, 0.0), 0.0, k.fn("log", k.b("abs", x)))


def both_positive(inner: bool) -> Body:
    def body(k: Kit, x: Value, y: Value) -> Value:
        both = k.b("and", k.cmp("gt", x, 0.0), k.cmp("gt", y, 0.0))
        return k.where(both, k.fn("log", k.where(both, x, 1.0) if inner else x), y)

    return body


def by_product(clamped: bool, pred: str = "lt") -> Body:
    """A truth value as a factor, of the square of min(x, 1)."""

    def body(k: Kit, x: Value) -> Value:
        inner = k.min(x, 1.0) if clamped else x
        return k.mul(k.cast(k.cmp(pred, x, 1.0), "f32"), k.mul(inner, inner))

    return body


def root_of_difference(guard: float | None, turned: bool = False) -> Body:
    """where(x > y, 0, sqrt(max(y - x, guard))); ``turned``: the selection by y - x < 0."""

    def body(k: Kit, x: Value, y: Value) -> Value:
        apart = k.sub(y, x)
        inner = apart if guard is None else k.max(apart, guard)
        return k.where(k.cmp("lt", apart, 0.0) if turned else k.cmp("gt", x, y), 0.0, k.fn("sqrt", inner))

    return body


@pytest.mark.parametrize(("a", "b"), [
    (guarded(20.0), guarded(None)),
    (guarded(25.0), guarded(None)),
    (log_of_positive, by_maximum),
    (log_of_positive, by_absolute),
    (by_product(True), by_product(False)),
])  # fmt: skip
def test_a_guard_of_what_is_thrown_away(a: Body, b: Body) -> None:
    assert level(a, b, T) in EQUAL


def test_a_condition_of_two_comparisons() -> None:
    assert level(both_positive(True), both_positive(False), T, T) in EQUAL


@pytest.mark.parametrize("turned", [False, True])
def test_a_guard_of_a_difference(turned: bool) -> None:
    assert level(root_of_difference(0.0, turned), root_of_difference(None), T, T) in EQUAL
    assert level(root_of_difference(-1.0, turned), root_of_difference(None), T, T) in EQUAL


# -- guards that count: out of reach of most inputs, so that only their regions tell ------------------------------

FAR = 3.0e4  # beyond what random inputs come to


def square(clamped: bool, bound: float = FAR, threshold: float = FAR, taken: bool = False, pred: str = "gt") -> Body:
    """where(x > threshold, x, m m) with m = min(x, bound); ``taken``: the square where it is above."""

    def body(k: Kit, x: Value, y: Value) -> Value:
        m = k.min(x, bound) if clamped else x
        sides = (k.mul(m, m), y) if taken else (y, k.mul(m, m))
        return k.where(k.cmp(pred, x, threshold), *sides)

    return body


def elsewhere(clamped: bool, where: str) -> Body:
    """What is thrown away in one place and used in another, or thrown away by another value's size."""

    def body(k: Kit, x: Value, y: Value) -> Value:
        m = k.min(x, FAR) if clamped else x
        if where == "another value":
            return k.where(k.cmp("gt", y, FAR), x, k.mul(m, m))
        if where == "another lane":
            return k.where(k.cmp("gt", k.b("reverse", x, axes=[1]), FAR), x, k.mul(m, m))
        kept = k.where(k.cmp("gt", x, FAR), x, k.mul(m, m))
        if where == "behind another guard":
            return k.add(kept, k.where(k.cmp("gt", y, FAR), m, y))
        total = k.b.broadcast(k.sum(m), x.type.shape, (0,))  # each lane's guard enters its neighbours
        return k.where(k.cmp("gt", x, FAR), x, k.add(total, x))

    return body


def beyond(clamped: bool, turned: bool) -> Body:
    """where(x - y > FAR, y, m m), m = min(x - y, FAR); ``turned``: m = min(y - x, FAR), which is another value."""

    def body(k: Kit, x: Value, y: Value) -> Value:
        apart = k.sub(y, x) if turned else k.sub(x, y)
        m = k.min(apart, FAR) if clamped else apart
        return k.where(k.cmp("gt", k.sub(x, y), FAR), y, k.mul(m, m))

    return body


WRONG: dict[str, tuple[Body, Body]] = {
    "a bound below the threshold": (square(True, FAR - 100.0), square(False)),
    "the side that is kept": (square(True, taken=True), square(False, taken=True)),
    "the other sign": (beyond(True, True), beyond(False, True)),
    "the other comparison": (square(True, pred="lt"), square(False, pred="lt")),
    **{name: (elsewhere(True, name), elsewhere(False, name))
       for name in ("another value", "another lane", "behind another guard", "summed before")},
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_guard_that_counts(name: str) -> None:
    assert judged(*WRONG[name], T, T).verdict.level not in EQUAL


@pytest.mark.parametrize("guard", [19.99, 19.0])
def test_a_guard_below_the_threshold_is_found(guard: float) -> None:
    assert level(guarded(guard), guarded(None), T) is Level.DIFFERENT


@pytest.mark.parametrize("guard", [1e-3, 0.1])
def test_a_guard_of_a_difference_above_the_threshold_is_found(guard: float) -> None:
    assert level(root_of_difference(guard), root_of_difference(None), T, T) is Level.DIFFERENT


def test_a_bound_from_the_wrong_side() -> None:
    assert level(guarded(20.0, within="max"), guarded(None), T) is Level.DIFFERENT
