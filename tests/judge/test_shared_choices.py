"""A clamp that no input reaches need not be seen both ways where both sides apply it to the same value."""

from __future__ import annotations

import pytest

from tests.semantics.programs import EQUAL, Body, Level, level

X = "f32[5,8]"


def variance(k, x):
    mean = k.c.scale(k.sum(x), 0.125)
    return k.b("sub", k.c.scale(k.sum(k.mul(x, x)), 0.125), k.mul(mean, mean))


def other_variance(k, x):
    """The same by another formula."""
    mean = k.c.scale(k.sum(x), 0.125)
    return k.c.scale(k.b("sub", k.sum(k.mul(x, x)), k.c.scale(k.mul(mean, mean), 8.0)), 0.125)


SHARED: dict[str, tuple[Body, Body]] = {
    "a variance that is never negative": (
        lambda k, x: k.max(variance(k, x), 0.0), lambda k, x: k.max(other_variance(k, x), 0.0)),
    "a clamped norm": (
        lambda k, x: k.max(k.c.scale(k.sum(k.mul(x, x)), 2.0), 1e-12),
        lambda k, x: k.max(k.sum(k.mul(x, k.c.scale(x, 2.0))), 1e-12)),
    "a cap": (
        lambda k, x: k.c.scale(k.min(k.fn("exp", x), 1e30), 3.0),
        lambda k, x: k.b("add", k.c.scale(k.min(k.fn("exp", x), 1e30), 2.0), k.min(k.fn("exp", x), 1e30))),
}  # fmt: skip

APART: dict[str, tuple[Body, Body]] = {
    "only one side clamps": (lambda k, x: k.max(variance(k, x), 0.0), other_variance),
    "another bound": (lambda k, x: k.max(variance(k, x), 1e-6), lambda k, x: k.max(other_variance(k, x), 1e-7)),
    "another value": (
        lambda k, x: k.max(variance(k, x), 0.0),
        lambda k, x: k.c.scale(k.max(k.c.scale(other_variance(k, x), 2.0), 1e-9), 0.5)),
    "a maximum and a minimum": (
        lambda k, x: k.max(k.sum(k.mul(x, x)), 1e-12),
        lambda k, x: k.b("add", k.sum(k.c.scale(k.mul(x, x), 1.0)), k.c.scale(k.min(k.sum(k.mul(x, x)), 1e-12), 0.0))),
    "relu6 and relu": (lambda k, x: k.c.relu6(k.mul(x, x)), lambda k, x: k.max(k.mul(x, x), 0.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", SHARED)
def test_a_choice_that_both_sides_make_is_one_function(name: str) -> None:
    assert level(*SHARED[name], X) is Level.REAL


@pytest.mark.parametrize("name", APART)
def test_a_choice_that_one_side_makes_must_be_seen(name: str) -> None:
    assert level(*APART[name], X) not in EQUAL
