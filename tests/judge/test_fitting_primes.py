"""Literals that are roots: primes are taken in which the root is there, and another root is still another one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from equivalence.fields.constants import principal_root
from equivalence.fields.primes import choose
from equivalence.judge.fitting import LEAST, fitting
from equivalence.judge.runs import Pair
from equivalence.verdicts import Level
from lowering.ir.program import Value
from tests.semantics.programs import EQUAL, Body, Kit, level, program


def scaled(d: int, power: float, shifted: bool) -> Body:
    """A softmax of x * d^power; ``shifted``: by its maximum, with the scale as a quotient."""

    def body(k: Kit, x: Value) -> Value:
        if not shifted:
            return k.c.softmax(k.mul(x, float(np.float32(d**power))), 1)
        y = k.div(x, float(np.float32(d**-power)))
        top = k.b.broadcast(k.b("reduce", y, axis=1, combine="max"), (3, 5), [0])
        terms = k.fn("exp", k.add(y, k.mul(top, -1.0)))  # no difference from a maximum, as an engine's bias is none
        return k.div(terms, k.b.broadcast(k.sum(terms), (3, 5), [0]))

    return body


X = "f32[3,5]"


def missing(d: int) -> int:
    """How many of the first three primes have no root of d in one of their channels."""
    return sum(None in (principal_root(d, p.p), principal_root(d, p.q)) for p in choose(0, 3))


@pytest.mark.parametrize("d", [31, next(d for d in range(17, 200) if missing(d) == 3 and math.isqrt(d) ** 2 != d)])
def test_roots_that_the_first_primes_lack(d: int) -> None:
    assert missing(d)
    assert level(scaled(d, -0.5, False), scaled(d, -0.5, True), X) in EQUAL
    assert level(scaled(d, -0.5, False), scaled(d + 1, -0.5, True), X) is Level.DIFFERENT


@pytest.mark.parametrize("d", [2, 31, 37, 239])
def test_all_roots_are_there_if_two_primes_have_them(d: int) -> None:
    pair = Pair(program(scaled(d, -0.5, False), X), program(scaled(d, -0.5, True), X), {})
    primes = choose(0, 3)
    fit = fitting(pair, primes, 0)
    if d == 239:  # has no root in any of the twelve
        assert fit == primes
        return
    assert len({p.p for p in fit}) == len(fit) >= LEAST
    assert all(principal_root(d, p.p) and principal_root(d, p.q) for p in fit)
    assert (tuple(fit) == primes) == (d == 2)
