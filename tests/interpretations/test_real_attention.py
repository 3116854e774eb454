"""Attention: two-pass softmax times V against the online form with rescaling; masked by tiles, stacked in layers."""

from __future__ import annotations

import math

import pytest

from lowering.ir.program import Value
from tests.interpretations.real_runs import Kit, compare

N, D, TILE = 16, 8, 4
SCALE = 1 / math.sqrt(80)


def scores(k: Kit, q: Value, keys: Value) -> Value:
    return k.c.scale(k.b("dot", q, k.b("transpose", keys, perm=(1, 0)), acc="f32"), SCALE)


def two_pass(k: Kit, q: Value, keys: Value, values: Value) -> Value:
    return k.b("dot", k.c.softmax(scores(k, q, keys), 1), values, acc="f32")


def rows(k: Kit, x: Value, first: int) -> Value:
    return k.b("slice", x, start=(first, 0), limit=(first + TILE, x.type.shape[1]), step=(1, 1))


def online(k: Kit, q: Value, keys: Value, values: Value, base2: bool = False, forget: bool = False) -> Value:
    """Running maximum, sum and accumulator; each tile rescales what came before."""
    b = k.b
    top = b.constant(-math.inf, q.type.dtype, (N,))
    total = b.constant(0.0, q.type.dtype, (N,))
    acc = b.constant(0.0, q.type.dtype, (N, D))
    exp = "exp2" if base2 else "exp"
    for first in range(0, N, TILE):
        s = scores(k, q, rows(k, keys, first))
        s = k.c.scale(s, math.log2(math.e)) if base2 else s
        new = b("max", top, k.c.reduce("max", s, 1))
        p = k.fn(exp, b("sub", s, k.c.spread(new, s, 1)))
        rescale = k.fn(exp, b("sub", top, new))
        total = b("add", total if forget else b("mul", total, rescale), k.c.reduce("add", p, 1))
        acc = b("mul", acc, k.c.spread(rescale, acc, 1))
        acc = b("dot", p, rows(k, values, first), acc, acc="f32")
        top = new
    return b("div", acc, k.c.spread(total, acc, 1))


SHAPES = ((N, D), (N, D), (N, D))


@pytest.mark.parametrize("base2", [False, True])
def test_online_softmax_is_two_pass_softmax(base2: bool) -> None:
    result = compare(two_pass, lambda k, *x: online(k, *x, base2=base2), *SHAPES, primes=2)
    assert result.equal and all(a.equal for a in result.agreements)


def test_a_forgotten_rescale_of_the_sum_is_seen() -> None:
    assert compare(two_pass, lambda k, *x: online(k, *x, forget=True), *SHAPES, primes=2).mismatch


def test_a_second_layer_on_top_of_the_first_is_still_equal() -> None:
    """The scores of the second layer have no w channel: it is filled, for x and its maximum alike."""

    def two_layers(attention):
        return lambda k, q, keys, values: attention(k, attention(k, q, keys, values), keys, values)

    assert compare(two_layers(two_pass), two_layers(online), *SHAPES, primes=2).equal


def test_attention_after_a_norm_is_equal_although_every_lane_has_roots_of_non_residues() -> None:
    def normed(attention):
        def body(k: Kit, x: Value, keys: Value, values: Value) -> Value:
            parts = [k.c.normalize(part, 1, 1e-5)[0] for part in (x, keys, values)]
            return attention(k, *parts)

        return body

    assert compare(normed(two_pass), normed(online), *SHAPES, primes=2).equal
