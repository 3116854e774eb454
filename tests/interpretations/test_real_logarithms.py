"""exp undoes log with its sign, also where sums, multiples and the other base come between."""

from __future__ import annotations

import pytest

from lowering.ir.program import Value
from tests.interpretations.real_runs import Kit, compare

X = (4, 64)


def positive(k: Kit, x: Value) -> Value:
    """A sum, so that half of its residues are no squares."""
    return k.c.plus(k.b("mul", x, x), 1.0)


def log(k: Kit, x: Value) -> Value:
    return k.fn("log", positive(k, x))


def total(k: Kit, x: Value) -> Value:
    return k.c.reduce("add", x, 1)


def gradient(k: Kit, x: Value) -> Value:
    """softmax from the stored logarithm of its denominator."""
    stored = k.fn("log", total(k, k.fn("exp", x)))
    return k.fn("exp", k.b("sub", x, k.c.spread(stored, x, 1)))


EQUAL = {
    "exp of log": (positive, lambda k, x: k.fn("exp", log(k, x))),
    "a row of them": (lambda k, x: total(k, positive(k, x)), lambda k, x: total(k, k.fn("exp", log(k, x)))),
    "exp2 of log2": (
        lambda k, x: total(k, positive(k, x)),
        lambda k, x: total(k, k.fn("exp2", k.fn("log2", positive(k, x)))),
    ),
    "exp of log through base 2": (
        lambda k, x: total(k, positive(k, x)),
        lambda k, x: total(k, k.fn("exp2", k.c.scale(log(k, x), 1.4426950408889634))),
    ),
    "a softmax from its logsumexp": (lambda k, x: k.c.softmax(x, 1), gradient),
    "minus": (
        lambda k, x: total(k, k.c.reciprocal(positive(k, x))),
        lambda k, x: total(k, k.fn("exp", k.b("neg", log(k, x)))),
    ),
    "three times": (
        lambda k, x: total(k, k.b("mul", positive(k, x), k.b("mul", positive(k, x), positive(k, x)))),
        lambda k, x: total(k, k.fn("exp", k.c.scale(log(k, x), 3.0))),
    ),
    "twice": (
        lambda k, x: total(k, k.b("mul", positive(k, x), positive(k, x))),
        lambda k, x: total(k, k.fn("exp", k.c.scale(log(k, x), 2.0))),
    ),
    "a product is a sum of logarithms": (
        lambda k, x: k.fn("exp", total(k, log(k, k.c.scale(x, 0.125)))),
        lambda k, x: k.c.reduce("mul", positive(k, k.c.scale(x, 0.125)), 1),
    ),
    "x log s": (lambda k, x: total(k, k.b("mul", x, log(k, x))), lambda k, x: total(k, k.b("mul", log(k, x), x))),
    "a power": (
        lambda k, x: k.fn("pow", positive(k, x), x),
        lambda k, x: k.fn("exp", k.b("mul", log(k, x), x)),
    ),
}  # fmt: skip

UNEQUAL = {
    "the sign of a logarithm": (log, lambda k, x: k.b("neg", log(k, x))),
    "the sign of its exponential": (positive, lambda k, x: k.b("neg", k.fn("exp", log(k, x)))),
    "the sign of a logsumexp": (
        lambda k, x: k.c.softmax(x, 1),
        lambda k, x: k.fn("exp", k.b("add", x, k.c.spread(k.fn("log", total(k, k.fn("exp", x))), x, 1))),
    ),
    "twice is not once": (positive, lambda k, x: k.fn("exp", k.c.scale(log(k, x), 2.0))),
    "half is not once": (positive, lambda k, x: k.fn("exp", k.c.scale(log(k, x), 0.5))),
    "another base": (positive, lambda k, x: k.fn("exp", k.fn("log2", positive(k, x)))),
    "the square root's square is not it": (
        lambda k, x: k.fn("exp", k.c.scale(log(k, x), 0.5)),
        lambda k, x: k.b("neg", k.fn("sqrt", positive(k, x))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EQUAL)
def test_logarithms_are_undone(name: str) -> None:
    result = compare(*EQUAL[name], X)
    assert result.equal, [(int(a.mismatch.sum()), int(a.stubborn.sum()), a.sample_gap) for a in result.agreements]


@pytest.mark.parametrize("name", UNEQUAL)
def test_other_signs_and_factors_stay_apart(name: str) -> None:
    assert not compare(*UNEQUAL[name], X).equal


def test_a_half_logarithm_does_not_count_where_its_sign_is_unknown() -> None:
    """The root of a non-residue: the channel that exp gives says nothing, and nothing mismatches."""
    root = compare(
        lambda k, x: k.fn("sqrt", positive(k, x)), lambda k, x: k.fn("exp", k.c.scale(log(k, x), 0.5)), (4, 16)
    )
    assert not root.mismatch and all(0 < a.clean_fraction < 1 for a in root.agreements)
