"""Attacks on what is dismissed or known of decisions: guards that move nothing one by one, outcomes that only a freed
comparison opens, signs that a power or a wrapped integer does not have.
"""

from __future__ import annotations

import pytest

from lowering.ir.types import I32
from tests.semantics.programs import EQUAL, Body, level

X = "f32[5,7]"


def far(k, model, powers: int):
    """A literal that is in no program as a constant, so that no input is drawn near it."""
    total = k.lit(10.0, model)
    for _ in range(powers):
        total = k.mul(total, 10.0)
    return total


def product(k, x):
    return k.mul(k.column(x, 5), k.column(x, 6))


def sums(k, x):
    """Two values of columns that the product does not use."""
    return k.sub(k.column(x, 0), k.column(x, 1)), k.sub(k.column(x, 2), k.mul(k.column(x, 3), 2.0))


def two_comparisons(k, x):
    a, b = sums(k, x)
    first, second = (k.cast(k.cmp("gt", s, far(k, s, n)), "f32") for s, n in ((a, 5), (b, 4)))
    return k.mul(product(k, x), k.sub(k.lit(1.0, first), k.mul(first, second)))


def two_clamps(k, x):
    a, b = sums(k, x)
    first, second = far(k, a, 5), far(k, b, 4)
    beyond = k.mul(k.sub(k.max(a, first), first), k.sub(k.max(b, second), second))
    return k.add(product(k, x), beyond)


def two_selections(k, x):
    a, b = sums(k, x)
    first, second = (k.where(k.cmp("gt", s, far(k, s, n)), 1.0, k.lit(0.0, s)) for s, n in ((a, 5), (b, 4)))
    return k.add(product(k, x), k.mul(first, second))


def nested_selections(k, x):
    a, b = sums(k, x)
    p = product(k, x)
    inner = k.where(k.cmp("gt", a, far(k, a, 5)), k.lit(0.0, a), p)
    return k.where(k.cmp("gt", b, far(k, b, 4)), inner, p)


def sign_pattern(k, x):
    """The product, but 0 where seven signs have one pattern: a freed comparison would open that region."""
    signs = [k.cast(k.cmp("gt", k.column(x, i), 0.0), "f32") for i in range(7)]
    hit = signs[0]
    for i in range(1, 7):
        hit = k.mul(hit, signs[i] if i % 2 == 0 else k.sub(k.lit(1.0, signs[i]), signs[i]))
    left = k.sub(k.lit(1.0, hit), hit)
    return k.where(k.cmp("gt", left, 0.5), k.mul(k.column(x, 0), k.column(x, 1)), 0.0)


def power(clamped: bool) -> Body:
    """Whole powers of shifted inputs, the odd ones negative where the base is."""

    def body(k, x):
        exponent = k.cast(k.b.index((5, 7), 1, I32), "f32")
        value = k.fn("pow", k.add(x, 300.0), exponent)
        return k.max(value, 0.0) if clamped else value

    return body


def square(clamped: bool) -> Body:
    """The square of an integer of 32 bits, which wraps."""

    def body(k, x):
        whole = k.cast(k.b("round", k.mul(x, x), mode="even"), "i32")
        value = k.cast(k.mul(whole, whole), "f32")
        return k.max(value, 0.0) if clamped else value

    return body


ATTACKS: dict[str, tuple[Body, Body]] = {
    "two comparisons": (two_comparisons, product),
    "two clamps": (two_clamps, product),
    "two selections": (two_selections, product),
    "nested selections": (nested_selections, product),
    "a sign pattern": (sign_pattern, lambda k, x: k.mul(k.column(x, 0), k.column(x, 1))),
    "the sign of a power": (power(True), power(False)),
    "the sign of a wrapped square": (square(True), square(False)),
    "1 - x of an x next to 1": (
        lambda k, x: k.mul(x, 1.02712e-06),
        lambda k, x: k.mul(x, k.sub(k.lit(1.0, x), 0.999999)),
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_the_pair_is_not_called_equal(name: str) -> None:
    a, b = ATTACKS[name]
    assert level(a, b, X) not in EQUAL


def test_signs_that_are_there_are_known() -> None:
    """A square and an exponential need no clamp."""
    for value in (lambda k, x: k.mul(x, x), lambda k, x: k.fn("exp", x)):
        assert level(value, lambda k, x, value=value: k.max(value(k, x), 0.0), X) in EQUAL
