"""Products of an exponential with a logarithm share no channel: opaque logarithms distribute over their sums."""

from __future__ import annotations

import pytest

from tests.semantics.programs import EQUAL, Body, Level, level

X = "f32[3,8]"


def along(k, row, x):
    return k.c.spread(row, x, 1)


def probabilities(k, x):
    return k.c.softmax(x, 1)


def entropy(sign: float = -1.0, factor: float = 1.0) -> Body:
    """sign * sum p log p."""

    def body(k, x):
        logs = k.c.scale(k.c.log_softmax(x, 1), factor)
        return k.c.scale(k.c.reduce("add", k.mul(probabilities(k, x), logs), 1), sign)

    return body


def entropy_by_logsumexp(k, x):
    return k.b("sub", k.c.logsumexp(x, 1), k.c.reduce("add", k.mul(probabilities(k, x), x), 1))


def gradient(k, x):
    """p (log p - sum p log p)."""
    logs = k.c.log_softmax(x, 1)
    mean = k.c.reduce("add", k.mul(probabilities(k, x), logs), 1)
    return k.mul(probabilities(k, x), k.b("sub", logs, along(k, mean, x)))


def gradient_multiplied_out(wrong: bool = False) -> Body:
    def body(k, x):
        p, logs = probabilities(k, x), k.c.log_softmax(x, 1)
        mean = along(k, k.c.reduce("add", k.mul(p, logs), 1), x)
        return k.b("sub", k.mul(p, logs), mean if wrong else k.mul(p, mean))

    return body


EQUALS: dict[str, tuple[Body, Body]] = {
    "entropy": (entropy(), entropy_by_logsumexp),
    "its gradient": (gradient, gradient_multiplied_out()),
}

APART: dict[str, tuple[Body, Body]] = {
    "the sign": (entropy(1.0), entropy_by_logsumexp),
    "another base": (entropy(factor=1.4426950408889634), entropy_by_logsumexp),
    "almost": (entropy(factor=1.0 + 2.0**-22), entropy_by_logsumexp),
    "a factor is missing": (gradient, gradient_multiplied_out(wrong=True)),
}


@pytest.mark.parametrize("name", EQUALS)
def test_products_are_multiplied_out(name: str) -> None:
    assert level(*EQUALS[name], X) is Level.REAL


@pytest.mark.parametrize("name", APART)
def test_other_products_stay_apart(name: str) -> None:
    assert level(*APART[name], X) not in EQUAL
